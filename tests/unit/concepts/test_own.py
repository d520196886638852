from __future__ import annotations

import json

import pytest

from ehrqa_cli.concepts import own
from ehrqa_cli.contracts.concepts import Concept, Item
from ehrqa_cli.contracts.errors import UsageError

FAILURE = Item("diagnoses_icd", "icd_code", "icd10|j9601", "Acute respiratory failure", rows=5)
OLD = Item("diagnoses_icd", "icd_code", "icd9|51881", "acute respiratory failure", rows=7)
ERCP = Item("procedures_icd", "icd_code", "icd9|5188", "Endoscopic removal of stones", rows=9)
GLUCOSE = Item("labevents", "itemid", 50931, "Glucose", rows=3)
HEPARIN = Item("prescriptions", "drug", "heparin sodium", "heparin sodium", rows=4)
DRIP = Item("inputevents", "itemid", 225152, "Heparin Sodium (Prophylaxis)", rows=2)
VENT = Item("procedureevents", "itemid", 225792, "Invasive Ventilation", rows=6)
ITEMS = (FAILURE, OLD, ERCP, GLUCOSE, HEPARIN, DRIP, VENT)
BUILT_IN = [
    Concept("dx", "respiratory failure", ("respiratory failure", "rf"), (OLD, FAILURE), "J96.*"),
    Concept("dx", "renal failure", ("renal failure",)),
]


def read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return own.read_own(path)


def applied(tmp_path, text):
    made = own.apply(BUILT_IN, read(tmp_path, "own.toml", text), ITEMS)
    return {concept.name: concept for concept in made}


@pytest.mark.parametrize(
    ("members", "kind", "items"),
    [
        ('icd = ["J96.*", "518.8*"]', "dx", (OLD, FAILURE)),
        ('icd = ["518.8*"]\nkind = "proc"', "proc", (ERCP,)),
        ('icd = ["J96"]', "dx", ()),
        ('items = [50931, "procedureevents:50931"]', "lab", (GLUCOSE,)),
        ('items = ["labevents:225792"]', "proc", ()),
        ('drugs = ["heparin"]', "drug", (HEPARIN, DRIP)),
        ('names = ["*ventil*"]', "proc", (VENT,)),
        ('names = ["ventil"]', "proc", ()),
        ('names = ["ventilation"]', "proc", (VENT,)),
    ],
)
def test_members(tmp_path, members, kind, items):
    made = applied(tmp_path, f'[[concept]]\nname = "mine"\n{members}\n')["mine"]
    assert (made.kind, made.items) == (kind, items)
    assert made.source.endswith("own.toml")


@pytest.mark.parametrize(
    ("change", "icd", "items"),
    [
        ("adds", "518.8*", (OLD, FAILURE)),
        ("narrows", "J96*", (FAILURE,)),
        ("removes", "J*", (OLD,)),
    ],
)
@pytest.mark.parametrize("word", ["Respiratory Failure", "RF"])
def test_a_concept_that_there_is_can_be_changed(tmp_path, word, change, icd, items):
    made = applied(tmp_path, f'[[concept]]\n{change} = "{word}"\nicd = ["{icd}"]\n')
    assert set(made) == {"respiratory failure", "renal failure"}
    assert made["respiratory failure"].items == items
    assert made["respiratory failure"].phrases == ("respiratory failure", "rf")
    assert f"; {change} " in made["respiratory failure"].about


def test_a_change_with_a_name_stands_beside_what_it_changes(tmp_path):
    text = '[[concept]]\nname = "hypoxic failure"\nnarrows = "rf"\nicd = ["J96.01"]\n'
    made = applied(tmp_path, text)
    assert made["hypoxic failure"].items == (FAILURE,)
    assert made["respiratory failure"].items == (OLD, FAILURE)


