from __future__ import annotations

import re

import pytest

from ehrqa_cli.concepts import names, namewords, procedures
from ehrqa_cli.contracts.concepts import Item

CODES = {
    "icd9|9604": {"intubation"},
    "icd10|0bh17ez": {"intubation"},
    "icd10|5a1945z": {"mechanical ventilation", "mechanical ventilation under 96 hours"},
    "icd10|5a1d70z": {"dialysis", "hemodialysis"},
    "icd10|5a1d90z": {"dialysis", "continuous renal replacement therapy"},
    "icd9|5491": {"paracentesis", "abdominal drain"},
    "icd10|30233n1": {"transfusion", "red cell transfusion"},
    "icd10|0dtj4zz": {"appendectomy", "laparoscopic appendectomy"},
    "icd10|02rf38z": {
        "aortic valve replacement",
        "heart valve replacement",
        "heart valve surgery",
        "transcatheter aortic valve replacement",
    },
    "icd10|0d160z4": {"gastrostomy", "feeding tube"},
    "3404": {"chest tube"},
    "54.98": {"dialysis", "peritoneal dialysis"},
}
NAMES = {
    "Invasive Ventilation": {"mechanical ventilation"},
    "Non-invasive Ventilation": {"non invasive ventilation"},
    "Dialysis - CRRT": {"dialysis", "continuous renal replacement therapy"},
    "CRRT Filter Change": set(),
    "Chest Tube Removed": {"chest tube removal"},
    "Multi Lumen": {"central line", "line placement", "multi lumen catheter"},
    "Arterial Line": {"arterial line", "line placement"},
    "Unplanned Extubation (patient-initiated)": {"extubation", "unplanned extubation"},
    "pulmonary|ventilation and oxygenation|mechanical ventilation": {"mechanical ventilation"},
    "Nasal sinus endoscopy": {"sinus surgery"},
    "Total replacement of hip": {"hip replacement", "joint replacement"},
    "Insertion of endotracheal tube": {"intubation"},
}
INPUTS = {
    ("Packed Red Blood Cells", "Blood Products/Colloids"): {"transfusion", "red cell transfusion"},
    ("PACU Packed RBC Intake", "Blood Products/Colloids"): {"transfusion", "red cell transfusion"},
    ("Fresh Frozen Plasma", ""): {"transfusion", "plasma transfusion"},
    ("PlasmaLyte 148", "Fluids/Intake"): set(),
    ("Albumin 5%", "Blood Products/Colloids"): {"albumin infusion"},
    ("Nepro (Full)", "Nutrition - Enteral"): {"tube feeding"},
    ("TPN w/ Lipids", "Nutrition - Parenteral"): {"total parenteral nutrition"},
}


def meant(item: Item) -> set[str]:
    return {concept.name for concept in procedures.resolve([item]) if concept.items}


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_trusted_before_its_name(code):
    item = Item("procedures_icd", "icd_code", code, "hemodialysis and bronchoscopy")
    assert meant(item) == CODES[code]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("table", ["procedureevents", "procedures_icd"])
def test_without_a_code_of_ours_the_name_tells(table, name):
    assert meant(Item(table, "itemid", 40123456, name)) == NAMES[name]


@pytest.mark.parametrize(("name", "category"), INPUTS)
def test_an_infusion_is_known_by_name_or_category(name, category):
    item = Item("inputevents", "itemid", 225168, name, category=category)
    assert meant(item) == INPUTS[name, category]


def test_other_tables_have_no_procedures():
    assert not meant(Item("diagnoses_icd", "icd_code", "icd9|9604", "intubation"))
    assert not meant(Item("prescriptions", "drug", "platelets", "platelets"))


def test_what_does_not_occur_is_known_all_the_same():
    (ecmo,) = [c for c in procedures.resolve([]) if "vv ecmo" in c.phrases]
    assert (ecmo.kind, ecmo.items) == ("proc", ()) and "39.65, 39.66" in ecmo.about


def test_members_stand_once_and_the_commonest_first():
    names = ("Hemodialysis", "Dialysis - CRRT", "Peritoneal Dialysis")
    items = [Item("procedureevents", "itemid", n, name, rows=n) for n, name in enumerate(names, 1)]
    (dialysis,) = [c for c in procedures.resolve(items) if c.name == "dialysis"]
    assert [item.code for item in dialysis.items] == [3, 2, 1]


def test_verbs_are_phrases_too():
    said = procedures.verbs()
    assert {"intubated", "ventilated", "dialyzed", "transfused", "cathed", "trached"} <= said
    assert said <= {phrase for c in procedures.resolve([]) for phrase in c.phrases}


def test_the_table_can_be_read_as_its_head_says():
    rules = {row[0]: row for row in names.table(procedures._DATA, procedures._FIELDS)}
    assert len(rules) >= 250
    for name, (_, phrases, verbs, codes, titles, includes, inputs) in rules.items():
        assert codes or titles or includes, name
        for phrase in (name, *names.lists(phrases), *names.lists(verbs)):
            assert phrase == namewords.plain(phrase), phrase
        for code in names.lists(codes):
            assert code[:2] in ("9:", "x:", "h:") and re.compile(code[2:].replace("?", ".")), code
            length = len(re.sub(r"\[[^]]*\]", "?", code[2:]))
            assert length <= {"9": 4, "x": 7, "h": 5}[code[0]], code
        for line in (*names.lists(titles), *names.lists(inputs)):
            bare = re.sub(r" & !?|^[=!]|\*(?= |$)", " ", line)
            assert bare.split() == namewords.plain(bare).split(), line
            assert not re.match(r"\w{1,2}\*", line), line
        assert set(names.lists(includes)) <= rules.keys() - {name}, name


def test_a_phrase_means_one_procedure():
    twice = {}
    for concept in procedures.resolve([]):
        for phrase in set(concept.phrases):
            twice.setdefault(phrase, []).append(concept.name)
    shared = {phrase for phrase, names in twice.items() if len(names) > 1}
    assert shared == {"catheterized"}  # of the bladder or of the heart: asked back
