"""Groups of rows, columns side by side, and measures of stays and people, as SQL.

Beyond EHRSQL's templates: what clinicians and administrators ask of cohorts ("by", "per", "top n
with the numbers", "more than"). Groups without a key are left out; ties are kept.
"""

from __future__ import annotations

from dataclasses import replace

from ehrqa_cli.logical_form.compile.mapping import SOURCES, EventTable
from ehrqa_cli.logical_form.compile.relations import rows
from ehrqa_cli.logical_form.compile.values import (
    measure,
    number,
    order_of,
    source,
    unsupported,
    where,
)
from ehrqa_cli.logical_form.form import Group, Select
from ehrqa_cli.logical_form.grammar import (
    COLUMNS,
    CUTS,
    FINISH,
    HAVING,
    HEADS,
    HOURS,
    MADE,
    OPS,
    ORDERED,
    PERIODS,
)

_ADMISSION = dict(SOURCES["admission"].columns)
_PERSON = dict(SOURCES["person"].columns)


def _title(name: str) -> str:
    """The name of a column that a person reads."""
    return COLUMNS[name].shown or name


def column(src: EventTable, name: str) -> str:
    """What a row is grouped by, or shows beside others. Raises FormError."""
    table = src.table
    own = {"patients": "subject_id", "visits": "hadm_id", **dict(src.columns)}
    if name in PERIODS:
        return f"strftime('{PERIODS[name].sql}',{table}.{src.time})"
    if name == "name":
        return _label(src)
    if name in own:
        return f"{table}.{own[name]}"
    if name in _ADMISSION:
        return _beside("admissions", _ADMISSION[name], "hadm_id", table)
    if name in _PERSON:
        return _beside("patients", _PERSON[name], "subject_id", table)
    plain = {"value": src.value, "unit": src.unit, "time": src.time}.get(name)
    if plain:
        return f"{table}.{plain}"
    if name == "length":
        return measure(src)
    raise unsupported(f"{name} of {table}")


def _beside(table: str, name: str, key: str, main: str) -> str:
    return f"( SELECT {table}.{name} FROM {table} WHERE {table}.{key} = {main}.{key} )"


def _label(src: EventTable) -> str:
    if src.table == "cost":
        return "cost.event_type"
    code, look = f"{src.table}.{src.code}", src.lookup
    if look is None:
        return code
    table = look.table
    return f"( SELECT {table}.{look.label} FROM {table} WHERE {table}.{look.key} = {code} )"


def pair(select: Select) -> str:
    """Columns side by side, one row an event; with an order word only the rows at that time."""
    src = source(select.event)
    names = (select.head, *select.also)
    listed = ", ".join(f"{column(src, n)} AS {_title(n)}" for n in names)
    return f"SELECT DISTINCT {listed} FROM {src.origin}{where(rows(select.event))}"


def in_unit(select: Select, days: str) -> str:
    """A length in days, or in hours where the form asks for them."""
    return f"24 * {days}" if select.per == HOURS else days


def _measured(select: Select, src: EventTable) -> tuple[str, list[str]]:
    """What is counted or measured of a row, and what must hold for it to have that."""
    what, table = HEADS[select.head].measure, src.table
    if what == "length":
        return in_unit(select, measure(src)), [f"{table}.{src.end} IS NOT NULL"]
    if what == "row":
        return "1", []
    columns = {"age": "age", "patient": "subject_id", "visit": "hadm_id", "name": src.code}
    return f"{table}.{columns.get(what, src.value)}", []


def _made(head: str) -> str:
    """The SQL of a head's aggregate over the column m (the median apart)."""
    spec = HEADS[head]
    if spec.how == "count":
        return "COUNT(*)" if spec.measure == "row" else "COUNT( DISTINCT m )"
    return f"{spec.how.upper()}( m )"


def whole(select: Select) -> str:
    """One number of all rows: the length, age and median heads."""
    src = source(select.event)
    value, also = _measured(select, src)
    inner = f"SELECT {value} AS m FROM {src.origin}{where([*rows(select.event), *also])}"
    if HEADS[select.head].how == "median":
        return median(inner)
    return f"SELECT {_made(select.head)} FROM ( {inner} )"


def median(inner: str) -> str:
    """The middle of the column m of a query, or the mean of the two in the middle."""
    ranked = (
        "SELECT m, ROW_NUMBER() OVER ( ORDER BY m ) AS r, COUNT(*) OVER ( ) AS c "
        f"FROM ( {inner} ) WHERE m IS NOT NULL"
    )
    return f"SELECT AVG( m ) FROM ( {ranked} ) WHERE 2 * r BETWEEN c AND c + 2"


