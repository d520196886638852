"""The rows that an authored question should give, and whether others say the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from authored import Writer, renumbered, unlinked

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.engine.session import Session
from ehrqa_cli.engine.ways import by_form
from ehrqa_cli.logical_form import Form

_PATIENTS = 12  # that are tried until the gold form gives something
_ROUNDED = 0.006  # gold is rounded to two decimals by some writers
_DATE = 10


def told(form: Form, linked: LinkedQuestion, session: Session) -> list[list[Any]] | None:
    """The rows of a form, or None where it gives nothing."""
    try:
        answer = by_form(form, linked, session)
    except EhrqaError:
        return None
    return [list(row) for row in answer.rows] if answer.status.value == "answered" else None


def gold(
    row: dict[str, Any], writer: Writer, session: Session
) -> tuple[LinkedQuestion, Form, list[list[Any]] | None, bool] | None:
    """The question linked, its form, the form's rows, and whether every placeholder's own words
    were found; None where one cannot be linked in any words."""
    best = None
    for seed in range(_PATIENTS):
        rng = random.Random(f"{row['id']}/{seed}")
        linked, slots, found, other = writer.linked(row["q"], frozenset(), rng)
        missed = unlinked(slots, found)
        form = None if missed else renumbered(row["form"], slots, found, linked.links)
        if form is None:
            return None
        rows = told(form, linked, session)
        best = (linked, form, rows, not other)
        if "{pat:" not in row["q"] or (rows and rows not in ([[0]], [[None]])):
            break
    return best


def cell(value: object) -> float | str:
    """A value as it is compared: numbers, yes and no as 1 and 0, text in lower case."""
    text = str(value).strip().lower()
    text = {"yes": "1", "true": "1", "no": "0", "false": "0"}.get(text, text)
    try:
        return round(float(text), 3)
    except ValueError:
        return text


def same(rows: Sequence[Sequence[Any]], gold: Sequence[Sequence[Any]]) -> bool:
    """Whether rows say what the gold says, in any order, once each."""
    ours, its = ({tuple(map(cell, row)) for row in given} for given in (rows, gold))
    if ours == its:
        return True
    if len(rows) != 1 or len(gold) != 1 or len(rows[0]) != 1 or len(gold[0]) != 1:
        return False
    one, other = cell(rows[0][0]), cell(gold[0][0])
    if isinstance(one, float) and isinstance(other, float):
        return one != int(one) and abs(one - other) <= max(_ROUNDED, abs(other) / 1000)
    days = str(one)[:_DATE] == str(other)[:_DATE]  # a day where the other has the time too
    return days and _DATE in (len(str(one)), len(str(other)))
