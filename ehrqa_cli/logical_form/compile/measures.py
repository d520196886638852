"""What is made of the values of many rows: means, medians, spreads, changes, as SQL."""

from __future__ import annotations

from ehrqa_cli.logical_form.compile.columns import column
from ehrqa_cli.logical_form.compile.mapping import EventTable
from ehrqa_cli.logical_form.compile.relations import rows
from ehrqa_cli.logical_form.compile.values import in_unit, length, source, unsupported, where
from ehrqa_cli.logical_form.form import Select
from ehrqa_cli.logical_form.grammar import HEADS


def measured(select: Select, src: EventTable) -> tuple[str, list[str]]:
    """What is counted or measured of a row, and what must hold for it to have that."""
    what, table = HEADS[select.head].measure, src.table
    if what == "length":
        return in_unit(select, length(src)), [f"{table}.{src.end} IS NOT NULL"]
    time = f"{table}.{src.time}"
    one = f"{table}.{src.identity}" if src.identity else "1"
    made = {"row": one, "day": f"date({time})", "when": f"strftime('%J',{time})"}
    if what in made:
        return made[what], []
    if what == "age":
        return column(src, "age"), []
    columns = {"patient": "subject_id", "visit": "hadm_id", "name": src.code}
    return f"{table}.{columns[what]}" if what in columns else src.amount, []


_SUMS = "COUNT(*) * SUM( x * m ) - SUM( x ) * SUM( m )"
_SPREAD = "COUNT(*) * SUM( x * x ) - SUM( x ) * SUM( x )"
# What is made of the column m of each group; with x, its days since the first (slope), or with
# its rank by time from both ends, a and z (change).
_MADE = {
    "range": "MAX( m ) - MIN( m )",
    "span": "MAX( m ) - MIN( m )",
    "stdev": (
        "CASE WHEN COUNT( m ) > 1 THEN sqrt( ( SUM( m * m ) - SUM( m ) * SUM( m ) * 1.0 "
        "/ COUNT( m ) ) / ( COUNT( m ) - 1 ) ) END"
    ),
    "change": (
        "CASE WHEN COUNT( m ) > 1 THEN MAX( CASE WHEN z = 1 THEN m END ) "
        "- MAX( CASE WHEN a = 1 THEN m END ) END"
    ),
    "slope": f"CASE WHEN MAX( x ) > MIN( x ) THEN 1.0 * ( {_SUMS} ) / ( {_SPREAD} ) END",
}
TIMED = ("change", "slope")


def aggregate(select: Select, src: EventTable) -> str:
    """The SQL of a head's aggregate over the column m (the median apart)."""
    spec = HEADS[select.head]
    if spec.how == "count":
        return "COUNT(*)" if spec.measure == "row" and not src.identity else "COUNT( DISTINCT m )"
    made = _MADE.get(spec.how) or f"{spec.how.upper()}( m )"
    return in_unit(select, f"( {made} )") if spec.how == "span" else made


def timed(how: str, inner: str, keys: str) -> str:
    """The rows of ``inner`` (keys, m and t) with what a change or a slope is made of."""
    each = f"PARTITION BY {keys} " if keys else ""
    listed = f"{keys}, m" if keys else "m"
    if how == "slope":
        first = f"MIN( strftime('%J',t) ) OVER ( {each})"
        made = f"strftime('%J',t) - {first} AS x"
    else:
        ranks = (f"ROW_NUMBER() OVER ( {each}ORDER BY t {way} )" for way in ("ASC", "DESC"))
        made = "{} AS a, {} AS z".format(*ranks)
    return f"SELECT {listed}, {made} FROM ( {inner} ) WHERE m IS NOT NULL"


def whole(select: Select) -> str:
    """One number of all rows: the length, age, spread and median heads."""
    src = source(select.event)
    value, also = measured(select, src)
    how = HEADS[select.head].how
    time = f", {src.table}.{src.time} AS t" if how in TIMED else ""
    inner = f"SELECT {value} AS m{time} FROM {src.origin}{where([*rows(select.event), *also])}"
    if how == "median":
        return median(inner)
    inner = timed(how, inner, "") if how in TIMED else inner
    return f"SELECT {aggregate(select, src)} FROM ( {inner} )"


def median(inner: str) -> str:
    """The middle of the column m of a query, or the mean of the two in the middle."""
    ranked = (
        "SELECT m, ROW_NUMBER() OVER ( ORDER BY m ) AS r, COUNT(*) OVER ( ) AS c "
        f"FROM ( {inner} ) WHERE m IS NOT NULL"
    )
    return f"SELECT AVG( m ) FROM ( {ranked} ) WHERE 2 * r BETWEEN c AND c + 2"


def alone(select: Select) -> str:
    """One measure of all rows."""
    if HEADS[select.head].measure == "total":
        raise unsupported("totals of visits beside other measures")
    src = source(select.event)
    value, also = measured(select, src)
    how = HEADS[select.head].how
    if how == "median" or how in TIMED:
        return whole(select)
    found = where([*rows(select.event), *also])
    return f"SELECT {aggregate(select, src)} FROM ( SELECT {value} AS m FROM {src.origin}{found} )"
