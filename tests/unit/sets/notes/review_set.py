"""A made-up set of four questions over three notes, in one folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CHOICES = {"A": "20 mg", "B": "40 mg", "C": "80 mg", "D": "10 mg", "E": "none"}
NOTES = (
    ("7-a", "7", "2100-01-01", "First stay.\nFurosemide 20 mg.\nNo [bold]fever[/bold]."),
    ("7-b", "7", "2100-02-01", "Second stay.\n" + "Was well.\n" * 30 + "Colace twice a day."),
    ("8-a", "8", "2100-03-01", "Only stay.\nAspirin 81 mg."),
)


def write_set(folder: Path, question: str = "What dose of furosemide?") -> Path:
    """Questions q1 to q4, the last without an answer."""
    folder.mkdir(parents=True)
    rows = (
        ("q1", "7", question, "A", [("7-a", "Furosemide 20 mg")], "medication"),
        ("q2", "7", "How is Colace [red]taken?", "A", [("7-b", "Colace twice a day")], "treatment"),
        ("q3", "8", "What dose of aspirin?", "B", [("8-a", "Aspirin 81 mg.")], "medication"),
        ("q4", "8", "What of the gout?", None, [], "unanswerable: other patient"),
    )
    questions: list[dict[str, Any]] = [
        {
            "id": key,
            "patient_id": patient,
            "question": words,
            "choices": CHOICES,
            "answer": answer,
            "answer_text": None if answer is None else f"{CHOICES[answer]} twice",
            "evidence": [{"note_id": note, "text": text} for note, text in evidence],
            "category": category,
            "flags": ["look at choice E"] if key == "q1" else [],
        }
        for key, patient, words, answer, evidence, category in rows
    ]
    notes = [
        {"note_id": key, "patient_id": patient, "charttime": when, "text": text}
        for key, patient, when, text in NOTES
    ]
    for name, lines in (("questions.jsonl", questions), ("notes.jsonl", notes)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")
    return folder
