"""``ehrqa chat --plain``: a conversation line by line, for screen readers, plain terminals, pipes.

Answers go to stdout, narration to stderr. The same as the screen can do, without colour and
without moving the cursor.
"""

from __future__ import annotations

import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.answer_options import AnswerOptions
from ehrqa_cli.cli.chat import controller_of
from ehrqa_cli.cli.chat import show as chat_show
from ehrqa_cli.cli.chat.line import Lines
from ehrqa_cli.cli.options import target_of
from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.engine.chat import commands, events

SLOW = 0.6  # seconds after which what is being done is told, where somebody watches
END = 0.4  # seconds that a cancelled question has to end before the prompt comes back
_LOOK = 0.02  # seconds between two looks at the clock


def plain_chat(options: AnswerOptions) -> int:
    """Hold a conversation on stdin and stdout until it ends; the exit code, 0.

    Raises EhrqaError when it cannot begin.
    """
    chat = PlainChat(options)
    try:
        return chat.run()
    finally:
        chat.controller.close()


class PlainChat:
    """The loop: a line, what comes of it, the next line."""

    def __init__(self, options: AnswerOptions) -> None:
        self.options = options
        self._heard: queue.SimpleQueue[tuple[int, events.Event]] = queue.SimpleQueue()
        self._opened: events.Opened | None = None
        self.controller = controller_of(options, self._hear)
        self.lines = Lines(self._complete)
        self._awaited = 0  # what Ctrl-C ends
        self._cancelled = 0.0  # when it was pressed
        self._ending = 0  # what was cancelled and did not end at once
        self._ended = {0}
        self._left = False
        self._step = ""

    def run(self) -> int:
        """Read and answer until the lines end or /quit; always 0."""
        with self._interrupts():
            try:
                self._await(self.controller.open())
            except Cancelled:
                raise KeyboardInterrupt from None
            if self.lines.typed:
                self._welcome()
            while not self._left:
                try:
                    line = self.lines.read()
                    if line is None:
                        break
                    if line:
                        self._await(commands.take(self.controller, line))
                except KeyboardInterrupt:
                    output.line()  # nothing was running: a new prompt
                except Cancelled as error:
                    diagnostics.note(error.message)
                except EhrqaError as error:
                    diagnostics.error(error.message, error.hint)
        return 0

    def _hear(self, ticket: int, event: events.Event) -> None:
        """What the controller reports, in its thread: a completion must not wait for a line."""
        if isinstance(event, events.Opened):
            self._opened = event
        elif isinstance(event, events.Done):
            self._ended.add(ticket)
        self._heard.put((ticket, event))

    def _await(self, ticket: int) -> None:
        """Show what comes of a wish until it has ended. Raises what it ended with."""
        if self._ending not in self._ended:
            diagnostics.note("the last one is still ending")
        self._cancelled, self._step, told = 0.0, "", ""
        self._awaited, started = ticket, time.monotonic()
        try:
            while not isinstance(event := self._next(ticket), events.Done):
                now = time.monotonic()
                if event is not None:
                    self.show(event)
                elif self._cancelled and now - self._cancelled > END:
                    self._ending = ticket
                    raise Cancelled("cancelled; it ends behind the prompt", "")
                elif not self._cancelled and now - started > SLOW and self._step != told:
                    told = self._step
                    if sys.stderr.isatty():
                        diagnostics.note(f"{told} ...")
        finally:
            self._awaited = 0
        if event.error is not None:
            raise event.error

    def _next(self, ticket: int) -> events.Event | None:
        """What was reported next, if it is of this wish or tells what is made ready."""
        try:
            heard, event = self._heard.get(timeout=_LOOK)
        except queue.Empty:
            return None
        # Of the others one was cancelled, and of what cannot be made ready a question tells.
        wanted = heard in (0, ticket) or isinstance(event, events.Doing)
        return event if wanted else None

    def show(self, event: events.Event) -> None:
        """Write what an event says, if it says anything here."""
        match event:
            case events.Doing(what):
                self._step = what
            case events.Past(questions):
                self.lines.remember(questions)
            case events.Said(text, bad=True):
                diagnostics.warn(text)
            case events.Left():
                self._left = True
            case events.Resumed(turns=()):
                diagnostics.note("a new conversation")
            case events.EvidenceRead(evidence=found):
                for problem in found.problems:
                    diagnostics.error(problem.message, problem.hint)
            case events.PatientRead(problem=EhrqaError() as problem):
                diagnostics.error(problem.message, problem.hint)
        for line in chat_show.event_lines(event):
            output.line(line)

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Ctrl-C ends the wish that runs, and nothing else."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread gets signals
            return
        before = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._awaited:
            raise KeyboardInterrupt
        self._cancelled = self._cancelled or time.monotonic()
        self.controller.cancel(self._awaited)

    def _welcome(self) -> None:
        diagnostics.note(f"{target_of(self.options.db)}: ask a question, or /help; Ctrl-D leaves")
        if self.options.patient is not None:
            diagnostics.note(f"the patient is {self.options.patient}")
        self.controller.warm()

    def _complete(self, line: str) -> list[str]:
        if line.startswith("/") and " " not in line:
            return [f"{found.apply(line)} " for found in commands.completions(line)]
        found = self._opened.complete(line, None) if self._opened is not None else ()
        return [one.apply(line) for one in found]
