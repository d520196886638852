"""The notes that a benchmark asks about, picked out of a file as it streams by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.contracts.errors import EvaluationError, ImportFailed
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.evaluate.files import find_file, hash_file
from ehrqa_cli.notes.importing.encoding import open_text
from ehrqa_cli.notes.importing.tables import csv_notes, jsonl_notes

FILES = ("notes.jsonl", "discharge.csv.gz", "discharge.csv", "note/discharge.csv.gz")


@dataclass(frozen=True)
class Notes:
    """Notes by id, and those of each patient in order of time."""

    by_id: Mapping[str, Note]
    of_patient: Mapping[str, Sequence[Note]]
    sha256: str


def read_notes(data: Path, given: Path | None, patients: set[str], ids: set[str]) -> Notes:
    """The notes of these patients, and those of these ids, from the file ``given`` or from one of
    ``FILES`` in ``data``. Raises EvaluationError."""
    path = given or find_file(data, FILES, "notes to the questions")
    if not path.is_file():
        raise EvaluationError(
            f"there is no file {path}",
            "give MIMIC-IV-Note's discharge.csv(.gz), or JSON Lines, with --notes FILE",
        )
    kept: dict[str, Note] = {}
    lines = path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    try:
        with open_text(path) as file:
            for found in (jsonl_notes if lines else csv_notes)(file, None):
                if not isinstance(found.note, Note):
                    if lines:
                        raise EvaluationError(
                            f"{path}, {found.where}: {found.note.message}", "fetch the file again"
                        )
                    continue  # one of MIMIC-IV-Note's 331,794; a question that needs it says so
                if str(found.note.patient_id) in patients or found.note.note_id in ids:
                    kept[found.note.note_id] = found.note
    except ImportFailed as error:
        raise EvaluationError(error.message, error.hint) from None
    grouped: dict[str, list[Note]] = defaultdict(list)
    for note in sorted(kept.values(), key=lambda n: (n.charttime or "", n.note_id)):
        grouped[str(note.patient_id)].append(note)
    return Notes(kept, grouped, hash_file(path))
