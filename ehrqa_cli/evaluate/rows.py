"""Are these rows the gold's? The official rule of EHRSQL, and the plain one of all else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ehrqa_cli.contracts.types import Row, Scalar

FIRST_ROWS = 100
TOLERANCE = 0.01
_ORDERS = 5040  # of columns that are tried: those of seven in any order
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
Plain = frozenset[tuple[Any, ...]]


def comparable(rows: Iterable[Row]) -> str:
    """Rows as the official scorer compares them: floats rounded to 3 decimals, every cell as
    text, rows sorted, the first 100 of them; printed, which is how answer.json stores them."""
    return str(sorted([_printed(cell) for cell in row] for row in rows)[:FIRST_ROWS])


def _printed(cell: Scalar) -> str:
    return str(round(cell, 3)) if isinstance(cell, float) else str(cell)


def plain_rows(rows: Iterable[Sequence[Any]], digits: int = 3) -> Plain:
    """Rows as a set, however a file wrote the cells: text of a number is the number, numbers have
    ``digits`` decimals, yes is 1, case does not count."""
    return frozenset(tuple(_plain(cell, digits) for cell in row) for row in rows)


def _decimals(gold: Iterable[Sequence[Any]]) -> int:
    """How many the gold's fractions are written with; 3 where it has none, or more."""
    fractions = [c for row in gold for c in row if isinstance(c, float) and c % 1]
    return min(max((len(str(c).partition(".")[2]) for c in fractions), default=3), 3)


def _plain(cell: Any, digits: int) -> Any:
    if isinstance(cell, str):
        text = " ".join(cell.lower().split())
        if text in _WORDS:
            return _WORDS[text]
        try:
            return round(float(text), digits) + 0.0
        except ValueError:
            return text
    return round(float(cell), digits) + 0.0 if isinstance(cell, int | float) else cell


def same_rows(rows: Sequence[Row], gold: Sequence[Row]) -> bool:
    """The same rows by `plain_rows`, in any order of rows and of columns; gold that somebody
    rounded to one or two decimals is met by what rounds to it."""
    digits = _decimals(gold)
    given, wanted = plain_rows(rows, digits), plain_rows(gold, digits)
    if given == wanted:
        return True
    if len({len(row) for row in (*given, *wanted)}) != 1 or len(given) != len(wanted):
        return False
    columns = list(zip(*given, strict=True))
    cells = [Counter(column) for column in zip(*wanted, strict=True)]
    return any(
        frozenset(zip(*(columns[i] for i in order), strict=True)) == wanted
        for order in islice(_orders(columns, cells), _ORDERS)
    )


def _orders(
    columns: Sequence[tuple[Any, ...]], wanted: Sequence[Counter[Any]], used: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """The orders of ``columns`` in which each holds the cells of the wanted one; of columns that
    are alike in every row one order is enough."""
    if len(used) == len(wanted):
        yield used
        return
    tried: set[tuple[Any, ...]] = set()
    for i, column in enumerate(columns):
        if i in used or column in tried or Counter(column) != wanted[len(used)]:
            continue
        tried.add(column)
        yield from _orders(columns, wanted, (*used, i))


def same_answer(rows: Sequence[Row], gold: Sequence[Row]) -> bool:
    """The same rows by `plain_rows` in any order; a single gold number with a fraction (a
    duration) may be off by TOLERANCE."""
    given, wanted = plain_rows(rows), plain_rows(gold)
    if given == wanted:
        return True
    single = all(len(row) == 1 and isinstance(row[0], float) for row in (*given, *wanted))
    fractions = any(isinstance(row[0], float) for row in gold if len(row) == 1)
    if not single or not fractions or len(given) != len(wanted):
        return False
    pairs = zip(sorted(given), sorted(wanted), strict=True)
    return all(abs(a[0] - b[0]) <= TOLERANCE for a, b in pairs)
