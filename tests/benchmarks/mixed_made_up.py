"""Made-up discharge summaries for patients of the demo EHR, written from its rows: some say what
the tables say, some something else, some nothing. With the questions that compare the two.

``Maker`` gives the notes and the questions, each with what is right: "yes", "no", the two values,
or None where it has to be declined. The same database gives the same cases.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

AGREE, DIFFER, NOT_IN_NOTE, NOT_IN_TABLES = "agree", "differ", "not in note", "not in tables"
DRUGS = {  # what the table calls it: how the note writes it
    "furosemide": ("Furosemide", "Lasix"),
    "heparin": ("Heparin", "heparin"),
    "pantoprazole": ("Pantoprazole", "Protonix"),
    "atorvastatin": ("Atorvastatin", "Lipitor"),
    "metoprolol tartrate": ("Metoprolol Tartrate", "metoprolol"),
    "lisinopril": ("Lisinopril", "lisinopril"),
    "aspirin": ("Aspirin", "ASA"),
    "acetaminophen": ("Acetaminophen", "Tylenol"),
    "ondansetron": ("Ondansetron", "Zofran"),
    "levofloxacin": ("Levofloxacin", "levofloxacin"),
    "vancomycin": ("Vancomycin", "vancomycin"),
    "magnesium sulfate": ("Magnesium Sulfate", "magnesium sulfate"),
}
LABS = {
    "potassium": ("Potassium", "K"),
    "sodium": ("Sodium", "Na"),
    "creatinine": ("Creatinine", "Cr"),
    "hemoglobin": ("Hemoglobin", "Hgb"),
    "magnesium": ("Magnesium", "Mg"),
    "glucose": ("Glucose", "glucose"),
    "platelet count": ("Platelet count", "platelets"),
}
DIAGNOSES = {  # title: (what the note writes, what the question says)
    "essential (primary) hypertension": ("Hypertension", "hypertension"),
    "hyperlipidemia, unspecified": ("Hyperlipidemia", "hyperlipidemia"),
    "pneumonia, unspecified organism": ("Pneumonia", "pneumonia"),
    "unspecified atrial fibrillation": ("Atrial fibrillation", "atrial fibrillation"),
    "acute on chronic systolic (congestive) heart failure": (
        "Acute on chronic systolic heart failure",
        "heart failure",
    ),
    "type 2 diabetes mellitus without complications": ("Type 2 diabetes", "type 2 diabetes"),
    "acute kidney failure, unspecified": ("Acute kidney failure", "acute kidney failure"),
}
# set, kind, what is right when both say the same, and the wording: {s} the subject, {p} the patient
WORDINGS = Path(__file__).with_name("mixed_wordings.tsv")

# The note is asked to be more: what differs here is always more.
_IS_MORE = re.compile(r"summary.* higher|note higher|note .*higher|last .* lower than")


@dataclass(frozen=True)
class Case:
    """A question and what is right; ``situation`` is how the note was made."""

    question: str
    gold: str | None
    kind: str
    situation: str
    patient: int


@dataclass
class _Writer:
    """The note of one patient, filled case by case."""

    patient: int
    hadm: int
    when: str
    meds: list[str] = field(default_factory=list)
    labs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The whole summary."""
        return "\n".join(
            [
                f"Discharge Date: {self.when}",
                "",
                "Allergies: Penicillin",
                "",
                "Brief Hospital Course:",
                "The patient was admitted, treated and improved. He denies chest pain.",
                "",
                "Pertinent Results:",
                *self.labs,
                "",
                "Discharge Medications:",
                *(f"{k}. {line}" for k, line in enumerate(self.meds, 1)),
                "",
                "Discharge Diagnoses:",
                *self.problems,
                "",
                "Family History: Mother with stroke.",
                "",
                "Follow-up: primary care in two weeks.",
            ]
        )

    def note(self) -> dict[str, Any]:
        """The note as a line of JSON."""
        return {
            "note_id": f"{self.patient}-DS-1",
            "patient_id": self.patient,
            "hadm_id": self.hadm,
            "charttime": self.when,
            "category": "discharge summary",
            "text": self.text(),
        }


