"""The computer's clock, out of a query's reach: what SQLite would read as now is a given time.

SQLite looks for 'now' (and 'subsec') in the time of a date function while the query runs, whatever
made that text, so no look at the statement alone finds it. Each time that is not a literal is
therefore tested on its way: whether it comes before 'N', as the digits of every time do (some 30 ns
a row), and if not, or if it is long, by a function of ours. The computer's time zone is refused.

The statement is cut into words exactly as SQLite does (its source, tokenize.c), because a word that
only one of the two sees would be a way round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.dialects.times import fixed, zoneless
from ehrqa_cli.sqltext import quote

# Where the times stand in each function's arguments; what follows them are modifiers.
TIMES = {
    "date": (0,),
    "time": (0,),
    "datetime": (0,),
    "julianday": (0,),
    "unixepoch": (0,),
    "strftime": (1,),
    "timediff": (0, 1),
}
MOMENT, MODIFIER = "ehrqa_moment", "ehrqa_modifier"
FUNCTIONS = frozenset({MOMENT, MODIFIER})
_ANY_CALL = re.compile(rf"\b(?:{'|'.join(TIMES)})\b", re.I)
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\n\x0b\f\r\ufeff]+|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<text>'[^']*(?:''[^']*)*')
    |(?P<blob>[xX]'[^']*')
    |(?P<quoted>"[^"]*(?:""[^"]*)*"|`[^`]*(?:``[^`]*)*`|\[[^\]]*\])
    |(?P<word>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*)
    |(?P<number>0[xX][0-9A-Fa-f]+
        |(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9][0-9_]*)?)
    |(?P<sign>.)""",
    re.X | re.S,
)
_NUMBERS = re.compile("(?:sign )?number")
_CHEAP = 100  # characters of a value that may be worked out twice, and what it must not hold
_DEAR = frozenset({*TIMES, "select", "over"})
_FORMAT = re.compile("'%[A-Za-z]")  # what it makes begins with a digit, or with am or pm


@dataclass(frozen=True)
class Timed:
    """A statement whose clock is bound, and what its calls were called before: (new, old)."""

    sql: str
    names: tuple[tuple[str, str], ...] = ()

    def columns(self, found: tuple[str, ...]) -> tuple[str, ...]:
        """The names of a result's columns, as the statement's writer knows them."""
        for new, old in self.names:
            found = tuple(name.replace(new, old) for name in found)
        return found


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """What a word or a quoted name stands for, in lower case."""
        if self.kind == "quoted":
            return self.text[1:-1].replace(self.text[0] * 2, self.text[0]).lower()
        return self.text.lower() if self.kind == "word" else ""


@dataclass
class _Call:
    """An open bracket: the function it belongs to (or ""), where that stands, the arguments that
    are over (first token, one after the last), and where the next one begins."""

    function: str
    at: int
    begins: int
    arguments: list[tuple[int, int]] = field(default_factory=list)


@lru_cache(maxsize=64)
def is_plain(sql: str) -> bool:
    """Are the times in ``sql`` all literals and columns, none of them the clock's?"""
    if not _ANY_CALL.search(sql):
        return True
    binder = _Binder(sql, None)
    try:
        binder.timed()
    except Refused:
        return False
    return not binder.computed


@lru_cache(maxsize=256)
def timed(sql: str, now: str | None) -> Timed:
    """``sql`` with every time that could be the clock's under test, ``now`` (YYYY-MM-DD HH:MM:SS)
    in the place of those that are. Raises Refused for the clock where there is no ``now``, and
    for the time zone."""
    if not _ANY_CALL.search(sql):
        return Timed(sql)
    return _Binder(sql, now).timed()


