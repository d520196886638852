"""Answers side by side: values in one row; where one is a list or a table, row after row."""

from __future__ import annotations

from collections.abc import Callable

from ehrqa_cli.logical_form.form import Combine, Compare, Form, Select
from ehrqa_cli.logical_form.grammar import FINISH, GROUPED, OPS, SETS

_SINGLE = (
    *("exists", "none", "survival", "percentile", "is_high", "is_low", "is_normal"),
    *("is_abnormal", "avg_wait", "max_wait", "min_wait", "median_wait"),
)
_OF_ONE_NUMBER = tuple(name for name, spec in FINISH.items() if "{keys}" not in spec.sql)


def beside(form: Combine, write: Callable[[Form], str]) -> str:
    """The SQL of all parts of a form joined by ``beside``, each written by ``write``.

    Parts of one value each give one row. Else each part has its columns, empty in the rows of the
    others.
    """
    parts = _parts(form)
    if all(_columns(part) == 1 and _single(part) for part in parts):
        answers = ", ".join(f"( {write(part)} )" for part in parts)
        return OPS["beside"].sql.format(answers=answers)
    widths = [_columns(part) for part in parts]
    rows = []
    for k, part in enumerate(parts):
        before, after = ("NULL, " * sum(widths[:k]), ", NULL" * sum(widths[k + 1 :]))
        rows.append(f"SELECT {before}P{k}.*{after} FROM ( {write(part)} ) AS P{k}")
    return " UNION ALL ".join(rows)


def _parts(form: Form) -> list[Form]:
    if isinstance(form, Combine) and form.op == "beside":
        return [*_parts(form.left), *_parts(form.right)]
    return [form]


def _columns(form: Form) -> int:
    """How many columns a form gives."""
    if isinstance(form, Combine):
        return _columns(form.left)
    if not isinstance(form, Select):
        return 1
    measures = 1 + len(form.also)
    group = form.group
    if group is None or group.finish == "values" or group.finish in _OF_ONE_NUMBER:
        return measures
    keys = 1 + len(group.also)
    return keys if group.finish == "keys" else keys + measures


def _single(form: Form) -> bool:
    """Whether a form gives one value, whatever the record holds."""
    if isinstance(form, Combine):
        return form.op not in SETS and _single(form.left)
    if not isinstance(form, Select):
        return isinstance(form, Compare)
    if form.group or form.keep:
        return form.group is not None and form.group.finish in (set(_OF_ONE_NUMBER) - {"values"})
    event = form.event
    visit = event.kind in ("admission", "discharge") and event.get("current", "visit")
    one = event.order or event.extreme or visit
    return bool(one) or event.kind == "person" or form.head in (*GROUPED, *_SINGLE)
