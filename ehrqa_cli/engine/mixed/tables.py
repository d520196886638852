"""What the tables say, asked by logical forms.

A dose or a value is a number in its answer; its unit, route, time and stay stand in the row that
the answer cites. A name that the tables lack is looked for among the names that they have for the
patient, as a title may say more than the question ("heart failure").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Answer, Scalar, Status
from ehrqa_cli.ehr.schema import BY_NAME
from ehrqa_cli.engine.mixed.names import names_of, same_words
from ehrqa_cli.engine.mixed.types import (
    AskTable,
    Aspect,
    Measure,
    Mixed,
    RowOpener,
    TableFound,
)
from ehrqa_cli.logical_form import Items, Lit, Select
from ehrqa_cli.sqltext import quote

_COLUMNS = {  # value, unit, time, name
    "prescriptions": ("dose_val_rx", "dose_unit_rx", "starttime", "drug"),
    "labevents": ("valuenum", "valueuom", "charttime", ""),
    "diagnoses_icd": ("", "", "charttime", ""),
}
_MOST_TITLES = 3


def open_rows(database: Database) -> RowOpener:
    """Opens the rows that an answer cites: the row of a table with this ``row_id``, or None.

    Raises DatabaseError when the database is damaged.
    """

    def row(table: str, row_id: int | str) -> Mapping[str, Scalar] | None:
        columns = tuple(database.schema().get(table, ())) if table in BY_NAME else ()
        if not columns:
            return None
        # text where a mapping names rows by several columns of its own (docs/schemas.md)
        key = quote(row_id) if isinstance(row_id, str) else int(row_id)
        sql = f"SELECT {', '.join(columns)} FROM {table} WHERE row_id = {key}"
        found = database.execute(sql).rows
        return dict(zip(map(str.lower, columns), found[0], strict=True)) if found else None

    return row


def ask_tables(
    mixed: Mixed, ask: AskTable, rows: RowOpener
) -> tuple[TableFound | None, tuple[Answer, ...]]:
    """What the tables say and the answers it was asked by; None where they decline
    (the last answer then says why)."""
    asked = [ask(mixed.form)] if mixed.form is not None else []
    understood = any(_understood(answer) for answer in asked)
    if mixed.aspect is not Aspect.PRESENT:
        return (_measured(mixed, asked[0], rows) if understood else None), tuple(asked)
    if understood and asked[0].value not in (0, None):
        return _named(asked[0], mixed.value or mixed.subject, rows), tuple(asked)
    for title, answer in _other_titles(mixed, ask):
        return _named(answer, title, rows), (*asked, answer)
    if not understood:  # another name for it may stand there
        return None, tuple(asked)
    return TableFound(name=mixed.value or mixed.subject), tuple(asked)


def _understood(answer: Answer) -> bool:
    """Do the tables say something, if only that there is nothing?"""
    return _answered(answer) or answer.reason_kind == "empty_result"


def _answered(answer: Answer) -> bool:
    return answer.status is Status.ANSWERED


def _other_titles(mixed: Mixed, ask: AskTable) -> Iterator[tuple[str, Answer]]:
    """Names that the tables have for the patient with all words of the subject, each with the
    answer that it is there."""
    if mixed.titles is None:
        return
    listed = ask(mixed.titles)
    if not _answered(listed) or listed.truncated:
        return
    names = names_of(mixed)
    titles = [str(row[0]) for row in listed.rows if row]
    for title in [t for t in titles if same_words(t, names)][:_MOST_TITLES]:
        event = replace(mixed.titles.event, items=Items((Lit(title),)))
        answer = ask(Select("exists", event))
        if _answered(answer) and answer.value == 1:
            yield title, answer


def _rows_of(answer: Answer, rows: RowOpener) -> list[tuple[dict[str, Any], Mapping[str, Scalar]]]:
    """The cited rows with what stands in them, as far as they can be opened."""
    cited = [each for each in answer.evidence if each.get("kind") == "row"]
    found = []
    for each in cited:
        if each["table"] in _COLUMNS:
            opened = rows(each["table"], each["key"]["row_id"])
            found.append((each, opened or {}))
    return found


def _named(answer: Answer, name: str, rows: RowOpener) -> TableFound:
    cited = _rows_of(answer, rows)
    when, stay = _when(cited)
    evidence = tuple(each for each, _ in cited)
    return TableFound(present=True, name=name, evidence=evidence, when=when, stay=stay)


def _when(
    cited: list[tuple[dict[str, Any], Mapping[str, Scalar]]],
) -> tuple[str | None, int | None]:
    """Time and stay of the latest cited row."""
    times = [
        (str(row[_COLUMNS[each["table"]][2]]), row.get("hadm_id"))
        for each, row in cited
        if row.get(_COLUMNS[each["table"]][2])
    ]
    if not times:
        return None, None
    when, stay = max(times, key=lambda pair: pair[0])
    return when, int(str(stay)) if stay is not None else None


def _measured(mixed: Mixed, answer: Answer, rows: RowOpener) -> TableFound:
    """The values of the answer with the units of their rows; nothing for an empty answer."""
    name = mixed.value or mixed.subject
    values = (
        [row[0] for row in answer.rows if row and row[0] is not None] if _answered(answer) else []
    )
    if not values:
        return TableFound(name=name)
    cited = _rows_of(answer, rows)
    with_value = [(each, row) for each, row in cited if _value(each, row) in map(_number, values)]
    cited = with_value or cited
    when, stay = _when(cited)
    first = cited[0][1] if cited else {}
    table = cited[0][0]["table"] if cited else ""
    _, unit, _, named = _COLUMNS.get(table, ("", "", "", ""))
    told = str(first.get(unit) or "") if unit else ""
    if mixed.aspect is Aspect.ROUTE:
        routes = dict.fromkeys(str(row["route"]) for _, row in cited if row.get("route"))
        measures = tuple(Measure(route) for route in routes)
    else:
        measures = tuple(dict.fromkeys(_measure(value, told) for value in values))
    evidence = tuple(each for each, _ in cited)
    name = str(first.get(named) or name) if named else name
    return TableFound(measures, bool(measures), name, evidence, when, stay)


def _value(each: dict[str, Any], row: Mapping[str, Scalar]) -> float | None:
    return _number(row.get(_COLUMNS[each["table"]][0]))


def _number(value: Scalar) -> float | None:
    try:
        return float(str(value).replace(",", ""))
    except ValueError:
        return None


def _measure(value: Scalar, unit: str) -> Measure:
    number = _number(value)
    shown = f"{number:g}" if number is not None and abs(number) < 1e6 else str(value)
    return Measure(f"{shown} {unit}".strip(), number, unit.strip().lower())
