"""An answer as a person reads it: lines of text, each made safe by `output`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ehrqa_cli.contracts.types import Answer, Status

SHOWN_EVIDENCE = 5
SHOWN_ROWS = 20
_LABEL = 12  # columns of the labels on the left


def answer_lines(
    answer: Answer,
    explain: bool = False,
    all_in: str = "--json",
    run_by: str = "--tentative",
    teach_by: str = "ehrqa teach add",
) -> Iterator[str]:
    """The answer's lines: the sentence, then what it rests on; with ``explain`` how it came.
    ``all_in`` names where that is which is left out, ``run_by`` and ``teach_by`` what runs a
    withheld reading and keeps it."""
    yield headline(answer)
    if answer.status is Status.FAILED:
        return
    if doubt := doubt_line(answer, run_by, teach_by):
        yield f"  {doubt}"
    for number, (reading, given) in enumerate(readings(answer)):
        yield _field("" if number else "unverified", f"{reading}: {given}")
    for number, text in enumerate(answer.suggestions):
        yield _field("" if number else "could ask", text)
    if answer.choice:
        yield _field("choice", answer.choice)
    if answer.description and answer.status is not Status.ABSTAINED:
        yield _field("read as", answer.description)
    yield from _rows(answer, all_in)
    yield from _evidence(answer, all_in)
    if answer.confidence is not None:
        yield _field("confidence", f"{answer.confidence:.3f}")
    if explain:
        yield from _explanation(answer)


def headline(answer: Answer) -> str:
    """The answer in one line; an abstention says why."""
    if answer.status is Status.FAILED:
        return "No answer: " + (answer.error or {}).get("message", "it failed")
    return answer.text or "(nothing)"


def doubt_line(answer: Answer, run_by: str, teach_by: str) -> str:
    """How a withheld question was read, and what ``run_by`` does; of a tentative answer why it
    would be withheld, and what ``teach_by`` does. "" for other answers."""
    if answer.status is Status.TENTATIVE:
        return (
            f"Not checked: {answer.reason} If the reading is what you meant, {teach_by} keeps it."
        )
    if answer.status is not Status.ABSTAINED or answer.reading is None:
        return ""
    told = f"I read it as: {answer.reading['description']}."
    return f"{told} {run_by} runs it, unchecked." if answer.reading["runs"] else told


def readings(answer: Answer) -> list[tuple[str, str]]:
    """(reading, what it gives) of a question that was asked back, where it gives anything."""
    listed = ((item["description"], item.get("answer")) for item in answer.alternatives)
    return [(said, given) for said, given in listed if given is not None]


def _field(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}}{text}"


def _rows(answer: Answer, all_in: str) -> Iterator[str]:
    """Rows of more than one column; those of one are in the sentence already."""
    if len(answer.columns) < 2 or not answer.rows:
        return
    yield _field("rows", " | ".join(answer.columns))
    for row in answer.rows[:SHOWN_ROWS]:
        yield _field("", " | ".join("NULL" if cell is None else str(cell) for cell in row))
    if len(answer.rows) > SHOWN_ROWS:
        yield _field("", f"... and {len(answer.rows) - SHOWN_ROWS:,} more (see {all_in})")


def _evidence(answer: Answer, all_in: str) -> Iterator[str]:
    for number, item in enumerate(answer.evidence[:SHOWN_EVIDENCE]):
        yield _field("" if number else "evidence", evidence_text(item))
    if len(answer.evidence) > SHOWN_EVIDENCE:
        yield _field("", f"... and {len(answer.evidence) - SHOWN_EVIDENCE:,} more (see {all_in})")


def evidence_text(item: dict[str, Any]) -> str:
    """One piece of evidence in words a person can follow."""
    if item.get("kind") == "row":
        key = item.get("key")
        shown = ", ".join(f"{k}={v}" for k, v in key.items()) if isinstance(key, dict) else key
        return f"{item.get('table')}, row {shown}"
    if item.get("kind") == "image":
        place = f" at {item['location']}" if item.get("location") else ""
        study = item.get("study_id")
        return (
            f"study {study}: {item.get('finding')}{place}"
            if study
            else f"{item.get('finding')}{place}"
        )
    if item.get("kind") == "note":
        return f"note {item.get('note_id')}: {item.get('excerpt')}"
    return ", ".join(f"{key} {value}" for key, value in item.items())


def _explanation(answer: Answer) -> Iterator[str]:
    for label, text in (
        ("form", answer.logical_form),
        ("NeuralSQL", answer.neuralsql),
        ("executed", answer.executed_sql),
    ):
        if text:
            yield _field(label, " ".join(text.split()))
    if answer.reason_kind:
        yield _field("withheld", f"{answer.reason_public} ({answer.reason_kind})")
    if answer.scores:
        yield _field("scores", ", ".join(f"{k} {v:.4g}" for k, v in answer.scores.items()))
    if answer.timings:
        yield _field("seconds", ", ".join(f"{k} {v:.3f}" for k, v in answer.timings.items()))
    for number, (key, value) in enumerate(answer.provenance.items()):
        yield _field("" if number else "provenance", f"{key}: {value}")
