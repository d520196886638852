"""SQLite's date and time functions (its documentation, "Date And Time Functions").

What is constant is worked out here, by SQLite itself, so that the database sees a literal. The
rest becomes the target's own arithmetic on timestamps.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache

from ehrqa_cli.contracts.dialect import TIME_FORMAT, Dialect, SqlKind
from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.dialects.kinds import TEXTS, Typed

NAMES = frozenset({"date", "time", "datetime", "julianday", "strftime", "unixepoch"})
ISO = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_SHIFT = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*(year|month|day|hour|minute|second)s?", re.I)
_START = re.compile(r"start\s+of\s+(year|month|day)", re.I)
_DIGITS = re.compile(r"%[YmdHMSjwWs]")
_KNOWN = re.compile(r"(%[YmdHMSfjwWs%]|[^%])*", re.S)
_SECONDS = {"day": 86_400, "hour": 3600, "minute": 60, "second": 1}
# The formats that are the beginning of a time, and its smallest unit: a range can stand for them.
_BEGINNINGS = {"%Y": "year", "%Y-%m": "month", "%Y-%m-%d": "day"}

_CLOCK = frozenset({"now", "subsec", "subsecond"})
_ZONES = frozenset({"localtime", "utc"})
_CHEAP = 100  # characters of a value that may be worked out twice
_RESTS = {"year": "-01-01", "month": "-01", "day": ""}
_AT = {unit: f"start of {unit}" for unit in _RESTS}


def call(name: str, args: Sequence[Typed], target: Dialect) -> Typed:
    """A call of one of NAMES. Raises Refused for what has no equal in the target."""
    form, rest = _form(name, args)
    if not rest:  # SQLite takes the clock's
        rest = [Typed("", SqlKind.TEXT, literal="now")]
        args = [*args, *rest]
    if all(arg.literal is not None for arg in args):
        return _constant(name, [arg.literal for arg in args], len(args) - len(rest), target)
    time = moment(rest[0], target)
    first_day = False
    for modifier in rest[1:]:
        time, first_day = _modified(time, first_day, modifier, target)
    if name == "datetime":
        start = _START.fullmatch(str(rest[1].literal)) if len(rest) == 2 else None
        within = (moment(rest[0], target), start[1].lower()) if start else None
        return Typed(time, SqlKind.TIMESTAMP, prefix=within)
    if name == "julianday" or form == "%J":
        if form == "%J":
            written = target.julian_written(time)
            return Typed(written, SqlKind.JULIAN, instant=target.milliseconds(time))
        return Typed(target.julian(time), SqlKind.REAL)
    if name == "unixepoch":
        return Typed(target.epoch(time), SqlKind.INTEGER)
    if not _KNOWN.fullmatch(form):
        raise Refused(f"the time format '{form}' is not known", "use %Y, %m, %d, %H, %M, %S or %j")
    kind = SqlKind.DIGITS if _DIGITS.fullmatch(form) else SqlKind.TEXT
    if form == "%s":
        return Typed(target.cast(target.epoch(time), target.text_type), kind)
    unit = _BEGINNINGS.get(form)
    return Typed(target.formatted(time, form), kind, prefix=(time, unit) if unit else None)


def moment(value: Typed, target: Dialect) -> str:
    """A value as a timestamp in the target."""
    if value.kind == SqlKind.TIMESTAMP:
        return value.sql
    if isinstance(value.literal, str):
        return target.timestamp(target.text(str(fixed(value.literal, target.now))))
    if value.kind in TEXTS and target.now is not None:
        return target.timestamp(_no_clock(value.sql, target))
    if value.kind in TEXTS or value.kind in (SqlKind.NULL, SqlKind.ANY):
        return target.timestamp(value.sql)
    raise Refused("a number stands where a time should", "give times as text or columns of times")


def fixed(value: object, now: str | None) -> object:
    """A time as a date function takes it, ``now`` where SQLite would read the computer's clock.
    Raises Refused for that without a ``now``."""
    if _word(value) not in _CLOCK:
        return value
    if now is None:
        hint = "write the time as a literal, 'YYYY-MM-DD HH:MM:SS', or give --as-of"
        raise Refused("now (the computer's clock) is not allowed", hint)
    return now


def zoneless(value: object) -> object:
    """A modifier of a time. Raises Refused for one that means the computer's time zone."""
    word = _word(value)
    if word in _ZONES:
        raise Refused(f"{word} (this computer's time zone) is not allowed", "leave it out")
    return value


