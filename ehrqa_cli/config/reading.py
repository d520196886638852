"""What a settings file says, with the line of each value and everything that is wrong in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ehrqa_cli.config.document import Document, Keys
from ehrqa_cli.config.fields import CHAT, FIELDS, PROFILE, PROFILES, Field, from_toml, kind_of
from ehrqa_cli.contracts.errors import UsageError

LAYERS = "default", "file", "profile", "variable", "flag"  # each wins over those before it
DEFAULT, FILE, IN_PROFILE, VARIABLE, FLAG = LAYERS
_PLAIN = {of.name: of for of in FIELDS if not of.table}
_OF_CHAT = {of.name: of for of in FIELDS if of.table == (CHAT,)}


@dataclass(frozen=True)
class Found:
    """A value, which layer it is of, and its place: ``FILE:LINE``, a variable or a flag."""

    value: Any
    layer: str = DEFAULT
    where: str = ""


@dataclass(frozen=True)
class Problem:
    """What is wrong at one place (``FILE:LINE`` or a variable), and the next step."""

    where: str
    message: str
    hint: str

    def error(self) -> UsageError:
        """The same as an error."""
        return UsageError(
            f"{self.where}: {self.message}" if self.where else self.message, self.hint
        )


@dataclass(frozen=True)
class Written:
    """What a settings file says: outside profiles (under None) and in each."""

    document: Document | None = None
    tables: Mapping[str | None, Mapping[str, Found]] = field(default_factory=lambda: {None: {}})
    problems: tuple[Problem, ...] = ()

    @property
    def profiles(self) -> list[str]:
        """The names of its profiles, in the order of the file."""
        return [name for name in self.tables if name is not None]


def read_tables(document: Document) -> Written:
    """Every value of a document; what is wrong is left out and told in ``problems``."""
    reader = _Reader(document)
    tables = dict(reader.tables())
    return Written(document, tables, tuple(reader.problems))


def near(name: str, known: list[str]) -> str:
    """A hint: the name that was meant, or those there are."""
    from difflib import get_close_matches

    found = get_close_matches(name, known, n=1)
    if found:
        return f"did you mean '{found[0]}'?"
    return f"known: {', '.join(known)}" if known else ""


class _Reader:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def tables(self) -> Iterator[tuple[str | None, dict[str, Found]]]:
        """Outside profiles (under None), then each profile."""
        data = dict(self.document.data)
        profiles = self._table(data.pop(PROFILES, {}), (PROFILES,))
        outside = dict(self._profile(data.pop(PROFILE, None)))
        yield None, outside | self._fields(data, (), (PROFILE, PROFILES))
        for name, table in profiles.items():
            keys = (PROFILES, name)
            yield name, self._fields(self._table(table, keys), keys)

    def _profile(self, chosen: Any) -> Iterator[tuple[str, Found]]:
        if isinstance(chosen, str):
            yield PROFILE, Found(chosen, FILE, self._where((PROFILE,)))
        elif chosen is not None:
            message = f"{PROFILE} must be text, not {kind_of(chosen)}"
            self._wrong((PROFILE,), message, 'write profile = "..."')

    def _fields(self, data: Mapping[str, Any], at: Keys, more: Keys = ()) -> dict[str, Found]:
        data = dict(data)
        chat = self._table(data.pop(CHAT, {}), (*at, CHAT))
        out = dict(self._values(data, _PLAIN, at, [*_PLAIN, CHAT, *more]))
        return out | dict(self._values(chat, _OF_CHAT, (*at, CHAT), [*_OF_CHAT]))

    def _values(
        self, data: Mapping[str, Any], fields: Mapping[str, Field], at: Keys, known: list[str]
    ) -> Iterator[tuple[str, Found]]:
        layer = IN_PROFILE if at[:1] == (PROFILES,) else FILE
        for name, value in data.items():
            keys = (*at, name)
            if name not in fields:
                self._wrong(keys, f"unknown setting '{'.'.join(keys)}'", near(name, known))
                continue
            try:
                read = from_toml(fields[name], value, self.document.path.parent)
            except UsageError as error:
                self._wrong(keys, error.message, error.hint)
            else:
                yield name, Found(read, layer, self._where(keys))

    def _table(self, value: Any, keys: Keys) -> Mapping[str, Any]:
        if isinstance(value, dict):
            return value
        name = ".".join(keys)
        message = f"{name} must be a table, not {kind_of(value)}"
        self._wrong(keys, message, f"write [{name}] on a line of its own")
        return {}

    def _where(self, keys: Keys) -> str:
        return f"{self.document.path}:{self.document.line(keys)}"

    def _wrong(self, keys: Keys, message: str, hint: str) -> None:
        self.problems.append(Problem(self._where(keys), message, hint))
