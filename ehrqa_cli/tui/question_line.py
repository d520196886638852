"""The line that takes a question: earlier questions, completion, and what may not be pasted."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from unicodedata import category

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input, Static

from ehrqa_cli.engine.chat.commands import completions
from ehrqa_cli.tui.show import one_line, text

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.complete import Completion

MOST = 2000  # characters of a question, as the engine has it
_SHOWN = 6


class Candidates(Static):
    """What the word before the cursor may become, in a list above the line."""

    items: tuple[Completion, ...] = ()
    at = 0

    @dataclass
    class Picked(Message):
        """A candidate was clicked."""

        completion: Completion

    @property
    def chosen(self) -> Completion | None:
        """The one that Tab takes."""
        return self.items[self.at] if self.items else None

    def offer(self, items: tuple[Completion, ...]) -> None:
        """Show these; none hides the list."""
        self.items, self.at = items[:_SHOWN], 0
        self.display = bool(items)
        self._draw()

    def move(self, by: int) -> None:
        """Choose the next one, or the one before."""
        self.at = (self.at + by) % len(self.items)
        self._draw()

    def on_click(self, event: events.Click) -> None:
        """Take the one under the mouse."""
        if 0 <= event.y < len(self.items):
            self.post_message(self.Picked(self.items[event.y]))

    def _draw(self) -> None:
        drawn = text("")
        for number, item in enumerate(self.items):
            chosen = number == self.at
            drawn.append("\n" if number else "")
            drawn.append("› " if chosen else "  ", "bold")
            drawn.append_text(text(one_line(item.text, 60), "reverse" if chosen else ""))
            drawn.append(f"  {item.kind}" + ("  Tab takes it" if chosen else ""), "dim")
        self.update(drawn)


class QuestionLine(Input):
    """One line; Enter sends it. ``complete`` is set when the database has been opened."""

    BINDING_GROUP_TITLE = "Question line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "earlier", "Question before this one", show=False, id="earlier"),
        Binding("down", "later", "Question after this one", show=False, id="later"),
        Binding("tab", "complete", "Take what is offered, or go on", show=False, id="take"),
        Binding("ctrl+c", "app.interrupt", "Copy, stop, or clear the line", show=False),
        Binding("ctrl+d", "delete_or_quit", "Delete; quit if empty", show=False, id="leave"),
    ]

    @dataclass
    class Refused(Message):
        """Something was not put in; ``pasted`` is kept until the next."""

        why: str
        pasted: str

    @dataclass
    class Digit(Message):
        """A digit was typed into the empty line."""

        number: int

    complete: Callable[[str, int | None], tuple[Completion, ...]] | None = None

    def __init__(self) -> None:
        super().__init__(
            placeholder="Ask about the EHR, for example: last creatinine of patient 10018081?",
            max_length=MOST,
            compact=True,
            select_on_focus=False,
            id="question",
        )
        self.offers = 0  # questions that the last answer offers, one digit each
        self._past: list[str] = []
        self._at = 0
        self._draft = ""
        self._recalled = ""

    @property
    def candidates(self) -> Candidates:
        """The list above the line."""
        return self.screen.query_one(Candidates)

    def remember(self, *questions: str) -> None:
        """Let the up key reach these; the last one first."""
        for question in questions:
            if question and self._past[-1:] != [question]:
                self._past.append(question)
        self._at, self._draft = len(self._past), ""

    def remember_before(self, questions: tuple[str, ...]) -> None:
        """Let the up key reach these too, before those of this chat."""
        since, self._past = self._past, []
        self.remember(*questions, *since)

    def put(self, line: str) -> None:
        """Put ``line`` in as it is, with no list over it."""
        self._recalled = line
        self.value = line
        self.cursor_position = len(line)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Offer completions of what was typed."""
        if self.value == self._recalled:
            self.candidates.offer(())
            return
        self._recalled = ""
        if self.value.startswith("/"):
            self.candidates.offer(completions(self.value))
        else:
            found = self.complete(self.value, self.cursor_position) if self.complete else ()
            self.candidates.offer(found)

    def on_key(self, event: events.Key) -> None:
        """In the empty line a digit asks one of the questions offered, and ? shows the keys."""
        if self.value or not event.character:
            return
        if event.character == "?":
            self.app.call_later(self.app.run_action, "help")
        elif event.character in "123456789"[: self.offers]:
            self.post_message(self.Digit(int(event.character)))
        else:
            return
        event.prevent_default()
        event.stop()

    def _on_paste(self, event: events.Paste) -> None:
        """Put the whole text in, on one line, or say why not: nothing is cut off in silence."""
        event.prevent_default()
        event.stop()
        line = re.sub(r"\s*[\r\n\t]\s*", " ", event.text.strip("\r\n\t"))
        bad = next((c for c in event.text if category(c) in ("Cc", "Cs") and c not in "\t\n\r"), "")
        longest = MOST - len(self.value) + len(self.selected_text)
        if bad:
            why = f"the pasted text has control characters (U+{ord(bad):04X})"
        elif len(line) > longest:
            why = f"the pasted text has {len(line):,} characters; a question has at most {MOST:,}"
        else:
            self.replace(line, *self.selection)
            return
        self.post_message(self.Refused(why, event.text))

    def action_earlier(self) -> None:
        """Up: the candidate above, or the question asked before."""
        if self.candidates.display:
            self.candidates.move(-1)
        elif self._at > 0:
            if self._at == len(self._past):
                self._draft = self.value
            self._at -= 1
            self.put(self._past[self._at])

    def action_later(self) -> None:
        """Down: the candidate below, or the question asked after; last, the line as it was."""
        if self.candidates.display:
            self.candidates.move(1)
        elif self._at < len(self._past):
            self._at += 1
            self.put(self._past[self._at] if self._at < len(self._past) else self._draft)

    def action_complete(self) -> None:
        """Tab: take the candidate, or go to the next pane."""
        if self.candidates.display and self.candidates.chosen is not None:
            self.take(self.candidates.chosen)
        else:
            self.screen.focus_next()

    def take(self, completion: Completion) -> None:
        """Put a completion in place of what it completes."""
        line = completion.apply(self.value)
        end = completion.start + len(completion.text)
        if end == len(line):
            line += " "
            end += 1
        self._recalled = line
        self.value = line
        self.cursor_position = end
        self.focus()

    def action_delete_or_quit(self) -> None:
        """Ctrl-D, as in a shell."""
        if self.value:
            self.action_delete_right()
        else:
            self.app.exit(0)
