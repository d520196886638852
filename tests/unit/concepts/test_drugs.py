"""Drugs by ingredient and class: names as several hospitals write them."""

from __future__ import annotations

import time

import pytest

from ehrqa_cli.concepts import drugs
from ehrqa_cli.contracts.concepts import Concept, Item


def concepts(*names: str, table: str = "prescriptions") -> dict[str, Concept]:
    found = drugs.resolve([Item(table, "drug", name, name) for name in names])
    return {concept.name: concept for concept in found}


def members(found: dict[str, Concept], name: str) -> set[str]:
    return {item.name for item in found[name].items}


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("Losartan Potassium", ("losartan",)),
        ("Penicillin G Potassium", ("penicillin",)),
        ("HEPARIN SODIUM (PORCINE) 5000 UNIT/ML IJ SOLN", ("heparin",)),
        ("atorvastatin calcium 40 MG Oral Tablet [Lipitor]", ("atorvastatin",)),
        ("Dexamethasone Sodium Phosphate", ("dexamethasone",)),
        ("Sodium Phosphate", ("sodium phosphate",)),
        ("Potassium Chloride", ("potassium chloride",)),
        ("KCL (Bolus)", ("potassium chloride",)),
        ("Calcium Gluconate (CRRT)", ("calcium gluconate",)),
        ("Losartan Potassium-HCTZ 50-12.5", ("losartan", "hydrochlorothiazide")),
        ("Piperacillin/Tazobactam (Zosyn)", ("piperacillin", "tazobactam")),
        ("Bactrim (SMX/TMP)", ("sulfamethoxazole", "trimethoprim")),
        ("Insulin - Humalog", ("insulin",)),
        ("0.9 % NaCl", ("sodium chloride",)),
        ("vancomycin 5 MG/ML in sodium chloride 9 MG/ML", ("vancomycin",)),
        ("Heparin 25,000 unit in D5W", ("heparin",)),
        ("paracetamol 500mg", ("acetaminophen",)),
        ("NORepinephrine", ("norepinephrine",)),
        ("Phenobarbital - Alcohol Withdrawal", ("phenobarbital",)),
        ("Bag", ()),
        ("", ()),
    ],
)
def test_ingredients(name: str, holds: tuple[str, ...]) -> None:
    assert drugs.ingredients(name) == holds


def test_a_combination_is_found_by_its_parts_in_any_order() -> None:
    names = ("Percocet", "acetaminophen 325 MG / oxycodone hydrochloride 5 MG Oral Tablet")
    found = concepts(*names)
    assert members(found, "oxycodone-acetaminophen") == set(names)
    assert members(found, "oxycodone") == members(found, "acetaminophen") == set(names)
    assert "acetaminophen oxycodone" in found["oxycodone-acetaminophen"].phrases


def test_a_form_belongs_to_its_ingredient_and_not_the_other_way() -> None:
    found = concepts("Metoprolol Succinate XL", "Metoprolol Tartrate")
    assert len(members(found, "metoprolol")) == 2
    assert members(found, "metoprolol succinate") == {"Metoprolol Succinate XL"}


def test_classes_nest() -> None:
    found = concepts("Rivaroxaban", "Coumadin (Warfarin)", "Enoxaparin Sodium", "Cefepime")
    assert members(found, "factor xa inhibitors") == members(found, "doacs") == {"Rivaroxaban"}
    assert len(members(found, "anticoagulants")) == 3
    assert members(found, "antibiotics") == members(found, "beta-lactams") == {"Cefepime"}
    assert found["anticoagulants"].about == "class: rivaroxaban, warfarin, enoxaparin"


@pytest.mark.parametrize(
    ("name", "systemic", "local"),
    [
        ("Ciprofloxacin 0.3% Ophth Soln", "antibiotics", "ophthalmic antibiotics"),
        ("tobramycin 3 MG/ML Ophthalmic Solution", "antibiotics", "ophthalmic antibiotics"),
        ("Mupirocin Nasal Ointment 2%", "antibiotics", "topical antibiotics"),
        ("Hydrocortisone Cream 2.5%", "steroids", "topical steroids"),
        ("Fluticasone Propionate NASAL", "inhalers", "nasal steroids"),
        ("Timolol Maleate 0.5%", "beta blockers", "glaucoma drugs"),
        ("Phenylephrine 2.5 % Ophth Soln", "vasopressors", "mydriatics"),
        ("Voltaren Gel", "nsaids", "topical nsaids"),
    ],
)
def test_a_local_form_is_in_a_class_of_its_own(name: str, systemic: str, local: str) -> None:
    found = concepts(name)
    assert (members(found, systemic), members(found, local)) == (set(), {name})


def test_all_tables_together_and_no_others() -> None:
    items = [
        Item("prescriptions", "drug", "Levophed", "Levophed", rows=2),
        Item("inputevents", "itemid", 221906, "Norepinephrine", rows=9),
        Item("labevents", "itemid", 1, "Insulin"),
    ]
    found = {concept.name: concept for concept in drugs.resolve(items)}
    assert found["vasopressors"].items == (items[1], items[0])
    assert found["insulins"].items == ()


def test_what_people_say() -> None:
    said: dict[str, list[str]] = {}
    every = drugs.resolve([])
    assert len({concept.name for concept in every}) == len(every)
    for concept in every:
        assert concept.phrases and concept.kind == "drug"
        for phrase in concept.phrases:
            said.setdefault(phrase, []).append(concept.name)
    assert said["blood thinners"] == said["anticoagulant"] == ["anticoagulants"]
    assert said["statin"] == ["statins"] and said["pressors"] == ["vasopressors"]
    assert said["zosyn"] == ["piperacillin-tazobactam"]
    assert said["potassium"] == ["potassium supplements"]
    assert said["penicillin"] == ["penicillin"]
    assert len(said["levo"]) > 1
    assert not {"thyroid", "water", "fluid", "alcohol", "zoster", "platelets", "as"} & set(said)


def test_the_tables_are_whole() -> None:
    known, classes = drugs._drugs(), drugs._classes()
    assert sum(not drug.parts for drug in known.values()) >= 1500
    for drug in known.values():
        assert set(drug.parts) <= set(known) and set(drug.classes) <= set(classes), drug.name
        assert drug.classes or drug.parts, drug.name
    for line in classes.values():
        assert {*line.wider, *line.local.values()} <= {*classes, ""} | {"-"}, line.name


def test_many_names_take_little_time() -> None:
    names = [f"{name} {n} MG Oral Tablet" for n in range(5) for name in drugs._drugs()][:10_000]
    items = [Item("prescriptions", "drug", name, name) for name in names]
    start = time.perf_counter()
    drugs.resolve(items)
    assert time.perf_counter() - start < 4
