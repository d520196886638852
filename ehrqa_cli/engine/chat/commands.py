"""What can be typed into a chat besides questions: lines that begin with a slash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.engine.chat.complete import Completion
from ehrqa_cli.engine.chat.events import HelpWanted, Left

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.controller import Controller


@dataclass(frozen=True)
class Command:
    """What a command takes and does, in words, and the wish that it is; ``do`` gets what was
    typed after its name and raises UsageError for what it does not take."""

    takes: str
    told: str
    do: Callable[[Controller, str], int]


def take(chat: Controller, line: str) -> int:
    """Ask ``line``, or do what it says if it begins with a slash; the ticket. Raises UsageError."""
    if not line.startswith("/"):
        return chat.ask(line)
    name, _, rest = line.partition(" ")
    name = name.lower()
    command = COMMANDS.get(_SHORT.get(name, name))
    if command is None:
        near = get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean {near[0]}?" if near else "see /help"
        raise UsageError(f"there is no command {name[:40]}", hint)
    return command.do(chat, rest.strip())


def explained() -> list[tuple[str, str]]:
    """(how it is typed, what it does) of each command."""
    return [(f"{name} {what.takes}".strip(), what.told) for name, what in COMMANDS.items()]


def completions(line: str) -> tuple[Completion, ...]:
    """The commands that begin so."""
    return tuple(
        Completion(name, what.told, 0, len(line))
        for name, what in COMMANDS.items()
        if name.startswith(line) and name != line
    )


def _patient(chat: Controller, rest: str) -> int:
    if not rest:
        return chat.read_patient()
    return chat.set_patient(None if rest.lower() == "none" else _number(rest, "a patient's id"))


def _look(part: str) -> Callable[[Controller, str], int]:
    return lambda chat, rest: chat.look(
        part, _number(rest, "a question's number") if rest else None
    )


def _image(chat: Controller, rest: str) -> int:
    return chat.look_at_study(_number(rest, "a study's id")) if rest else chat.look("image")


def _suggest(chat: Controller, rest: str) -> int:
    return chat.suggest(_number(rest or "1", "a suggestion's number"))


def _run(chat: Controller, rest: str) -> int:
    return chat.ask(rest, edited=True) if rest else chat.run_reading()


def _export(chat: Controller, rest: str) -> int:
    if not rest:
        raise UsageError("no file was named", "write /export chat.md, chat.html or chat.json")
    return chat.export(Path(rest))


def _resume(chat: Controller, rest: str) -> int:
    return chat.resume(_number(rest, _KEPT))


def _forget(chat: Controller, rest: str) -> int:
    return chat.forget(_number(rest, _KEPT))


def _number(text: str, what: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise UsageError(f"'{text[:40]}' is not {what}", "write a number")
    return int(text)


_rows, _query, _note = map(_look, ("rows", "query", "note"))
_KEPT = "a conversation's number (see /history)"
_SHORT = {"/exit": "/quit", "/q": "/quit"}
# In the order of /help.
COMMANDS: dict[str, Command] = {
    "/patient": Command("[ID|none]", "show the patient, or say whom questions are about", _patient),
    "/asof": Command("[TIME|none]", "what now is taken to be", lambda c, rest: c.now(rest)),
    "/evidence": Command("[N]", "the rows, notes and findings that answer N rests on", _rows),
    "/sql": Command("[N]", "how question N was read, and its queries", _query),
    "/note": Command("[N]", "the notes that answer N cites, whole, cited lines marked", _note),
    "/image": Command("[STUDY]", "what the image of a study shows", _image),
    "/suggest": Command("NUMBER", "ask a question that was offered", _suggest),
    "/run": Command("[NEURALSQL]", "run the withheld reading, or a query of your own", _run),
    "/teach": Command("", "keep the reading of an unverified answer", lambda c, _: c.teach()),
    "/export": Command("FILE", "write the conversation to FILE.md, .html or .json", _export),
    "/history": Command("", "the conversations that were kept", lambda c, _: c.search()),
    "/search": Command("WORDS", "search in them", lambda c, rest: c.search(rest)),
    "/resume": Command("NUMBER", "go on with one of them", _resume),
    "/forget": Command("NUMBER", "delete one of them", _forget),
    "/new": Command("", "begin a new conversation", lambda c, _: c.new()),
    "/help": Command("", "these commands", lambda c, _: c.say(HelpWanted())),
    "/quit": Command("", "leave, as Ctrl-D does", lambda c, _: c.say(Left())),
}  # fmt: skip
