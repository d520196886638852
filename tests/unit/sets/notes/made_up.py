"""Made-up patients, and a model that asks about their drugs."""

from __future__ import annotations

import re

from ehrqa_cli.contracts.notes import Note

DRUGS = ("aspirin", "heparin", "furosemide", "vancomycin", "metoprolol", "warfarin", "insulin")
PROBLEMS = ("pneumonia", "cellulitis", "pancreatitis", "seizures", "anemia", "gout", "asthma")
TEXT = """\
Discharge summary {k} of {n}
The patient was admitted with {problem} on the ward.
Treatment with {drug} {dose} mg was begun at once.
Earlier drugs were {others}.
"""


def text_of(patient: int, k: int, n: int, filler: int = 0) -> str:
    at = patient % len(DRUGS)
    others = ", ".join(DRUGS[(at + j) % len(DRUGS)] for j in range(1, 5))
    body = TEXT.format(
        k=k, n=n, problem=PROBLEMS[at], drug=DRUGS[at], dose=10 + patient, others=others
    )
    return body + "Condition was stable throughout.\n" * filler


def patients(count: int) -> list[Note]:
    """Patients from 1 on: most with one short note, every third with two, every eighth long."""
    out = []
    for patient in range(1, count + 1):
        n = 2 if patient % 3 == 0 else 1
        for k in range(1, n + 1):
            text = text_of(patient, k, n, 450 if patient % 8 == 0 else 0)
            key = f"{patient}-DS-{k}"
            out.append(Note(key, patient, text, patient * 10 + k, f"2100-01-{k:02d}"))
    return out


def reply(text: str) -> str:
    """Step 1, step 2, and the letter of the drug that was begun."""
    drug, dose = (
        re.findall(r"Treatment with (\w+) (\d+) mg", text)[-1]
        if ("Treatment with" in text)
        else ("none", "0")
    )
    problem = next((p for p in PROBLEMS if p in text), "nothing")
    if text.endswith("Answer:") or "Options:" in text:
        options = {words.lower(): letter for letter, words in re.findall(r"\n([A-F])\. (.+)", text)}
        return f" {options.get(drug, options['not stated in the notes'])}"
    if text.endswith("B:"):  # the right choice was told: the others
        others = [d for d in DRUGS if d in text and d != drug][:4]
        listed = "\n".join(f"{k}: {d}" for k, d in zip("BCDE", others, strict=True))
        return f"{listed[2:]}\n- Correct Answer: B"
    if "Answer Choices" in text:
        others = [d for d in DRUGS if d in text and d != drug][:4]
        listed = " ".join(f"{k}: {d}" for k, d in zip("ABCDE", [*others, drug], strict=True))
        return f"- Question: as said\n- Answer Choices: {listed}\n- Correct Answer: E\n- Reason: x"
    return (
        f"- Question : Which drug was begun for the {problem} at {dose} mg?\n- Answer : {drug}\n"
        f'- Evidence : "Treatment with {drug.upper()} {dose} mg was begun at once."\n'
        "- Reason : it says so"
    )