def _word(value: object) -> str:
    """A value as SQLite's date functions read it: up to the first NUL."""
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    return value.split("\x00", 1)[0].lower() if isinstance(value, str) else ""


def _no_clock(text: str, target: Dialect) -> str:
    """A text of which nobody knows yet whether it is the word now."""
    pattern, now = target.text("(?i)^now$"), target.text(str(target.now))
    test = f"REGEXP_REPLACE({text}, {pattern}, {now})"
    if len(text) > _CHEAP:
        return test
    return f"CASE WHEN {text} >= 'N' THEN {test} ELSE {text} END"


def span_of(prefix: tuple[str, str], text: str, target: Dialect) -> tuple[str, str] | None:
    """The first moment that a beginning such as '2100-12' names, and the first after it; of a
    whole time, where it is such a first moment."""
    unit = prefix[1]
    whole = ISO.fullmatch(text) is not None  # what is compared is the start itself, a time
    start = text if whole else text + _RESTS[unit] + " 00:00:00"
    if not ISO.fullmatch(start) or (whole and _evaluate("datetime", (text, _AT[unit])) != text):
        return None
    first, after = _evaluate("datetime", (start,)), _evaluate("datetime", (start, f"+1 {unit}"))
    if first != start or not isinstance(after, str):
        return None
    return target.timestamp_literal(start), target.timestamp_literal(after)


def _form(name: str, args: Sequence[Typed]) -> tuple[str, Sequence[Typed]]:
    if name == "strftime":
        form = args[0].literal if args else None
        if not isinstance(form, str):
            raise Refused("the format of strftime is not a literal", "write it out")
        return form, args[1:]
    return {"date": "%Y-%m-%d", "time": "%H:%M:%S"}.get(name, TIME_FORMAT), args


def _modified(time: str, first_day: bool, modifier: Typed, target: Dialect) -> tuple[str, bool]:
    """A time changed by one modifier, and whether it is the first day of a month for sure."""
    text = str(modifier.literal or "").strip()
    if found := _START.fullmatch(text):
        unit = found[1].lower()
        return target.cut(time, unit), unit != "day" or first_day
    found = _SHIFT.fullmatch(text)
    if found is None:
        raise Refused(
            f"the time modifier '{text or modifier.sql}' is not known here",
            "use 'start of month' and the like, or a number of years, months, days or hours",
        )
    amount, unit = float(found[1]), found[2].lower()
    if unit in ("year", "month"):
        months = amount * (12 if unit == "year" else 1)
        if months != int(months):
            raise Refused(f"'{text}' is not a whole number of months", "give it in days")
        return target.months_later(time, int(months), first_day), first_day
    return target.shifted(time, amount * _SECONDS[unit]), False


def _constant(name: str, values: list[str | int | float | None], at: int, target: Dialect) -> Typed:
    """A call on literals, whose time is the one at ``at``."""
    time, *modifiers = values[at:]
    time = str(fixed(time, target.now)) if isinstance(time, str) else time
    for modifier in modifiers:
        zoneless(modifier)
    values = [*values[:at], time, *modifiers]
    found = _evaluate(name, tuple(values))
    if isinstance(found, str):
        if name == "strftime" and values[0] == "%J":
            instant = _instant(tuple(values[1:]))
            return Typed(target.real(found), SqlKind.JULIAN, literal=found, instant=instant)
        kind = SqlKind.DIGITS if found.isdigit() else SqlKind.TEXT
        return Typed(target.text(found), kind, literal=found)
    if not isinstance(found, int | float):
        return Typed("NULL", SqlKind.NULL)
    kind = SqlKind.INTEGER if isinstance(found, int) else SqlKind.REAL
    sql = repr(found) if kind == SqlKind.INTEGER else target.real(repr(found))
    return Typed(sql, kind, literal=found)


def _instant(time: tuple[str | int | float | None, ...]) -> str | None:
    """A constant time in milliseconds since 1970, if it is a whole second."""
    seconds, rest = _evaluate("strftime", ("%s", *time)), _evaluate("strftime", ("%f", *time))
    return f"{seconds}000" if str(rest).endswith(".000") else None


@lru_cache(maxsize=1024)
def _evaluate(name: str, values: tuple[str | int | float | None, ...]) -> object:
    connection = sqlite3.connect(":memory:")
    try:
        marks = ",".join("?" * len(values))
        row: tuple[object] = connection.execute(f"SELECT {name}({marks})", values).fetchone()
        return row[0]
    finally:
        connection.close()
