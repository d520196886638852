"""What a run found: header, tables, and the files they are written to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.benchmarks import Figures, FigureTable
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.files import write_whole


@dataclass(frozen=True)
class RunReport:
    """``header`` names data, database, system and image reader by their hashes; ``scores`` are
    the figures as plain values; ``more`` are tables that only the files hold."""

    header: Mapping[str, Any]
    scores: Mapping[str, Any]
    tables: tuple[FigureTable, ...]
    more: tuple[FigureTable, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, header: Mapping[str, Any], found: Figures) -> RunReport:
        """What a benchmark counted, under the header of its run."""
        return cls(header, found.scores, found.tables, found.more, found.notes)

    def lines(self) -> list[tuple[str, str]]:
        """(what, value) pairs that say on what the tables rest."""
        return [
            (name.replace("_", " "), _told(value))
            for name, value in self.header.items()
            if value not in (None, "", {})
        ]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "header": dict(self.header),
            "scores": dict(self.scores),
            "tables": [table.as_dict() for table in (*self.tables, *self.more)],
            "notes": list(self.notes),
        }

    def as_markdown(self) -> str:
        """All tables, after what they rest on."""
        rest = "\n".join(f"| {name} | {value} |" for name, value in self.lines())
        tables = "\n".join(table.as_markdown() for table in (*self.tables, *self.more))
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"| | |\n|---|---|\n{rest}\n\n{tables}{notes}"

    def write(self, out: Path) -> None:
        """``report.json`` and ``report.md``. Raises EvaluationError."""
        text = json.dumps(self.as_dict(), indent=1, ensure_ascii=False)
        write_files(out, {"report.json": text + "\n", "report.md": self.as_markdown()})


def write_files(out: Path, files: Mapping[str, str]) -> None:
    """Write texts by their names into a folder. Raises EvaluationError."""
    try:
        for name, text in files.items():
            write_whole(out / name, text)
    except OSError as error:
        raise EvaluationError(f"cannot write to {out}: {error.strerror}", "check --out") from None


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_told(v)}" for key, v in value.items() if v not in (None, {}))
    if isinstance(value, list):
        return ", ".join(map(_told, value))
    return str(value)
