"""What the screen consists of, and how it fits the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Footer, Static

from ehrqa_cli.cli.chat import controller_of
from ehrqa_cli.ehr.backend.servers import called
from ehrqa_cli.tui.evidence import EvidenceSide
from ehrqa_cli.tui.keys import APP_KEYS
from ehrqa_cli.tui.picture import with_pictures
from ehrqa_cli.tui.question_line import Candidates, QuestionLine
from ehrqa_cli.tui.top import Top
from ehrqa_cli.tui.transcript import Transcript
from ehrqa_cli.tui.turn_view import TurnView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ehrqa_cli.cli.answer_options import AnswerOptions
    from ehrqa_cli.engine.chat.controller import Controller
    from ehrqa_cli.engine.chat.events import Event

WIDE = 110  # columns from which transcript and evidence stand side by side
LEAST = (40, 10)  # columns and rows below which there is only room to say so


@dataclass
class Reported(Message):
    """What the controller reports."""

    ticket: int
    event: Event


class ChatScreen(App[int]):
    """`ehrqa chat`. Returns an exit code; `error` is what made it end before anything was asked."""

    CSS_PATH = "chat.tcss"
    TITLE = "ehrqa"
    BINDINGS: ClassVar[list[BindingType]] = list(APP_KEYS)
    ENABLE_COMMAND_PALETTE = True

    def __init__(
        self,
        options: AnswerOptions,
        *,
        theme: str | None = None,
        keys: Mapping[str, str] | None = None,
        controller: Controller | None = None,
    ) -> None:
        plain = "NO_COLOR" in os.environ
        super().__init__(ansi_color=True if plain else None)
        self.options = options
        self.error: BaseException | None = None
        self._theme_wanted = "ansi-dark" if plain else theme
        self._keys_wanted = keys or {}
        self.controller = controller or controller_of(options, self._hear)
        self._wished: set[int] = set()  # what the user wants and has not ended
        self._made_ready: tuple[int, int] = (0, 0)  # the tickets of opening and of warming up
        self._unanswered: dict[int, TurnView] = {}
        self._chosen: TurnView | None = None
        self._opening = "starting"
        self._pasted = ""

    def compose(self) -> ComposeResult:
        """Header, transcript and evidence, status, the question line, keys."""
        yield Top(called(self.options.db), self.options.patient)
        with Horizontal(id="body"):
            yield Transcript()
            yield EvidenceSide()
        yield Candidates("", markup=False, id="candidates")
        yield Static(markup=False, id="status")
        with Horizontal(id="line"):
            yield Static("› ", id="prompt")
            yield QuestionLine()
        yield Footer(compact=True)
        yield Static(markup=False, id="small")

    def on_mount(self) -> None:
        """Take questions at once; everything is opened behind."""
        if self._theme_wanted:
            self.theme = self._theme_wanted
        self.set_keymap(self._keys_wanted)
        self._watch_signals()
        self._fit(self.size.width, self.size.height)
        self.line.focus()
        self._status()
        self.call_after_refresh(self._open)

    def _open(self) -> None:
        opened = self.controller.open()
        if self.options.patient is not None:
            self.controller.read_patient()
        self._made_ready = opened, self.controller.warm()

    def _hear(self, ticket: int, event: Event) -> None:
        """What the controller reports, in its thread, where pictures are made small."""
        self.post_message(Reported(ticket, with_pictures(event)))

    @property
    def line(self) -> QuestionLine:
        """The question line."""
        return self.screen_stack[0].query_one(QuestionLine)

    @property
    def transcript(self) -> Transcript:
        """The conversation so far."""
        return self.screen_stack[0].query_one(Transcript)

    @property
    def evidence(self) -> EvidenceSide:
        """The evidence side."""
        return self.screen_stack[0].query_one(EvidenceSide)

    @property
    def top(self) -> Top:
        """The header."""
        return self.screen_stack[0].query_one(Top)

    def choose(self, view: TurnView | None) -> None:
        """Look at one answer: show what it rests on, and take what it offers."""
        for other in self.transcript.views:
            other.set_class(other is view, "-chosen")
        self._chosen = view
        turn = view.turn if view is not None else None
        self.line.offers = len(view.offers) if view is not None else 0
        self.evidence.show(turn)
        if view is not None and turn is not None:
            view.scroll_visible(animate=False)
            if turn.answer.evidence:
                self.controller.read_evidence(turn)

    def tell(self, what: str, *, bad: bool = False) -> None:
        """Say something in the transcript."""
        self.transcript.say(what, bad=bad)

    def _watch_signals(self) -> None:
        """Leave the terminal as it was when the chat is ended from outside."""
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP", "SIGINT"):
            number = getattr(signal, name, None)
            if number is not None and threading.current_thread() is threading.main_thread():
                with contextlib.suppress(NotImplementedError, RuntimeError):
                    loop.add_signal_handler(number, self.exit, 128 + number)

    def on_resize(self, event: events.Resize) -> None:
        """Two sides, one side, or no room."""
        self._fit(event.size.width, event.size.height)

    def _fit(self, width: int, height: int) -> None:
        base = self.screen_stack[0]
        base.set_class(width < WIDE, "-narrow")
        small = width < LEAST[0] or height < LEAST[1]
        base.set_class(small, "-small")
        said = f"{width}x{height} is too small: make it {LEAST[0]}x{LEAST[1]}."
        base.query_one("#small", Static).update(said if small else "")

    def _status(self) -> None:
        running = [view for view in self._unanswered.values() if view.state != "waiting"]
        waiting = len(self._unanswered) - len(running)
        if running:
            said = f"{running[0].status}" + (
                "" if running[0].state == "ending" else "  (Esc ends it)"
            )
        elif self._opening:
            said = f"{self._opening} ... you can type already"
        else:
            said = "ready"
            if self._chosen is not None and self.screen_stack[0].has_class("-narrow"):
                said += "  (F2 shows what the answer rests on)"
        more = f"  {waiting} waiting" if waiting else ""
        self.screen_stack[0].query_one("#status", Static).update(said + more)

    def _fatal_error(self) -> None:
        """A fault of ours: leave the terminal as it was, and let the caller say it in one line.

        Textual would print the values of local variables, and those are patients' data.
        """
        self.error = self._exception
        self._close_messages_no_wait()
