"""A model behind a server as a reader of notes: numbered lines in, an answer with citations out.

An answer stands only if it cites lines that were shown and they bear it out (support.py).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import ClassVar

from ehrqa_cli.contracts.notes import FoundLine, NoteAnswer, NoteSpan
from ehrqa_cli.contracts.plugins import NoteReader
from ehrqa_openai import settings, stand_in
from ehrqa_openai.page import LONGEST, Page, page
from ehrqa_openai.plain import plain
from ehrqa_openai.server import Prompt, Server
from ehrqa_openai.support import ENOUGH, ENOUGH_OF_OPTION, borne

_LONGEST_QUESTION = 2000
_LONGEST_OPTION = 1000
_TOKENS = 512
_REPLY = "Reply with two lines, the first beginning with Answer: and the second with Lines:"
# "Answer: x", and what small models make of it: "**Answer**: x", "The answer is x".
_ANSWER = re.compile(
    r"^\W*(?:the )?answer(?:\W*?:| is\b:?)[ \t*_]*(.*)$", re.IGNORECASE | re.MULTILINE
)
_LINES = re.compile(
    r"^\W*(?:the )?(?:cited )?lines?(?:\W*?:| (?:is|are)\b:?)(.*)$", re.IGNORECASE | re.MULTILINE
)
_LETTER = re.compile(r"\W*([^\W_]+)")
_UNSAID = re.compile(r"\W*not (?:stated|mentioned|found|documented)\b", re.IGNORECASE)
_NOTHING = "the notes hold no line that bears on the question"
_NOT_STATED = "the notes do not say it, as far as the model can tell"
_UNCITED = "the model cites no line that it was shown"
_WITHDRAWN = "the lines that are cited do not say what the model said"
_NO_LETTER = "the model names none of the options"


@dataclass(frozen=True)
class Reply:
    """What the model wrote: an answer, and the numbers it cites."""

    answer: str
    cited: tuple[int, ...]


class OpenAiNoteReader(NoteReader):
    """The reader ``openai``. Its confidence is None: it has not been measured. Made without
    arguments: raises UsageError for wrong settings."""

    name: ClassVar[str] = "openai"

    def __init__(self, server: Server | None = None) -> None:
        self.server = server or Server(settings.Settings.load())

    @classmethod
    def for_check(cls) -> OpenAiNoteReader | None:
        """Itself over a stand-in, for the contract suite; None where a server is named."""
        server = stand_in.server()
        return cls(server) if server is not None else None

    def read(
        self,
        question: str,
        lines: Sequence[FoundLine],
        choices: Mapping[str, str] | None = None,
    ) -> NoteAnswer:
        self.server.switch.release()  # a cancel that came when nothing ran is forgotten
        shown = page(lines)
        if not shown.lines or not question.strip():
            return NoteAnswer(None, reason=_NOTHING)
        said = self.server.ask(prompt(question, shown, choices))
        return checked(read_reply(said.told), question, shown, choices)

    def cancel(self) -> None:
        self.server.cancel()

    def provenance(self) -> Mapping[str, str]:
        digest = hashlib.sha256(system().encode()).hexdigest()
        return {
            "reader": self.name,
            **self.server.provenance(),
            "prompt_sha256": digest,
            "temperature": "0",
        }


@cache
def system() -> str:
    """The rules, the same for every question."""
    return (files("ehrqa_openai") / "note_rules.txt").read_text(encoding="utf-8")


def prompt(question: str, shown: Page, choices: Mapping[str, str] | None) -> Prompt:
    """The lines, then the question with its options."""
    options = "".join(
        f"\n{plain(letter, 8)}. {plain(text, _LONGEST_OPTION)}"
        for letter, text in (choices or {}).items()
    )
    asked = f"Question: {plain(question, _LONGEST_QUESTION)}"
    listed = f"\nOptions:{options}" if options else ""
    return Prompt(system(), f"{shown.text}\n{asked}{listed}\n{_REPLY}", _TOKENS)


def read_reply(told: str) -> Reply:
    """The two lines of a reply. A small model leaves out the label of the answer: then it is what
    stands before its citations."""
    answer, lines = _ANSWER.search(told), _LINES.search(told)
    numbers = re.findall(r"\d+", lines[1]) if lines else []
    cited = tuple(dict.fromkeys(int(number[:9]) for number in numbers))
    before = told[: lines.start()].strip() if lines else ""
    return Reply((answer[1] if answer else before).strip().strip("*_ "), cited)


def checked(
    reply: Reply, question: str, shown: Page, choices: Mapping[str, str] | None
) -> NoteAnswer:
    """The answer with its citations, or none with the reason."""
    if not reply.answer or _UNSAID.match(reply.answer):
        return NoteAnswer(None, reason=_NOT_STATED)
    if not reply.cited or not set(reply.cited) <= set(shown.lines):
        return NoteAnswer(None, reason=_UNCITED)
    cited = [shown.lines[number] for number in reply.cited]
    texts = [each.line.text[:LONGEST] for each in cited]
    spans = tuple(_span(each) for each in cited)
    if not choices:
        if borne(reply.answer, question, texts, ENOUGH):
            return NoteAnswer(reply.answer, spans)
        return NoteAnswer(None, spans, reason=_WITHDRAWN)
    letter = _letter(reply.answer, choices)
    if letter is None:
        return NoteAnswer(None, spans, reason=_NO_LETTER)
    if not borne(choices[letter], question, texts, ENOUGH_OF_OPTION):
        return NoteAnswer(None, spans, reason=_WITHDRAWN)
    return NoteAnswer(choices[letter], spans, choice=letter)


def _letter(answer: str, choices: Mapping[str, str]) -> str | None:
    """The option that is named by its letter, or by all of its text."""
    by_text = {plain(text, _LONGEST_OPTION).casefold(): letter for letter, text in choices.items()}
    if found := by_text.get(answer.casefold()):
        return found
    first = _LETTER.match(answer)
    by_letter = {letter.casefold(): letter for letter in choices}
    return by_letter.get(first[1].casefold()) if first else None


def _span(found: FoundLine) -> NoteSpan:
    """A line as a citation: its own words in the note, at most LONGEST characters."""
    line = found.line
    end = min(line.end, line.start + LONGEST)
    return NoteSpan(
        line.note_id, line.start, end, line.text[: end - line.start], round(found.score, 4)
    )
