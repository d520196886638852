"""An item under review, the form in which it is edited, and its notes with the evidence marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.widgets import Input, Static, TextArea

from ehrqa_cli.cli.output import safe
from ehrqa_cli.engine.chat.views import NoteLine, NoteView
from ehrqa_cli.sets.notes.review.fields import ANSWER, EVIDENCE, QUESTION
from ehrqa_cli.tui.panes.note import NotePane
from ehrqa_cli.tui.show import one_line, text

if TYPE_CHECKING:
    from ehrqa_cli.contracts.notes import Note
    from ehrqa_cli.sets.notes.review import Content, Decision, Item

_SIGNS = {"accepted": "✓ accepted", "edited": "✎ edited", "dropped": "✗ dropped"}
_QUOTED = 160  # characters of a piece of evidence beside the note that holds it


class Notes(NotePane, inherit_bindings=False):
    """The patient's notes, with keys that leave room for those of the review."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "mark(1)", "Mark"),
        Binding("shift+n,N", "mark(-1)", "Mark before", show=False),
        Binding("right_square_bracket", "note(1)", "Next note", show=False),
        Binding("left_square_bracket", "note(-1)", "Note before", show=False),
    ]


class ItemPane(VerticalScroll):
    """What is asked, the choices, what bears the right one out, and what was decided."""

    can_focus = False

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static(markup=False, id="item-text")

    def show(self, item: Item, decision: Decision | None) -> None:
        """Show an item as it is now."""
        content = decision.content if decision and decision.content else item.content
        self.query_one("#item-text", Static).update(drawn(item, content, decision))
        self.scroll_home(animate=False)


def drawn(item: Item, content: Content, decision: Decision | None) -> Text:
    """An item as text; nothing in it is markup."""
    about = [item.id, item.stratum, item.category, item.split]
    page = text(" · ".join(part for part in about if part), "dim")
    sign = _SIGNS.get(decision.kind, "") if decision else "○ undecided"
    page.append(f"  {sign}\n", "bold")
    page.append_text(text(content.question, "bold")).append("\n")
    for letter, choice in content.choices.items():
        right = letter == content.answer
        page.append(f" {'●' if right else ' '} {letter}  ", "bold" if right else "dim")
        page.append_text(text(" ".join(choice.split()), "bold" if right else "")).append("\n")
    if content.answer is None:
        page.append(" ● the notes have no answer\n", "bold")
    for _, piece in content.evidence:
        page.append("   evidence: ", "dim").append_text(text(one_line(piece, _QUOTED), "dim"))
        page.append("\n")
    for flag in item.flags:
        page.append("   ! ", "bold").append_text(text(flag)).append("\n")
    if decision and decision.content:
        changed = ", ".join(content.changed_from(item.content)) or "nothing"
        page.append("   changed: ", "dim").append_text(text(changed, "dim")).append("\n")
    return page


class EditPane(VerticalScroll):
    """The form: the question, the five choices, the right letter, the evidence."""

    can_focus = False

    class Typed(Message):
        """Something was typed."""

    def __init__(self) -> None:
        super().__init__(id="edit")
        self._shown: dict[str, str] = {}
        self._raw: dict[str, str] = {}

    async def fill(self, fields: Mapping[str, str], original: Mapping[str, str]) -> None:
        """Put the ``fields`` into a new form; ``original`` are those of the item, whose control
        characters are shown as escapes and kept where nothing is typed over them."""
        self._raw = dict(original)
        self._shown = {name: safe(value) for name, value in original.items()}
        await self.remove_children()
        await self.mount_all(self._form(fields))

    def _form(self, fields: Mapping[str, str]) -> list[Static | TextArea | Horizontal]:
        out: list[Static | TextArea | Horizontal] = []
        for name, value in fields.items():
            shown = self._shown[name] if value == self._raw.get(name) else safe(value)
            if name in (QUESTION, EVIDENCE):
                told = "Evidence, word for word, an empty line between pieces"
                out.append(Static(told if name == EVIDENCE else "Question", classes="label"))
                area = TextArea(shown, id=f"field-{name}", classes=name, compact=True)
                area.show_line_numbers = False
                out.append(area)
            else:
                label = "Right letter, - for none" if name == ANSWER else name
                line = Input(shown, id=f"field-{name}", compact=True, select_on_focus=False)
                out.append(
                    Horizontal(Static(label, classes="name", markup=False), line, classes="row")
                )
        return out

    def fields(self) -> dict[str, str]:
        """What stands in the form."""
        out = {}
        for widget in self.query("TextArea, Input"):
            name = (widget.id or "").removeprefix("field-")
            typed = widget.text if isinstance(widget, TextArea) else widget.value  # type: ignore[attr-defined]
            out[name] = self._raw[name] if typed == self._shown.get(name) else typed
        return out

    def on_input_changed(self, event: Input.Changed) -> None:
        """A choice or the letter."""
        event.stop()
        self.post_message(self.Typed())

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """The question or the evidence."""
        event.stop()
        self.post_message(self.Typed())


def views(notes: Sequence[Note], content: Content) -> list[NoteView]:
    """The notes with the evidence marked, those that hold some of it first."""
    found = [_view(note, content) for note in notes]
    return sorted(found, key=lambda view: not any(line.marks for line in view.lines))


def _view(note: Note, content: Content) -> NoteView:
    places = []
    for note_id, piece in content.evidence:
        start = note.text.find(piece) if note_id == note.note_id and piece else -1
        if start >= 0:
            places.append((start, start + len(piece)))
    lines, at = [], 0
    for line in note.text.split("\n"):
        end = at + len(line)
        marks = sorted((max(a, at) - at, min(b, end) - at) for a, b in places if a < end and b > at)
        lines.append(NoteLine(line, _apart(marks)))
        at = end + 1
    first = next((k for k, line in enumerate(lines) if line.marks), 0)
    when, kind = note.charttime, note.category
    return NoteView(note.note_id, note.patient_id, when, kind, tuple(lines), first)


def _apart(marks: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Marks that overlap as one."""
    out: list[tuple[int, int]] = []
    for start, end in marks:
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return tuple(out)
