"""The patient who is talked about: admissions, current medications, the last labs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.containers import VerticalScroll
from textual.widgets import Static

from ehrqa_cli.tui.show import one_line, sparkline, text

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.events import PatientRead
    from ehrqa_cli.engine.chat.patient import LabSeries, PatientSummary

_EMPTY = (
    "No patient is chosen. Ask about one by number, or press F7 again to choose one;"
    " their admissions, medications and last labs then appear here."
)
_NAME = 16


class PatientPane(VerticalScroll):
    """One page."""

    def __init__(self) -> None:
        self._page = Static(_EMPTY, markup=False, classes="part")
        super().__init__(self._page)

    def show(self, read: PatientRead) -> None:
        """Show a patient as of a time, or what there is to say instead."""
        if read.summary is not None:
            self._page.update(page(read.summary, read.as_of))
        else:
            self._page.update(text(_EMPTY if read.problem is None else str(read.problem)))
        self.scroll_home(animate=False)


def page(patient: PatientSummary, as_of: str) -> Text:
    """A patient on one page."""
    known = [f"Patient {patient.patient_id}"]
    known += [patient.sex] if patient.sex else []
    known += [f"{patient.age} years"] if patient.age is not None else []
    known += [f"died {patient.died[:10]}"] if patient.died else []
    out = text(", ".join(known) + "\n", "bold")
    parts = [f"as of {as_of}"] if as_of else []
    parts.append(_number(patient.notes, "note"))
    out.append_text(text(", ".join(parts) + "\n", "dim"))
    if patient.only_notes:
        return out.append("\nKnown only from notes.")
    _heading(out, f"Admissions ({patient.admissions_in_all:,})")
    for stay in patient.admissions:
        end = stay.end[:10] if stay.end else "now"
        what = " ".join(filter(None, [stay.kind, f"to {stay.to}" if stay.to else ""]))
        out.append_text(text(f"{stay.start[:10]} to {end:<10}  {what}\n"))
    _heading(out, f"Medications now ({len(patient.medications)})")
    for drug in patient.medications:
        route = f" {drug.route}" if drug.route else ""
        out.append_text(text(f"{drug.name}, {drug.dose}{route}"))
        out.append_text(text(f"  since {drug.since[:10]}\n", "dim"))
    _heading(out, "Last labs")
    for lab in patient.labs:
        out.append_text(_lab(lab))
    return out


def _lab(lab: LabSeries) -> Text:
    out = text(f"{one_line(lab.name, _NAME):<{_NAME}} ")
    out.append(f"{sparkline(lab.values):>12} ")
    out.append_text(text(f"{f'{lab.last:g} {lab.unit}':<13}", "bold"))
    return out.append_text(text(f" {lab.at[:10]}\n", "dim"))


def _heading(out: Text, what: str) -> None:
    out.append(f"\n{what}\n", "bold underline")


def _number(number: int, word: str) -> str:
    return f"{number:,} {word}" + "s" * (number != 1)
