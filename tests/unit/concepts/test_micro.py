"""Microbiology: specimens, tests, organisms and antibiotics."""

from __future__ import annotations

import pytest

from ehrqa_cli.concepts import micro
from ehrqa_cli.contracts.concepts import Item

NAMES = {
    "spec_type_desc": ["BLOOD CULTURE", "Blood (Toxo)", "URINE", "SPUTUM", "CSF;SPINAL FLUID",
                       "FLUID RECEIVED IN BLOOD CULTURE BOTTLES", "SWAB", "Mini-BAL"],
    "test_name": ["WOUND CULTURE", "URINE CULTURE", "C. difficile PCR", "GRAM STAIN",
                  "CMV Viral Load"],
    "org_name": ["STAPH AUREUS COAG +", "STAPHYLOCOCCUS, COAGULASE NEGATIVE",
                 "POSITIVE FOR METHICILLIN RESISTANT STAPH AUREUS", "ESCHERICHIA COLI",
                 "KLEBSIELLA PNEUMONIAE", "PSEUDOMONAS AERUGINOSA", "CANDIDA ALBICANS",
                 "NON-FERMENTER, NOT PSEUDOMONAS AERUGINOSA", "CANCELLED", "YEAST",
                 "FUSOBACTERIUM SPECIES", "FUSOBACTERIUM NUCLEATUM", "ZORBIA MAGNA",
                 "BETA STREPTOCOCCUS GROUP B", "ENTEROCOCCUS SP."],
    "ab_name": ["TRIMETHOPRIM/SULFA", "PIPERACILLIN/TAZO", "MEROPENEM", "VANCOMYCIN"],
}  # fmt: skip
RECORD = [
    Item("microbiologyevents", column, name, name, rows=1)
    for column, names in NAMES.items()
    for name in names
]


@pytest.mark.parametrize(
    ("kind", "phrase", "expected"),
    [
        ("specimen", "blood culture", {"BLOOD CULTURE"}),
        ("specimen", "urine culture", {"URINE"}),
        ("specimen", "csf culture", {"CSF;SPINAL FLUID"}),
        ("specimen", "bal", set()),
        ("specimen", "mini bal", {"Mini-BAL"}),
        ("mtest", "wound culture", {"WOUND CULTURE"}),  # of no specimen here
        ("mtest", "c diff test", {"C. difficile PCR"}),
        ("mtest", "viral load", {"CMV Viral Load"}),
        ("organism", "staph aureus", {
            "STAPH AUREUS COAG +", "POSITIVE FOR METHICILLIN RESISTANT STAPH AUREUS"}),
        ("organism", "mrsa", {"POSITIVE FOR METHICILLIN RESISTANT STAPH AUREUS"}),
        ("organism", "coag negative staph", {"STAPHYLOCOCCUS, COAGULASE NEGATIVE"}),
        ("organism", "e coli", {"ESCHERICHIA COLI"}),
        ("organism", "pseudomonas", {"PSEUDOMONAS AERUGINOSA"}),
        ("organism", "gnr", {
            "ESCHERICHIA COLI", "KLEBSIELLA PNEUMONIAE", "PSEUDOMONAS AERUGINOSA",
            "NON-FERMENTER, NOT PSEUDOMONAS AERUGINOSA"}),
        ("organism", "yeast", {"YEAST", "CANDIDA ALBICANS"}),
        ("organism", "fusobacterium", {"FUSOBACTERIUM SPECIES", "FUSOBACTERIUM NUCLEATUM"}),
        ("organism", "fusobacterium nucleatum", {"FUSOBACTERIUM NUCLEATUM"}),
        ("organism", "z magna", {"ZORBIA MAGNA"}),
        ("organism", "gbs", {"BETA STREPTOCOCCUS GROUP B"}),
        ("organism", "vre", set()),
        ("antibiotic", "bactrim", {"TRIMETHOPRIM/SULFA"}),
        ("antibiotic", "zosyn", {"PIPERACILLIN/TAZO"}),
        ("antibiotic", "carbapenems", {"MEROPENEM"}),
    ],
)  # fmt: skip
def test_a_phrase_has_its_items(kind: str, phrase: str, expected: set[str]) -> None:
    found = [concept for concept in micro.resolve(RECORD) if phrase in concept.phrases]
    assert [(one.kind, {item.name for item in one.items}) for one in found] == [(kind, expected)]


def test_a_cancelled_culture_is_no_organism() -> None:
    assert not micro.is_organism("CANCELLED")
    assert not micro.is_organism("POSITIVE")
    assert micro.is_organism("POSITIVE FOR METHICILLIN RESISTANT STAPH AUREUS")
    made = micro.resolve(RECORD)
    assert not [one for one in made for item in one.items if item.name == "CANCELLED"]


def test_a_specimen_and_a_test_share_no_phrase() -> None:
    made = [one for one in micro.resolve(RECORD) if one.kind in ("specimen", "mtest")]
    phrases = [phrase for one in made for phrase in one.phrases]
    assert len(phrases) == len(set(phrases))
