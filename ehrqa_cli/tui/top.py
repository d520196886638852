"""The header line: which EHR, which patient, when "now" is, which models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.reactive import reactive
from textual.widgets import Static

from ehrqa_cli.tui.show import text

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.about import About


class Top(Static):
    """One line; what does not fit is left out from the end, which matters least."""

    patient: reactive[int | None] = reactive(None)
    known: reactive[About | None] = reactive(None)

    def __init__(self, database: str, patient: int | None) -> None:
        super().__init__(markup=False, id="top")
        self.database = database
        self.set_reactive(Top.patient, patient)

    def render(self) -> Text:
        """What fits of what is known."""
        return header(self.database, self.patient, self.known, self.size.width)


def header(database: str, patient: int | None, known: About | None, width: int) -> Text:
    """The line in at most ``width`` columns."""
    parts = [f"patient {patient}" if patient is not None else "no patient"]
    if known is None:
        parts.append("loading")
    else:
        parts += [f"now is {known.as_of[:16]}"] if known.as_of else ["only notes"]
        parts += [f"model {known.model}"] if known.model else []
        parts += [f"notes {known.reader}"] if known.reader else []
        if known.images:
            parts.append(f"images {known.images}: {known.coverage}")
        else:
            parts.append("no images")
    line = text(database, "bold")
    for number, part in enumerate(parts):
        if line.cell_len + len(part) + 3 > width:
            left = width - line.cell_len - 4
            if number == len(parts) - 1 and left > 12:
                line.append_text(text(f" · {part[:left]}…"))
            break
        line.append_text(text(f" · {part}"))
    return line


def told(known: About) -> str:
    """All of it, line by line."""
    images = f"{known.images}; it sees {known.coverage}" if known.images else "none"
    return (
        f"database: {known.database}\nnow is taken to be: {known.as_of or 'nothing'}\n"
        f"text-to-SQL model: {known.model or 'none'}\nreader of notes: {known.reader or 'none'}\n"
        f"reader of X-rays: {images}"
    )
