"""Who is alive so long after an event, as SQL, in EHRSQL's conventions."""

from __future__ import annotations

from ehrqa_cli.logical_form.compile.columns import label_of
from ehrqa_cli.logical_form.compile.mapping import EventTable
from ehrqa_cli.logical_form.compile.relations import inherited, rows
from ehrqa_cli.logical_form.compile.values import days, number, source, where
from ehrqa_cli.logical_form.form import Event, Select


def _lived(period: str, time: str) -> str:
    died = f"strftime('%J',patients.dod) - strftime('%J',{time})"
    return f"( CASE WHEN {died} < {period} THEN 0 ELSE 1 END )"


def _onset(event: Event, src: EventTable, period: str, code: str = "") -> str:
    """First time per patient (and code), early enough to be followed for the whole period."""
    table, time = src.table, f"{src.table}.{src.time}"
    followed = f"strftime('%J',current_time) - strftime('%J',{time}) >= {period}"
    extra = f", {table}.{code}" if code else ""
    return (
        f"SELECT {table}.subject_id{extra}, {time} AS t FROM {src.origin}"
        f"{where([*rows(event), followed])} GROUP BY {table}.subject_id{extra} "
        f"HAVING MIN({time}) = {time}"
    )


def survival(select: Select) -> str:
    """The share of patients alive so long after the event (and the one that followed it)."""
    event = select.event
    src = source(event)
    period = days(select.args[0])
    cohort = _onset(event, src, period)
    then = event.get("followed")
    if then:
        inner = inherited(event, then)
        other = source(inner)
        name, time = other.table, f"{other.table}.{other.time}"
        later = (
            f"SELECT {name}.subject_id, {time} AS t FROM {other.origin}{where(rows(inner))} "
            f"GROUP BY {name}.subject_id HAVING MAX({time}) = {time}"
        )
        cohort = (
            f"SELECT T1.subject_id, T1.t FROM ( {cohort} ) AS T1 JOIN ( {later} ) AS T2 "
            "ON T1.subject_id = T2.subject_id WHERE T1.t < T2.t"
        )
    alive = f"SELECT {_lived(period, 'T3.t')} AS C1 FROM ( {cohort} ) AS T3"
    return f"SELECT AVG(C1) FROM ( {alive} JOIN patients ON T3.subject_id = patients.subject_id )"


def top_mortality(select: Select) -> str:
    """The diagnoses after which the fewest are alive so long."""
    src = source(select.event)
    most, period = number(select.args[0]), days(select.args[1])
    cohort = _onset(select.event, src, period, src.code)
    alive = (
        f"SELECT T1.{src.code} AS code, {_lived(period, 'T1.t')} AS C1 FROM ( {cohort} ) AS T1 "
        "JOIN patients ON T1.subject_id = patients.subject_id"
    )
    rates = f"SELECT T2.code, AVG(C1) AS C2 FROM ( {alive} ) AS T2 GROUP BY T2.code"
    ranked = (
        f"SELECT T3.code, DENSE_RANK() OVER ( ORDER BY T3.C2 ASC ) AS C3 FROM ( {rates} ) AS T3"
    )
    return label_of(src, f"SELECT T4.code FROM ( {ranked} ) AS T4 WHERE T4.C3 <= {most}")