class _Binder:
    """One statement on its way to a Timed."""

    def __init__(self, sql: str, now: str | None) -> None:
        self.sql = sql
        self.now = now
        self.tokens = list(_tokens(sql))
        self.closing: dict[int, int] = {}  # the bracket that closes the one at an index
        self.edits: list[tuple[int, int, str]] = []
        self.computed = False  # is some time or modifier neither a literal nor a column?
        self.calls: list[tuple[int, int]] = []  # of date functions, outermost: bounds in the text

    def timed(self) -> Timed:
        stack: list[_Call] = []
        inside = 0  # how many of the open brackets are date functions'
        for i, token in enumerate(self.tokens):
            if token.text == "(":
                before = self.tokens[i - 1] if i else token
                function = before.name if before.name in TIMES else ""
                inside += bool(function)
                stack.append(_Call(function, i, i + 1))
            elif token.text == "," and stack:
                stack[-1].arguments.append((stack[-1].begins, i))
                stack[-1].begins = i + 1
            elif token.text == ")" and stack:
                call = stack.pop()
                self.closing[call.at] = i
                if call.function:
                    inside -= 1
                    if call.begins < i or call.arguments:
                        call.arguments.append((call.begins, i))
                    self._call(call, i)
                    if not inside:
                        self.calls.append((self.tokens[call.at - 1].start, token.end))
        if not self.edits:
            return Timed(self.sql)
        return self._written()

    def _written(self) -> Timed:
        self.edits.sort()
        names: list[tuple[str, str]] = []
        for start, end in self.calls:
            within = [e for e in self.edits if start < e[0] < end]
            if within:
                names.append((self._apply(start, end, within), self.sql[start:end]))
        names.sort(key=lambda pair: -len(pair[0]))
        sql = self._apply(0, len(self.sql), self.edits)
        return Timed(sql, tuple(dict.fromkeys(names)))

    def _apply(self, start: int, end: int, edits: list[tuple[int, int, str]]) -> str:
        pieces: list[str] = []
        for first, after, text in edits:
            pieces += [self.sql[start:first], text]
            start = after
        return "".join([*pieces, self.sql[start:end]])

    def _call(self, call: _Call, close: int) -> None:
        """Note the edits of one call."""
        places = TIMES[call.function]
        if call.function != "timediff" and len(call.arguments) == places[0]:
            at = self.tokens[close].start  # without a time SQLite takes the clock's
            comma = "," if call.arguments else ""
            self.edits.append((at, at, comma + quote(str(fixed("now", self.now)))))
        for number, span in enumerate(call.arguments):
            if number in places:
                self._time(span)
            elif number > places[-1]:
                self._modifier(span)

    def _time(self, span: tuple[int, int]) -> None:
        found = self.tokens[slice(*span)]
        shape = " ".join(token.kind for token in found)
        if _NUMBERS.fullmatch(shape) or self._is_fixed(span):
            return
        if shape == "text":
            given = found[0].text[1:-1]
            if (kept := fixed(given, self.now)) != given:
                self.edits.append((found[0].start, found[0].end, quote(str(kept))))
        elif found:
            self._through(MOMENT, "N", found)

    def _modifier(self, span: tuple[int, int]) -> None:
        found = self.tokens[slice(*span)]
        if [token.kind for token in found] == ["text"]:
            zoneless(found[0].text[1:-1])
        elif found:
            self._through(MODIFIER, "L", found)

    def _through(self, function: str, letter: str, found: list[_Token]) -> None:
        """Send a value through ``function``, a cheap one only if it may need it: what begins with
        a digit or a sign comes before ``letter``."""
        kinds = {token.kind for token in found if token.text != "."}
        self.computed = self.computed or not kinds <= {"word", "quoted"}
        start, end = found[0].start, found[-1].end
        value = self.sql[start:end]
        if end - start <= _CHEAP and not any(token.name in _DEAR for token in found):
            test = f"CASE WHEN ({value}) >= '{letter}' THEN {function}({value}) ELSE ({value}) END"
            self.edits.append((start, end, test))
        else:
            self.edits += [(start, start, f"{function}("), (end, end, ")")]

    def _is_fixed(self, span: tuple[int, int]) -> bool:
        """Is it the call of a date function whose result is never the word now?"""
        first, after = span
        if after - first < 3 or self.closing.get(first + 1) != after - 1:
            return False
        name = self.tokens[first].name
        if name == "strftime":
            form, comma = self.tokens[first + 2 : first + 4]
            return comma.text == "," and bool(_FORMAT.match(form.text))
        return name in TIMES


def _tokens(sql: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(sql):
        kind = found.lastgroup or ""
        if kind != "blank":
            yield _Token(kind, found[0], found.start(), found.end())