class Maker:
    """Draws notes and cases from a demo EHR."""

    def __init__(self, db: Path, wanted: str = "first", seed: int = 5) -> None:
        """``wanted`` is the set of wordings."""
        self.wanted = wanted
        self.rng = random.Random(seed)
        self.connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
        rows = self.connection.execute(
            "SELECT subject_id, hadm_id, coalesce(dischtime, admittime) FROM admissions "
            "ORDER BY admittime"
        )
        last = {patient: (hadm, when[:10]) for patient, hadm, when in rows}
        self.writers = {p: _Writer(p, *last[p]) for p in sorted(last)}
        self.used: set[tuple[int, str]] = set()

    def cases(self) -> Iterator[Case]:
        """Every wording in every situation that makes sense for it."""
        for line in WORDINGS.read_text(encoding="utf-8").splitlines()[1:]:
            name, kind, right, wording = line.split("\t")
            for situation in (AGREE, DIFFER, NOT_IN_NOTE, NOT_IN_TABLES):
                case = self._case(kind, right, wording, situation) if name == self.wanted else None
                if case is not None:
                    yield case

    def notes(self) -> list[dict[str, Any]]:
        """The notes of the patients who were asked about, after ``cases`` has been run through."""
        asked = {patient for patient, _ in self.used}
        return [self.writers[patient].note() for patient in sorted(asked)]

    def _case(self, kind: str, right: str, wording: str, situation: str) -> Case | None:
        make = {"lab": self._lab, "diagnosis": self._dx, "coded": self._dx}.get(kind, self._drug)
        made = make(kind, situation, right, wording)
        if made is None:
            return None
        patient, said, gold = made
        question = wording.format(s=said, p=patient)
        return Case(question, gold, kind, situation, patient)

    def _free(self, rows: list[tuple[Any, ...]], name: str) -> tuple[Any, ...] | None:
        """A row of a patient who was not asked about this yet."""
        self.rng.shuffle(rows)
        for row in rows:
            if (row[0], name) not in self.used:
                self.used.add((row[0], name))
                return row
        return None

    def _drug(self, kind: str, situation: str, right: str, wording: str) -> Any:
        if kind == "listed" and situation == DIFFER:
            return None
        name = self.rng.choice(sorted(DRUGS))
        said = self.rng.choice([name, name.split()[0] if name != "magnesium sulfate" else name])
        whole, short = DRUGS[name]
        if situation == NOT_IN_TABLES:
            row = self._free(self._without("prescriptions", "drug", name), name)
            if row is None:
                return None
            self.writers[row[0]].meds.append(f"{whole} 20 mg PO DAILY")
            return (
                row[0],
                said,
                ("no" if kind == "listed" and "prescribed to" not in wording else None),
            )
        row = self._free(self._orders(name), name)
        if row is None:
            return None
        patient, dose, unit, route = row
        dose = float(dose)
        if situation == NOT_IN_NOTE:
            return patient, said, ("no" if "and is it also" in wording else None)
        other = situation == DIFFER
        shown = dose * 2 if other and kind != "route" else dose
        way = route.split("/")[0].upper()
        if kind == "route" and other:
            way = "IV" if way != "IV" else "PO"
        self.writers[patient].meds.append(self._line(whole, short, shown, unit, way))
        if right == "values":
            return patient, said, f"{shown:g} {unit}; {dose:g} {unit}"
        gold = {True: "no", False: "yes"}[(right == "yes") == other]
        if _IS_MORE.search(wording):
            gold = "yes" if other else "no"
        return patient, said, gold

    def _line(self, whole: str, short: str, dose: float, unit: str, way: str) -> str:
        """A medication as notes write it."""
        styles = [f"{whole} {dose:g} {unit} {way} DAILY", f"{short} {dose:g}{unit} {way} BID"]
        if unit == "mg":
            styles.append(
                f"{whole} {dose / 2:g} mg Tablet Sig: Two (2) Tablet {way} DAILY (Daily)."
            )
            styles.append(f"{whole} {dose / 1000:g} g {way} Q12H")
        return self.rng.choice(styles)

    def _lab(self, kind: str, situation: str, right: str, wording: str) -> Any:
        if situation == NOT_IN_TABLES:
            return None
        name = self.rng.choice(sorted(LABS))
        row = self._free(self._values(name), name)
        if row is None:
            return None
        patient, value, unit = row
        if situation == NOT_IN_NOTE:
            return patient, name, None
        other = situation == DIFFER
        shown = round(value * 1.3 + 0.4, 1) if other else value
        whole, short = LABS[name]
        styles = [f"{whole} was {shown:g} {unit} at discharge.", f"{short} {shown:g}",
                  f"Labs: {whole.upper()}-{shown:g}", f"Last {short} of {shown:g}."]  # fmt: skip
        self.writers[patient].labs.append(self.rng.choice(styles))
        if right == "values":
            return patient, name, f"{shown:g}; {value:g}"
        gold = {True: "no", False: "yes"}[(right == "yes") == other]
        if _IS_MORE.search(wording):
            gold = "yes" if other else "no"
        return patient, name, gold

    def _dx(self, kind: str, situation: str, right: str, wording: str) -> Any:
        if situation == DIFFER:
            return None
        title = self.rng.choice(sorted(DIAGNOSES))
        whole, said = DIAGNOSES[title]
        if situation == NOT_IN_TABLES:
            like = said.split()[-1] if "failure" not in said else said.split()[-2]
            row = self._free(self._without_title(like), title)
            if row is None:
                return None
            self.writers[row[0]].problems.append(f"{whole}.")
            return row[0], said, (None if kind == "coded" else "no")
        row = self._free(self._titled(title), title)
        if row is None:
            return None
        if situation == AGREE:
            self.writers[row[0]].problems.append(f"{whole}.")
            return row[0], said, "yes"
        agree = "agree that" in wording
        return row[0], said, ("no" if kind == "coded" or agree else None)

    def _orders(self, name: str) -> list[tuple[Any, ...]]:
        """Patients with one last order of this drug: dose, unit, route."""
        found: dict[int, list[tuple[Any, ...]]] = {}
        for row in self.connection.execute(
            "SELECT subject_id, dose_val_rx, dose_unit_rx, route, starttime FROM prescriptions "
            "WHERE drug = ? ORDER BY starttime", (name,)
        ):  # fmt: skip
            found.setdefault(row[0], []).append(row)
        return [r[-1][:4] for r in found.values() if len(r) < 2 or r[-1][4] != r[-2][4]]

    def _values(self, name: str) -> list[tuple[Any, ...]]:
        rows = self.connection.execute(
            "SELECT subject_id, valuenum, valueuom FROM labevents JOIN d_labitems USING (itemid) "
            "WHERE label = ? ORDER BY charttime", (name,)
        )  # fmt: skip
        return [(p, *rest) for p, rest in {row[0]: row[1:] for row in rows}.items()]

    def _titled(self, title: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(
            "SELECT DISTINCT subject_id FROM diagnoses_icd JOIN d_icd_diagnoses USING (icd_code) "
            "WHERE long_title = ? ORDER BY 1", (title,)
        ).fetchall()  # fmt: skip

    def _without_title(self, like: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(
            "SELECT subject_id FROM patients WHERE subject_id NOT IN (SELECT subject_id FROM "
            "diagnoses_icd JOIN d_icd_diagnoses USING (icd_code) WHERE long_title LIKE ?) "
            "ORDER BY 1", (f"%{like}%",)
        ).fetchall()  # fmt: skip

    def _without(self, table: str, column: str, name: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(
            f"SELECT subject_id FROM patients WHERE subject_id NOT IN (SELECT subject_id FROM "
            f"{table} WHERE {column} LIKE ?) ORDER BY 1", (f"%{name.split()[0]}%",)
        ).fetchall()  # fmt: skip
