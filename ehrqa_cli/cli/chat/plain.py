"""``ehrqa chat --plain``: a conversation line by line, for screen readers, plain terminals, pipes.

Answers go to stdout, narration to stderr. The same as the screen can do, without colour and
without moving the cursor.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.chat import show as chat_show
from ehrqa_cli.cli.chat.line import Lines
from ehrqa_cli.cli.chat.slash import COMMANDS, Commands
from ehrqa_cli.cli.chat.worker import Job, Worker
from ehrqa_cli.cli.options import AnswerOptions, open_database, target_of
from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.engine.chat import ChatHistory, Completer, Conversation, Turn, history_of
from ehrqa_cli.notes.store import notes_path

Made = TypeVar("Made")

SLOW = 0.6  # seconds after which what is being done is told, where somebody watches
END = 0.2  # seconds that a cancelled question has to end before the prompt comes back
_PAST = 5  # conversations whose questions the up key reaches
_STEPS = {
    "link": "finding names and dates",
    "find_notes": "finding lines in the notes",
    "read_notes": "reading the notes",
    "write": "writing the query",
    "execute": "running the query",
    "ground": "finding the evidence",
    "compare_answers": "asking the larger model",
    "console": "looking for questions that can be answered",
}


def plain_chat(options: AnswerOptions) -> int:
    """Hold a conversation on stdin and stdout until it ends; the exit code, 0.

    Raises EhrqaError when it cannot begin.
    """
    if options.db.exists() or not notes_path(options.db).is_file():
        open_database(options.db).close()  # a wrong file is said before anything else
    session = options.session()
    history = history_of(options.log)
    conversation = Conversation(session, patient_id=options.patient, history=history)
    chat = PlainChat(conversation, history)
    try:
        return chat.run()
    finally:
        chat.close()


class PlainChat:
    """The loop: a line, its answer, the next line."""

    def __init__(self, conversation: Conversation, history: ChatHistory | None) -> None:
        self.conversation = conversation
        self.history = history
        self.worker = Worker()
        self.lines = Lines(self._complete)
        self.commands = Commands(self)
        self._completer: Completer | None = None
        self._job: Job[Any] | None = None  # what Ctrl-C ends
        self._step = ""
        self._cancelled = False
        self._gone = False

    def run(self) -> int:
        """Read and answer until the lines end or /quit; always 0."""
        with self._interrupts():
            if self.lines.typed:
                self._welcome()
            while True:
                try:
                    line = self.lines.read()
                    if line is None or not self._take(line):
                        return 0
                except KeyboardInterrupt:
                    output.line()  # nothing was running: a new prompt
                except EhrqaError as error:
                    diagnostics.error(error.message, error.hint)

    def close(self) -> None:
        """Close the session, if what runs ends soon."""
        self.conversation.cancel()
        session = self.conversation.session
        self.worker.put(session.close)
        self.worker.close(2.0)

    def do(self, work: Callable[[], Made]) -> Made:
        """Do ``work`` in the worker; Ctrl-C ends it. Raises Cancelled, and what it raises."""
        before, self._cancelled, self._step = self._job, False, ""
        if before is not None and not before.wait(0):
            diagnostics.note("the last one is still ending")
        job = self.worker.put(lambda: self._begun(work))
        self._job = job
        started, told = time.monotonic(), [""]

        def look() -> None:
            if self._cancelled:
                return
            if time.monotonic() - started > SLOW and self._step != told[0]:
                told[0] = self._step
                self._narrate(f"{self._step} ...")

        while not job.wait(END, look):
            if self._cancelled and not job.wait(END):
                raise Cancelled("cancelled; it ends behind the prompt", "")
        self._job = None
        return job.result()

    def ask(self, text: str) -> None:
        """Ask one question and show its answer."""
        self._look_for_database()
        turn = self.do(lambda: self.conversation.ask(text, self._on_event))
        self.show(turn)

    def run_neuralsql(self, text: str) -> None:
        """Run a query of the user's own and show its rows."""
        self._look_for_database()
        self.show(self.do(lambda: self.conversation.run_neuralsql(text, self._on_event)))

    def show(self, turn: Turn) -> None:
        """Write a turn's answer."""
        self.write(chat_show.turn_lines(turn))

    def write(self, lines: Iterator[str]) -> None:
        """Write lines of an answer."""
        for line in lines:
            output.line(line)

    def _take(self, line: str) -> bool:
        """One line of the user's; False when the conversation ends."""
        if not line:
            return True
        try:
            if line.startswith("/"):
                return self.commands.run(line)
            self.ask(line)
        except Cancelled as error:
            diagnostics.note(error.message or "cancelled")
        return True

    def _begun(self, work: Callable[[], Made]) -> Made:
        # The one before may have been ended when it had ended by itself; this one may have been
        # before it began.
        self.conversation.session.resume()
        if self._cancelled:
            raise Cancelled("cancelled", "")
        return work()

    def _on_event(self, name: str, what: Any) -> None:
        if name == "warning":
            diagnostics.warn(str(what))
        elif name in _STEPS:
            self._step = _STEPS[name]

    def _narrate(self, text: str) -> None:
        if sys.stderr.isatty():
            diagnostics.note(text)

    def _look_for_database(self) -> None:
        """A file that was deleted or moved can still be read where it is open: say so once."""
        db = self.conversation.session.db
        gone = db is not None and not db.exists() and not self.conversation.session.only_notes
        if gone and not self._gone:
            diagnostics.warn(f"{db} is gone: answers come from the file as it was opened")
        self._gone = gone

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Ctrl-C ends the question that runs, and nothing else."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread gets signals
            return
        before = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        job = self._job
        if job is None or job.wait(0):
            raise KeyboardInterrupt
        self._cancelled = True
        self.conversation.cancel()

    def _welcome(self) -> None:
        db = self.conversation.session.db
        named = target_of(db) if db else "no database"
        diagnostics.note(f"{named}: ask a question, or /help; Ctrl-D leaves")
        if self.conversation.patient_id is not None:
            diagnostics.note(f"the patient is {self.conversation.patient_id}")
        self.worker.put(self._warm)
        if self.history is not None:
            self.lines.remember(self._past(self.history))

    def _warm(self) -> None:
        self._step = "loading the models"
        session = self.conversation.session
        with suppress(EhrqaError):  # the first question says what is wrong
            self._completer = Completer.of(session)
            session.warm()

    def _past(self, history: ChatHistory) -> Iterator[str]:
        with suppress(EhrqaError):  # said when the first turn is to be kept
            for chat in reversed(history.chats(_PAST)):
                yield from (turn.typed for turn in history.turns(chat.chat_id))

    def _complete(self, line: str) -> list[str]:
        if line.startswith("/") and " " not in line:
            return [f"{name} " for name in COMMANDS if name.startswith(line)]
        if self._completer is None:
            return []
        return [found.apply(line) for found in self._completer.complete(line)]