def test_the_user_s_meaning_of_a_word_is_the_only_one(tmp_path):
    text = '[[concept]]\nname = "mine"\nphrases = ["R.F."]\nicd = ["J96.01"]\n'
    made = applied(tmp_path, text)
    assert made["mine"].phrases == ("mine", "r f")
    made = applied(tmp_path, text.replace("R.F.", "RF"))
    assert "rf" not in made["respiratory failure"].phrases


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("concept = 1", "no [[concept]]"),
        ("[[concepts]]\nname = 'x'", "what is 'concepts'?"),
        ("[[concept]]\nname = 'x'", "no members"),
        ("[[concept]]\nicd = ['J96']", "no name"),
        ("[[concept]]\nname = 'x'\nidc = ['J96']", "did you mean 'icd'?"),
        ("[[concept]]\nname = 'x'\nicd = 'J96'", "no list"),
        ("[[concept]]\nname = 'x'\nkind = 'labs'\nitems = ['1']", "no kind 'labs'"),
        ("[[concept]]\nadds = 'x'\nremoves = 'y'\nitems = ['1']", "a [[concept]] for each"),
        ("[[concept]]\nname = ", "no TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_in_one_line(tmp_path, text, words):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, "own.toml", text)
    assert "own.toml" in caught.value.message and words in str(caught.value)
    assert caught.value.hint and "\n" not in str(caught.value)


def test_a_change_of_nothing_names_what_is_near(tmp_path):
    with pytest.raises(UsageError, match="did you mean 'respiratory failure'"):
        applied(tmp_path, '[[concept]]\nadds = "respirtory failure"\nicd = ["J96"]\n')


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match=r"name it \.toml, \.csv or \.json"):
        own.read_own(tmp_path / "own.txt")
    with pytest.raises(UsageError, match="cannot read"):
        own.read_own(tmp_path / "own.toml")


def test_a_table_of_codes(tmp_path):
    text = "name,code,system,kind,phrases\nfailure,J96.01,ICD10CM,,rf | lung failure\n"
    text += "failure,518.81,icd9,,\nsugar,50931,,lab,\n"
    failure, sugar = read(tmp_path, "own.csv", text)
    made = {c.name: c for c in own.apply(BUILT_IN, [failure, sugar], ITEMS)}
    assert made["failure"].items == (OLD, FAILURE)
    assert made["failure"].phrases == ("failure", "rf", "lung failure")
    assert (made["sugar"].kind, made["sugar"].items) == ("lab", (GLUCOSE,))
    with pytest.raises(UsageError, match="no column 'code'"):
        read(tmp_path, "own.csv", "name,icd\nx,J96\n")
    with pytest.raises(UsageError, match="line 3"):
        read(tmp_path, "own.csv", "name,code\nx,J96\ny,\n")


def concept(code, name="", vocabulary="ICD10CM", domain="Condition", below=True, out=False):
    fields = {"CONCEPT_ID": 7, "CONCEPT_CODE": code, "CONCEPT_NAME": name}
    fields |= {"VOCABULARY_ID": vocabulary, "DOMAIN_ID": domain}
    return {"concept": fields, "isExcluded": out, "includeDescendants": below}


def test_a_concept_set_of_atlas(tmp_path):
    inner = {"items": [concept("J96"), concept("518.8", vocabulary="ICD9CM")]}
    (bare,) = read(tmp_path, "failure.json", inner)
    assert (bare.name, bare.kind) == ("failure", "dx")
    assert own.apply([], [bare], ITEMS)[0].items == (OLD, FAILURE)
    inner["items"].append(concept("J96.01", below=False, out=True))
    (named,) = read(tmp_path, "set.json", {"id": 1, "name": "my failure", "expression": inner})
    assert named.name == "my failure"
    assert own.apply([], [named], ITEMS)[0].items == (OLD,)


def test_a_concept_set_of_drugs_and_of_snomed(tmp_path):
    drug = concept("5224", "heparin", "RxNorm", "Drug")
    (heparin,) = read(tmp_path, "heparin.json", {"items": [drug]})
    assert own.apply([], [heparin], ITEMS)[0].items == (HEPARIN, DRIP)
    snomed = Item("diagnoses_icd", "icd_code", "65710008", "Acute respiratory failure", rows=1)
    entry = concept("65710008", "Acute respiratory failure", "SNOMED", below=False)
    (failure,) = read(tmp_path, "failure.json", {"items": [entry]})
    assert snomed in own.apply([], [failure], [snomed, GLUCOSE])[0].items


@pytest.mark.parametrize("data", ["{", [], {"items": []}, {"items": [{"isExcluded": False}]}])
def test_a_concept_set_that_is_none(tmp_path, data):
    with pytest.raises(UsageError, match=r"set\.json"):
        read(tmp_path, "set.json", data)
