"""The question types of emrQA's kind, read from templates.toml."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("templates.toml")
_SLOT = re.compile(r"\|(\w+)\|")
NUMBER = "number"


@dataclass(frozen=True)
class Type:
    """One question type (section 4.2): its logical form and wordings with slots ``|name|``; the
    kinds of ``facts`` it is filled from; the roles that are the ``answer``; ``above``, the role
    whose number must exceed |number|; ``labels``: the answer is the class of the whole note."""

    title: str
    form: str
    wordings: tuple[str, ...]
    facts: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    above: str | None = None
    labels: bool = False

    @property
    def slots(self) -> tuple[str, ...]:
        """The roles that stand in the question, |number| not among them."""
        found = dict.fromkeys(_SLOT.findall(self.form))
        return tuple(name for name in found if name != NUMBER)

    @property
    def key(self) -> str:
        """What names the type in the card."""
        return f"{self.title}: {self.form}"


def filled(text: str, values: dict[str, str]) -> str:
    """``text`` with its slots filled; the first letter large where a slot began the sentence."""
    done = _SLOT.sub(lambda m: values[m[1]], text)
    return done[:1].upper() + done[1:] if text.startswith("|") else done


@cache
def types() -> tuple[Type, ...]:
    """All types in the order of the file."""
    raw = tomllib.loads(_FILE.read_text(encoding="utf-8"))["type"]
    return tuple(
        Type(
            one["title"],
            one["form"],
            tuple(one["wordings"]),
            tuple(one.get("facts", ())),
            tuple(one.get("answer", ())),
            one.get("above"),
            bool(one.get("labels")),
        )
        for one in raw
    )


def templates_sha256() -> str:
    """The SHA-256 of the file of types."""
    return hashlib.sha256(_FILE.read_bytes()).hexdigest()
