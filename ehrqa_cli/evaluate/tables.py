"""Tables of a report, as plain values, for a terminal, in JSON and in Markdown."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

Cell = str | int | float | None
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class StudyTable:
    """``number`` as in the paper; ``blocks`` are (heading or empty, rows)."""

    number: str
    title: str
    columns: tuple[str, ...]
    blocks: tuple[tuple[str, tuple[Row, ...]], ...]
    notes: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        return f"Table {self.number}: {self.title}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def printed(self) -> list[tuple[str, ...]]:
        """Rows as text, a heading being a row of its own."""
        out: list[tuple[str, ...]] = []
        for heading, rows in self.blocks:
            if heading:
                out.append((heading, *[""] * (len(self.columns) - 1)))
            out += [tuple(_text(cell) for cell in row) for row in rows]
        return out

    def as_markdown(self) -> str:
        """With its notes."""
        rows = [self.columns, ("---", *["---:"] * (len(self.columns) - 1)), *self.printed()]
        body = "\n".join("| " + " | ".join(map(_escaped, row)) + " |" for row in rows)
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"**{self.heading}**\n\n{body}\n{notes}"


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return "∞" if math.isinf(cell) else f"{cell:.1f}"
    return str(cell)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