def grouped(select: Select, group: Group) -> str:
    """The number of each group, cut, compared and finished as the form says."""
    return _finished(_kept(select, group), select, group)


def _kept(select: Select, group: Group) -> str:
    """Key k and number v of the groups that the form keeps."""
    sql = _per_group(select, group, source(select.event))
    parts = ["v IS NOT NULL"]
    if group.having and group.limit is not None:
        parts.append(f"v {HAVING[group.having].part} {number(group.limit)}")
    sql = f"SELECT k, v FROM ( {sql} ){where(parts)}"
    if group.cut and group.most is not None:
        way = CUTS[group.cut].way
        ranked = f"SELECT k, v, DENSE_RANK() OVER ( ORDER BY v {way} ) AS r FROM ( {sql} )"
        sql = f"SELECT k, v FROM ( {ranked} ) WHERE r <= {number(group.most)}"
    return sql


def between(op: str, left: Select, right: Select) -> str:
    """``op`` between the numbers of the same groups; a group the first lacks counts as 0 there."""
    ours, theirs = left.group, right.group
    if ours is None or theirs is None or ours.key != theirs.key or ours.finish or theirs.finish:
        raise unsupported("groups of different kinds, or a finished group, in one calculation")
    return (
        f"SELECT B.k AS {_title(ours.key)}, {OPS[op].by_group} AS {op} "
        f"FROM ( {_kept(right, theirs)} ) AS B LEFT JOIN ( {_kept(left, ours)} ) AS A "
        "ON A.k = B.k ORDER BY B.k"
    )


def _per_group(select: Select, group: Group, src: EventTable) -> str:
    value, also = _measured(select, src)
    found = where([*rows(select.event), *also])
    inner = f"SELECT {column(src, group.key)} AS k, {value} AS m FROM {src.origin}{found}"
    if HEADS[select.head].measure == "total":
        return _totals_per_group(select, group, src)
    if select.head in ORDERED:
        return _nth_per_group(select, group, src)
    if HEADS[select.head].how == "median":
        each = "PARTITION BY k"
        ranked = (
            f"SELECT k, m, ROW_NUMBER() OVER ( {each} ORDER BY m ) AS r, "
            f"COUNT(*) OVER ( {each} ) AS c FROM ( {inner} ) WHERE m IS NOT NULL"
        )
        middle = f"( {ranked} ) WHERE 2 * r BETWEEN c AND c + 2 AND k IS NOT NULL"
        return f"SELECT k, AVG( m ) AS v FROM {middle} GROUP BY k"
    made = _made(select.head)
    return f"SELECT k, {made} AS v FROM ( {inner} ) WHERE k IS NOT NULL GROUP BY k"


def _totals_per_group(select: Select, group: Group, src: EventTable) -> str:
    """Of the totals of the hospital visits in each group."""
    inner = (
        f"SELECT {src.table}.hadm_id, {column(src, group.key)} AS k, {src.table}.{src.value} AS m "
        f"FROM {src.origin}{where(rows(select.event))}"
    )
    visits = f"SELECT hadm_id, k, SUM( m ) AS m FROM ( {inner} ) GROUP BY hadm_id, k"
    made = _made(select.head)
    return f"SELECT k, {made} AS v FROM ( {visits} ) WHERE k IS NOT NULL GROUP BY k"


def _nth_per_group(select: Select, group: Group, src: EventTable) -> str:
    """One value of each group: the first, last, ... in time."""
    event = replace(select.event, order=None)
    offset, way = order_of(select.event.order)
    shown = src.time if select.head == "time" else src.value
    inner = (
        f"SELECT {column(src, group.key)} AS k, {src.table}.{shown} AS v, "
        f"{src.table}.{src.time} AS t FROM {src.origin}{where(rows(event))}"
    )
    ranked = (
        f"SELECT k, v, ROW_NUMBER() OVER ( PARTITION BY k ORDER BY t {way} ) AS r "
        f"FROM ( {inner} ) WHERE k IS NOT NULL AND v IS NOT NULL AND t IS NOT NULL"
    )
    return f"SELECT k, v FROM ( {ranked} ) WHERE r = {offset + 1}"


def _finished(sql: str, select: Select, group: Group) -> str:
    key, how = _title(group.key), HEADS[select.head].how
    name = MADE[how].shown if how else select.head
    if group.finish == "median":
        return median(f"SELECT v AS m FROM ( {sql} )")
    if group.finish:
        return FINISH[group.finish].sql.format(key=key, name=name, groups=sql)
    # The largest first; a plain list by its key.
    order = "v DESC, k" if group.cut == "most" else "v, k" if group.cut else "k"
    return f"SELECT k AS {key}, v AS {name} FROM ( {sql} ) ORDER BY {order}"
