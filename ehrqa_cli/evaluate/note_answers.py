"""Answers from notes: what gives them (a system, or a file), and what is checked of a citation."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.notes import Note, NoteSpan
from ehrqa_cli.evaluate.files import hash_file
from ehrqa_cli.evaluate.given import why

LONGEST = 300  # characters of an excerpt
_SHAPE = (
    'expected {"id": answer, ...}, or lines of {"id", "prediction"} or of `ehrqa batch`; an '
    "answer is a letter or a text, or null where the system declined"
)


@dataclass(frozen=True)
class GivenAnswer:
    """One answer. ``status`` is answered, abstained or failed; ``spans`` are cited best first."""

    status: str
    text: str | None = None
    choice: str | None = None
    spans: tuple[NoteSpan, ...] = ()
    confidence: float | None = None
    why: str | None = None


class NoteSystem(Protocol):
    """What answers questions over a patient's notes: a reader (note_desk.py), or a fake."""

    def prepare(self, notes: Iterable[Note]) -> None:
        """Take in all notes that will be asked about."""

    def answer(
        self, question: str, notes: Sequence[Note], choices: Mapping[str, str] | None
    ) -> GivenAnswer:
        """The answer from these notes, and from nothing else."""

    def provenance(self) -> Mapping[str, str]:
        """Models, hashes and versions, enough to repeat the answers."""


def read_answers(path: Path, ids: Iterable[str]) -> tuple[Mapping[str, GivenAnswer], str]:
    """The answers by question id, one for each of ``ids``, and the file's SHA-256.

    Raises EvaluationError for another file, or when an answer lacks.
    """
    try:
        found = {key: _given(value) for key, value in parse_predictions(path).items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise EvaluationError(f"{path} holds no predictions", _SHAPE) from None
    check_all(path, ids, found)
    return found, hash_file(path)


def check_all(path: Path, ids: Iterable[str], found: Container[str]) -> None:
    """Raises EvaluationError when a question has no prediction."""
    wanted = list(ids)
    missing = [key for key in wanted if key not in found]
    if missing:
        raise EvaluationError(
            f"{path} lacks {len(missing)} of {len(wanted)} questions",
            f"give each an answer or null; the first is {missing[0]}",
        )


def parse_predictions(path: Path) -> dict[str, Any]:
    """Whatever a file says of each id: a JSON object, a list, or lines with an ``id``.

    Raises EvaluationError.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        whole = _whole(text)
        if isinstance(whole, dict) and "id" in whole:
            whole = [whole]
        if isinstance(whole, list):
            return {str(line["id"]): line for line in whole if "header" not in line}
        return {str(key): value for key, value in whole.items()}
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check the path") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise EvaluationError(f"{path} holds no predictions", _SHAPE) from None


def _whole(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]


def _given(value: Any) -> GivenAnswer:
    if not isinstance(value, dict):
        return _plain(value)
    spans = tuple(_span(e) for e in value.get("evidence") or () if e.get("kind", "note") == "note")
    choice = str(value["choice"]) if value.get("choice") else None
    told = value.get("confidence")
    if "status" not in value:
        named = [n for n in ("prediction", "answer", "text", "choice") if n in value]
        found = _plain(value[named[0]])
        return GivenAnswer(found.status, found.text, choice, spans, told)
    status = str(value["status"])
    if status not in ("answered", "abstained", "failed"):
        raise ValueError(status)
    text = _words(value.get("text")) or _words(value.get("value"))
    if status != "answered":
        text = choice = None
    return GivenAnswer(status, text, choice, spans, told, why(value))


def _plain(value: Any) -> GivenAnswer:
    text = _words(value)
    return GivenAnswer("abstained") if text is None else GivenAnswer("answered", text)


def _words(value: Any) -> str | None:
    if isinstance(value, list):
        return ", ".join(str(v) for v in value) or None
    return None if value is None or value == "" else str(value)


def _span(raw: Mapping[str, Any]) -> NoteSpan:
    return NoteSpan(
        str(raw["note_id"]), int(raw["start"]), int(raw["end"]), str(raw.get("excerpt", ""))
    )


def fault_of(span: NoteSpan, notes: Mapping[str, Note]) -> str | None:
    """What is wrong with a citation; None where it quotes its note as it should (interface.md:
    verbatim, one line or sentence, at most 300 characters)."""
    note = notes.get(span.note_id)
    if note is None:
        return "another note"
    if not 0 <= span.start < span.end <= len(note.text):
        return "offsets outside the note"
    if note.text[span.start : span.end] != span.excerpt:
        return "excerpt is not what stands there"
    return "too long" if span.end - span.start > LONGEST else None
