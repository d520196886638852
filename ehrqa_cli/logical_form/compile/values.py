"""Pieces of SQL that all of the compiler uses: tables, values, orders, measures, durations."""

from __future__ import annotations

import re

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.logical_form.compile.layout import CURRENT, drawn
from ehrqa_cli.logical_form.compile.mapping import SOURCES, EventTable
from ehrqa_cli.logical_form.form import Arg, Event, Filter, Lit, Select
from ehrqa_cli.logical_form.grammar import FILTERS, HOURS, ORDERS


def unsupported(what: str) -> FormError:
    """The error for a form that has no SQL in this schema."""
    return FormError(f"this form has no query yet: {what}", "ask the question in other words")


def source(event: Event) -> EventTable:
    """The table of an event. Raises FormError for kinds that are not in tables."""
    found = SOURCES.get(event.kind)
    if found is None:
        raise unsupported(f"{event.kind} needs chest X-rays")
    return drawn(found, event, CURRENT.get())


def quote(value: object) -> str:
    """A SQL literal."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise unsupported(f"the value {value!r}")
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + value.replace("'", "''") + "'"


def literal(arg: Arg) -> str | int | float:
    """The value of a bound argument. Raises FormError for a reference."""
    if not isinstance(arg, Lit):
        raise FormError("this form still has references", "bind it to a question's links first")
    return arg.value


def number(arg: Arg) -> str:
    """A numeric SQL literal; of a duration its days, as lengths are compared."""
    value = literal(arg)
    if not isinstance(value, str):
        return quote(value)
    count, unit = duration(arg).split(" ")
    return quote(round(int(count) * _IN_DAYS[unit], 6))


_IN_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "month": 365 / 12, "year": 365}


def order_of(order: str | None) -> tuple[int, str]:
    """How many rows come before the one an order word means, and the direction to sort in."""
    word = ORDERS[order or "first"]
    return word.offset, word.way


def order_by(order: str | None, column: str) -> str:
    """``ORDER BY column ASC LIMIT 1 [OFFSET 1]`` for an order word."""
    offset, way = order_of(order)
    return f"ORDER BY {column} {way} LIMIT 1" + (f" OFFSET {offset}" if offset else "")


def measure(src: EventTable) -> str:
    """The value of an event; of a stay, its length in days."""
    return src.amount if src.value else length(src)


def length(src: EventTable) -> str:
    """How long a stay, a drug or an infusion lasted, in days. Raises FormError."""
    end, start = ended(src), f"{src.table}.{src.start or src.time}"
    return f"( strftime('%J',{end}) - strftime('%J',{start}) )"


def in_unit(select: Select, days: str) -> str:
    """A length in days, or in hours where the form asks for them."""
    return f"24 * {days}" if select.per == HOURS else days


def ended(src: EventTable) -> str:
    """When it ended. Raises FormError for what has no end here."""
    if not src.end:
        raise unsupported("the end of something of which only one time is recorded")
    return f"{src.table}.{src.end}"


def duration(arg: Arg) -> str:
    """A duration as a SQLite modifier without sign; weeks become days."""
    match = re.fullmatch(r"(\d+) (hour|day|week|month|year|minute)", str(literal(arg)))
    if match is None:
        raise unsupported(f"the duration {literal(arg)!r}")
    count, unit = int(match[1]), match[2]
    return f"{count * 7} day" if unit == "week" else f"{count} {unit}"


def days(arg: Arg) -> str:
    """A duration in days as EHRSQL writes survival periods (a month is a twelfth of 365, rounded
    down). Raises FormError for what is no whole number of days: deaths are known by the day."""
    count, unit = duration(arg).split(" ")
    if unit == "month":
        return f"{count} * 365/12"
    if unit in ("day", "year"):
        return count if unit == "day" else f"{count} * 365"
    whole, rest = divmod(int(count), {"hour": 24, "minute": 24 * 60}[unit])
    if rest or not whole:
        raise unsupported(f"survival over {count} {unit}s, where deaths are recorded by the day")
    return str(whole)


def where(parts: list[str]) -> str:
    """`` WHERE a AND b`` or nothing."""
    return " WHERE " + " AND ".join(parts) if parts else ""


def among(item: Filter) -> str:
    """``= a`` or ``IN ( a, b )`` of a filter's values, or all ``other`` ones."""
    ids = [value for a in item.args for value in _values(a)]
    if len(ids) == 1:
        return f"{'<>' if item.other else '='} {ids[0]}"
    return f"{'NOT IN' if item.other else 'IN'} ( {', '.join(ids)} )"


def _values(arg: Arg) -> list[str]:
    """A filter's value, or those that its concept stands for (NULL for none: nothing is that)."""
    concept = arg.concept if isinstance(arg, Lit) else None
    if concept is None:
        return [quote(literal(arg))]
    return list(dict.fromkeys(quote(item.code) for item in concept.items)) or ["NULL"]


def part(item: Filter) -> str:
    """What a filter's writer is told of its SQL."""
    return FILTERS[item.name].part
