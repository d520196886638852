"""Discharge summaries put together from phrases, for measuring size and speed only."""

# ruff: noqa: SIM905

from __future__ import annotations

import json
import random
from pathlib import Path

_PROBLEMS = (
    "heart failure|atrial fibrillation|pneumonia|urinary tract infection|COPD exacerbation|"
    "acute kidney injury|cellulitis|hip fracture|stroke|GI bleed|pancreatitis|cirrhosis|sepsis|"
    "diabetic ketoacidosis|pulmonary embolism|asthma|cholecystitis|diverticulitis|anemia|"
    "small bowel obstruction|syncope|hypertension|coronary artery disease|hyponatremia|delirium"
).split("|")
_DRUGS = (
    "furosemide|metoprolol|lisinopril|aspirin|atorvastatin|warfarin|heparin|insulin glargine|"
    "metformin|ceftriaxone|vancomycin|levofloxacin|prednisone|albuterol|omeprazole|oxycodone|"
    "acetaminophen|docusate|gabapentin|sertraline|levothyroxine|amlodipine|tamsulosin|apixaban"
).split("|")
_TESTS = "sodium|potassium|creatinine|BUN|hemoglobin|WBC|platelets|INR|lactate|glucose".split("|")
_STUDIES = "chest x-ray|CT of the abdomen|echocardiogram|EKG|MRI of the brain|ultrasound".split("|")
_FINDINGS = (
    "no acute process|a small pleural effusion|mild edema|an infiltrate in the right base|"
    "moderate stenosis|a 3 mm stone|normal function|diffuse wall thickening|an old infarct"
).split("|")
_RARE = (
    "a pleural drain was placed",
    "a chest tube was put in on the left",
    "pancreatic pseudocyst",
)
_SYLLABLES = "ba ce di fo gu ha ki lo mu ne pa ri so tu ve xa yo zi ren tal mor vin das".split()


def note(rng: random.Random) -> str:
    """One summary of about 1,000 words in about 110 lines."""
    problems = rng.sample(_PROBLEMS, 6)
    parts = [
        "Service: MEDICINE",
        "",
        "Chief Complaint:",
        problems[0],
        "",
        "History of Present Illness:",
    ]
    parts += [_story(rng, problems) for _ in range(18)]
    parts += ["", "Past Medical History:", *(f"{n}. {p}" for n, p in enumerate(problems, 1))]
    parts += ["", "Pertinent Results:"]
    parts += [_labs(rng) for _ in range(14)]
    parts += [f"{rng.choice(_STUDIES)}: {rng.choice(_FINDINGS)}." for _ in range(5)]
    parts += ["", "Brief Hospital Course:"]
    parts += [_course(rng, problems) for _ in range(30)]
    if rng.random() < 0.002:
        parts.append(f"On day {rng.randint(1, 9)} {rng.choice(_RARE)}.")
    parts += ["", "Discharge Medications:"]
    parts += [f"{n}. {_drug(rng)}" for n in range(1, 13)]
    parts += ["", "Discharge Instructions:", _story(rng, problems), _course(rng, problems)]
    return "\n".join(parts)


def _name(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=3)).capitalize()


def _drug(rng: random.Random) -> str:
    how = rng.choice(["PO daily", "PO BID", "IV Q12H", "PO QHS", "SC daily"])
    return f"{rng.choice(_DRUGS)} {rng.randint(1, 80) * 5} mg {how}"


def _labs(rng: random.Random) -> str:
    return " ".join(f"{name} {rng.uniform(1, 150):.1f}" for name in rng.sample(_TESTS, 5))


def _story(rng: random.Random, problems: list[str]) -> str:
    return (
        f"The patient, followed by Dr. {_name(rng)}, has had {rng.choice(problems)} for"
        f" {rng.randint(1, 40)} days with {rng.choice(['pain', 'fever', 'cough', 'nausea'])}"
        f" and {rng.choice(['denies', 'reports'])} {rng.choice(['dyspnea', 'chills'])}."
    )


def _course(rng: random.Random, problems: list[str]) -> str:
    begun = rng.choice(["given", "started on"])
    return (
        f"For {rng.choice(problems)} {rng.choice(['he', 'she'])} was {begun} {_drug(rng)}"
        f" on hospital day {rng.randint(1, 12)}, and {rng.choice(_STUDIES)} showed"
        f" {rng.choice(_FINDINGS)}; Dr. {_name(rng)} agreed."
    )


def notes(count: int, seed: int = 1) -> list[str]:
    """``count`` summaries, the same for the same seed."""
    rng = random.Random(seed)
    return [note(rng) for _ in range(count)]


def write_jsonl(path: Path, count: int, seed: int = 1) -> None:
    """Write ``count`` summaries of half as many patients."""
    rng = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for k in range(count):
            record = {"note_id": f"M-{k}", "patient_id": 1_000_000 + k // 2, "text": note(rng)}
            record |= {"charttime": f"21{k % 90 + 10}-03-04", "category": "discharge summary"}
            file.write(json.dumps(record) + "\n")
