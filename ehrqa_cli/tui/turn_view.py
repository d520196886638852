"""One question in the transcript: what is happening, then what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from ehrqa_cli.cli.render import doubt_line, readings
from ehrqa_cli.contracts.types import Status
from ehrqa_cli.tui.show import one_line, summary_line, text

if TYPE_CHECKING:
    from ehrqa_cli.contracts.errors import EhrqaError
    from ehrqa_cli.engine.chat.values import Rewrite, Turn

_FRAME = 0.05  # seconds between two drawings of what the model writes
_WRITTEN = 300  # characters shown of what the model is writing
_LABELS = {
    Status.ANSWERED: ("● ", "answered"),
    Status.TENTATIVE: ("◐ ", "tentative"),
    Status.ABSTAINED: ("○ ", "abstained"),
    Status.FAILED: ("✗ Failed: ", "failed"),
}
STATES = ("waiting", "running", "ending", *(name for _, name in _LABELS.values()), "ended")


class TurnView(Static):
    """A question from the moment it was sent."""

    @dataclass
    class Chosen(Message):
        """The user wants to see what this answer rests on."""

        view: TurnView

    @dataclass
    class Offered(Message):
        """The user clicked on a question that the answer offers."""

        question: str

    def __init__(self, typed: str, *, edited: bool = False) -> None:
        super().__init__(markup=False, classes="turn -waiting")
        self.typed, self.edited = typed, edited
        self.turn: Turn | None = None
        self.state = "waiting"
        self._step = "waiting"
        self._asked = typed
        self._carried: tuple[str, ...] = ()
        self._written = ""
        self._fault: EhrqaError | None = None
        self._frames: Timer | None = None
        self._stale = True

    def on_mount(self) -> None:
        """Draw, and again whenever something has happened since the last frame."""
        self._draw()
        if self.turn is None:
            self._frames = self.set_interval(_FRAME, self._frame)

    def asked(self, rewrite: Rewrite) -> None:
        """What is really asked."""
        self._asked, self._carried = rewrite.asked or self.typed, rewrite.carried
        self._begun()

    def doing(self, what: str) -> None:
        """The step that it has come to, in words."""
        self._step, self._written = what, ""
        self._begun()

    def wrote(self, text: str) -> None:
        """What a model has written since."""
        self._written += text
        self._begun()

    def _begun(self) -> None:
        if self.state == "waiting":
            self._become("running")
        self._stale = True

    def ending(self) -> None:
        """The user wants no answer any more; what runs below may take a moment to end."""
        if self.turn is None:
            self._become("ending")
            self._draw()

    def answered(self, turn: Turn) -> None:
        """Its answer is here."""
        self.turn = turn
        self._asked, self._carried = turn.asked, turn.carried
        self._finish(_LABELS[turn.answer.status][1])

    def ended(self, error: EhrqaError | None) -> None:
        """It has no answer: the user ended it, or it could not be asked."""
        self._fault = error
        self._finish("failed" if error else "ended")

    @property
    def offers(self) -> tuple[str, ...]:
        """The questions that an abstention offers."""
        return self.turn.answer.suggestions[:9] if self.turn else ()

    @property
    def status(self) -> str:
        """What is happening, in words."""
        return "ending ..." if self.state == "ending" else self._step

    def on_click(self, event: events.Click) -> None:
        """A click on an offer asks it; elsewhere it shows the evidence."""
        offer = event.style.meta.get("offer") if event.style else None
        if isinstance(offer, int) and offer < len(self.offers):
            self.post_message(self.Offered(self.offers[offer]))
        elif self.turn is not None:
            self.post_message(self.Chosen(self))

    def _frame(self) -> None:
        if self._stale and self.state not in ("ending",):
            self._draw()

    def _finish(self, state: str) -> None:
        if self._frames is not None:
            self._frames.stop()
        self._become(state)
        if self.is_mounted:
            self._draw()

    def _become(self, state: str) -> None:
        self.state = state
        for name in STATES:
            self.set_class(name == state, f"-{name}")

    def _draw(self) -> None:
        self._stale = False
        drawn = text(self.typed, "bold" if not self.edited else "")
        if self.edited:
            drawn = text("Query run: ", "bold").append_text(text(one_line(self.typed, 400)))
        if self._asked != self.typed and not self.edited:
            drawn.append("\nread as: ", "dim").append_text(text(self._asked, "italic"))
        if self._carried:
            drawn.append_text(text(f"\ncarried over: {', '.join(self._carried)}", "dim"))
        drawn.append("\n").append_text(self._outcome())
        self.update(drawn)

    def _key(self, name: str) -> str:
        """The key of an action, as the user has it."""
        bindings = (active.binding for active in self.app.active_bindings.values())
        key = next((binding for binding in bindings if binding.id == name), None)
        return self.app.get_key_display(key).upper() if key is not None else ""

    def _outcome(self) -> Text:
        if self.turn is not None:
            return answer_text(self.turn, self._key("run_reading"), self._key("teach"))
        if self._fault is not None:
            return (
                text("✗ Failed: ", "bold")
                .append_text(text(f"{self._fault.message}\n"))
                .append_text(text(self._fault.hint, "dim"))
            )
        if self.state == "ended":
            return text("Ended by you.", "dim")
        written = self._written[-_WRITTEN:]
        return text(self.status, "dim").append_text(text(f"  {written}" if written else ""))


def answer_text(turn: Turn, run_key: str = "", teach_key: str = "") -> Text:
    """An answer as the transcript shows it; the keys run a withheld reading and keep it."""
    answer = turn.answer
    label, _ = _LABELS[answer.status]
    drawn = Text(label, style="bold")
    if answer.status is Status.FAILED:
        fault = answer.error or {}
        drawn.append_text(text(fault.get("message") or answer.text))
        if fault.get("hint"):
            drawn.append_text(text(f"\n{fault['hint']}", "dim"))
        return drawn
    drawn.append_text(text(answer.text or "(nothing)"))
    run_by, teach_by = (
        " or ".join(filter(None, x)) for x in ((run_key, "/run"), (teach_key, "/teach"))
    )
    if doubt := doubt_line(answer, run_by, teach_by):
        drawn.append_text(text(f"\n{doubt}", "dim"))
    for reading, given in readings(answer):
        drawn.append_text(text(f"\nunverified: {reading}: {given}", "dim"))
    if answer.suggestions:
        drawn.append("\nOne key asks:", "dim")
    for number, question in enumerate(answer.suggestions[:9]):
        line = text(f"\n  {number + 1}  ", "bold").append_text(text(question))
        line.apply_meta({"offer": number})
        drawn.append_text(line)
    if under := summary_line(turn):
        drawn.append_text(text(f"\n{under}", "dim"))
    return drawn
