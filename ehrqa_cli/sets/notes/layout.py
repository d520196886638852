"""The open layout of questions over notes, which ``ehrqa eval ehrnoteqa`` reads.

``questions.jsonl`` and ``notes.jsonl``; ``gold.json`` scores 100 in both of its formats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.sets.making.files import Plain

QUESTIONS, NOTES, GOLD = "questions.jsonl", "notes.jsonl", "gold.json"


def question_line(item: Mapping[str, Any]) -> Plain:
    """An item as a line of questions.jsonl."""
    return {
        **{name: item[name] for name in ("id", "patient_id", "question")},
        "choices": dict(item["choices"]),
        **{name: item[name] for name in ("answer", "answer_text")},
        "evidence": [dict(piece) for piece in item["evidence"]],
        "category": item["category"],
        "answerable": item["answer"] is not None,
        "injection": False,
        "level": item["level"],
        "num_notes": item["num_notes"],
        "flags": list(item.get("flags", ())),
    }


def notes_line(note: Note) -> Plain:
    """A note as a line of notes.jsonl."""
    return {
        "note_id": note.note_id,
        "patient_id": str(note.patient_id),
        "hadm_id": note.hadm_id,
        "charttime": note.charttime,
        "category": note.category,
        "text": note.text,
    }


def write_gold(path: Path, items: Iterable[Mapping[str, Any]], notes: Iterable[Note]) -> None:
    """The gold answers as predictions: letter, text, and the evidence as citations."""
    texts = {note.note_id: note.text for note in notes}
    gold = {item["id"]: gold_answer(item, texts) for item in items}
    path.write_text(json.dumps(gold, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def gold_answer(item: Mapping[str, Any], texts: Mapping[str, str]) -> Plain | None:
    """One gold answer; None where the notes have none."""
    if item["answer"] is None:
        return None
    spans = []
    for piece in item["evidence"]:
        start = texts[piece["note_id"]].find(piece["text"])
        end = start + len(piece["text"])
        place = {"kind": "note", "note_id": piece["note_id"], "start": start, "end": end}
        spans.append(place | {"excerpt": piece["text"]})
    return {"answer": item["answer_text"], "choice": item["answer"], "evidence": spans}
