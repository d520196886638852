"""Groups of rows, columns side by side, and measures of stays and people, as SQL.

Beyond EHRSQL's templates: what clinicians and administrators ask of cohorts ("by", "per", "top n
with the numbers", "more than"). Groups without a key are left out; ties are kept.
"""

from __future__ import annotations

from dataclasses import replace

from ehrqa_cli.logical_form.compile.mapping import SOURCES, EventTable
from ehrqa_cli.logical_form.compile.relations import rows
from ehrqa_cli.logical_form.compile.sentences import call
from ehrqa_cli.logical_form.compile.values import (
    length,
    measure,
    number,
    order_of,
    source,
    unsupported,
    where,
)
from ehrqa_cli.logical_form.form import Event, Group, Keep, Select
from ehrqa_cli.logical_form.grammar import (
    COLUMNS,
    CUTS,
    FINISH,
    HAVING,
    HEADS,
    HOURS,
    KEEPS,
    KEYS,
    MADE,
    OPS,
    ORDERED,
    PERIODS,
)

_PERSON = dict(SOURCES["person"].columns)


def _title(name: str) -> str:
    """The name of a column that a person reads."""
    return COLUMNS[name].shown or name


def column(src: EventTable, name: str) -> str:
    """What a row is grouped by, or shows beside others. Raises FormError."""
    table, time = src.table, f"{src.table}.{src.time}"
    own = {"patients": "subject_id", "visits": "hadm_id", **dict(src.columns)}
    own |= {"icustays": "stay_id"} if table == "icustays" else {}
    if name in PERIODS:
        return f"strftime('{PERIODS[name].sql}',{time})"
    if name in KEYS and KEYS[name].sql:
        return KEYS[name].sql.format(t=time).strip()
    if name == "name":
        return _label(src)
    if name in HEADS and HEADS[name].sql == "image":
        return call(HEADS[name].part, f"{table}.study_id")
    if name in own:
        return f"{table}.{own[name]}"
    if name == "icustays" or name == "careunit":
        return _in_icu(src, name)
    admission = dict(source(Event("admission")).columns)
    if name == "age_band":
        return _beside("admissions", _decade("admissions.age"), "hadm_id", table)
    if name in admission:
        return _beside("admissions", f"admissions.{admission[name]}", "hadm_id", table)
    if name in _PERSON:
        return _beside("patients", f"patients.{_PERSON[name]}", "subject_id", table)
    plain = {"value": src.value, "unit": src.unit, "time": src.time, "endtime": src.end}.get(name)
    if plain:
        return f"{table}.{plain}"
    if name == "length":
        return length(src)
    raise unsupported(f"{name} of {table}")


def _beside(table: str, value: str, key: str, main: str) -> str:
    return f"( SELECT {value} FROM {table} WHERE {table}.{key} = {main}.{key} )"


def _decade(age: str) -> str:
    return f"( {age} - {age} % 10 ) || '-' || ( {age} - {age} % 10 + 9 )"


def _in_icu(src: EventTable, name: str) -> str:
    """The ICU stay in which a row was charted, or its care unit. Raises FormError."""
    if src.via == "stay" and not src.rows:
        if name == "icustays":
            return f"{src.table}.stay_id"
        return _beside("icustays", "icustays.first_careunit", "stay_id", src.table)
    if name == "icustays":
        raise unsupported(f"the ICU stay of {src.table}")
    time = f"{src.table}.{src.time}"
    return (
        "( SELECT MIN( ward.careunit ) FROM transfers AS ward WHERE "
        f"ward.subject_id = {src.table}.subject_id AND {time} >= ward.intime "
        f"AND {time} < ward.outtime )"
    )


def _label(src: EventTable) -> str:
    if src.table == "cost":
        return "cost.event_type"
    code, look = f"{src.table}.{src.code}", src.lookup
    if look is None:
        return code
    table = look.table
    return f"( SELECT {table}.{look.label} FROM {table} WHERE {table}.{look.key} = {code} )"


def _listed(select: Select, src: EventTable) -> str:
    names = (select.head, *select.also)
    return ", ".join(f"{column(src, n)} AS {_title(n)}" for n in names)


def pair(select: Select) -> str:
    """Columns side by side, one row an event; with an order word only the rows at that time."""
    src = source(select.event)
    return f"SELECT DISTINCT {_listed(select, src)} FROM {src.origin}{where(rows(select.event))}"


def kept(select: Select, keep: Keep) -> str:
    """Columns of the newest, oldest, highest or lowest rows; ties are kept."""
    src = source(select.event)
    by = f"{src.table}.{src.time}" if keep.which in ("newest", "oldest") else measure(src)
    found = where([*rows(select.event), f"{by} IS NOT NULL"])
    inner = f"SELECT DISTINCT {_listed(select, src)}, {by} AS o FROM {src.origin}{found}"
    way, names = KEEPS[keep.which].way, ", ".join(map(_title, (select.head, *select.also)))
    ranked = f"SELECT {names}, RANK() OVER ( ORDER BY o {way} ) AS r FROM ( {inner} )"
    return f"SELECT {names} FROM ( {ranked} ) WHERE r <= {number(keep.most)} ORDER BY r, {names}"


def in_unit(select: Select, days: str) -> str:
    """A length in days, or in hours where the form asks for them."""
    return f"24 * {days}" if select.per == HOURS else days


def _measured(select: Select, src: EventTable) -> tuple[str, list[str]]:
    """What is counted or measured of a row, and what must hold for it to have that."""
    what, table = HEADS[select.head].measure, src.table
    if what == "length":
        return in_unit(select, length(src)), [f"{table}.{src.end} IS NOT NULL"]
    time = f"{table}.{src.time}"
    made = {"row": "1", "day": f"date({time})", "when": f"strftime('%J',{time})"}
    if what in made:
        return made[what], []
    if what == "age":
        return column(src, "age"), []
    columns = {"patient": "subject_id", "visit": "hadm_id", "name": src.code}
    return f"{table}.{columns.get(what, src.value)}", []


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
_TIMED = ("change", "slope")


def _made(select: Select) -> str:
    """The SQL of a head's aggregate over the column m (the median apart)."""
    spec = HEADS[select.head]
    if spec.how == "count":
        return "COUNT(*)" if spec.measure == "row" else "COUNT( DISTINCT m )"
    made = _MADE.get(spec.how) or f"{spec.how.upper()}( m )"
    return in_unit(select, f"( {made} )") if spec.how == "span" else made


def _timed(how: str, inner: str, keys: str) -> str:
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
    value, also = _measured(select, src)
    how = HEADS[select.head].how
    time = f", {src.table}.{src.time} AS t" if how in _TIMED else ""
    inner = f"SELECT {value} AS m{time} FROM {src.origin}{where([*rows(select.event), *also])}"
    if how == "median":
        return median(inner)
    inner = _timed(how, inner, "") if how in _TIMED else inner
    return f"SELECT {_made(select)} FROM ( {inner} )"


def median(inner: str) -> str:
    """The middle of the column m of a query, or the mean of the two in the middle."""
    ranked = (
        "SELECT m, ROW_NUMBER() OVER ( ORDER BY m ) AS r, COUNT(*) OVER ( ) AS c "
        f"FROM ( {inner} ) WHERE m IS NOT NULL"
    )
    return f"SELECT AVG( m ) FROM ( {ranked} ) WHERE 2 * r BETWEEN c AND c + 2"


def several(select: Select) -> str:
    """Several measures of the same rows: one row, or one of each group. The groups are cut and
    compared by the first."""
    heads = (select.head, *select.also)
    each = [replace(select, head=head, also=()) for head in heads]
    group = select.group
    names = [_name(one) for one in each]
    names = [
        name if names.count(name) == 1 else head for name, head in zip(names, heads, strict=True)
    ]
    if group is None:
        asked = (f"( {_alone(one)} ) AS {name}" for one, name in zip(each, names, strict=True))
        return f"SELECT {', '.join(asked)}"
    if group.finish:
        raise unsupported("something made of several measures of groups")
    ks = _keys(group)
    listed = [f"T1.{k} AS {_title(key)}" for k, key in zip(ks, _names(group), strict=True)]
    listed += [f"T{i}.v AS {name}" for i, name in enumerate(names, 1)]
    joined = f"( {_kept(select, group)} ) AS T1"
    for i, one in enumerate(each[1:], 2):
        on = " AND ".join(f"T{i}.{k} = T1.{k}" for k in ks)
        joined += f" LEFT JOIN ( {_per_group(one, group, source(one.event))} ) AS T{i} ON {on}"
    return f"SELECT {', '.join(listed)} FROM {joined} ORDER BY {_ordered(group, 'T1.')}"


def _alone(select: Select) -> str:
    """One measure of all rows."""
    if HEADS[select.head].measure == "total":
        raise unsupported("totals of visits beside other measures")
    src = source(select.event)
    value, also = _measured(select, src)
    how = HEADS[select.head].how
    if how == "median" or how in _TIMED:
        return whole(select)
    found = where([*rows(select.event), *also])
    return f"SELECT {_made(select)} FROM ( SELECT {value} AS m FROM {src.origin}{found} )"


def _names(group: Group) -> tuple[str, ...]:
    return (group.key, *group.also)


def _keys(group: Group) -> list[str]:
    """The columns of the keys inside the query: k, k2, k3."""
    return ["k", *(f"k{i}" for i in range(2, len(group.also) + 2))]


def _ordered(group: Group, of: str = "") -> str:
    """The largest first where there is a cut; a plain list by its keys."""
    keys = [of + k for k in _keys(group)]
    if group.cut:
        keys.insert(0, f"{of}v DESC" if group.cut == "most" else f"{of}v")
    return ", ".join(keys)


def grouped(select: Select, group: Group) -> str:
    """The number of each group, cut, compared and finished as the form says."""
    return _finished(_kept(select, group), select, group)


def _kept(select: Select, group: Group) -> str:
    """Keys and number v of the groups that the form keeps."""
    sql, keys = _per_group(select, group, source(select.event)), ", ".join(_keys(group))
    parts = ["v IS NOT NULL"]
    if group.having and group.limit is not None:
        parts.append(f"v {HAVING[group.having].part} {number(group.limit)}")
    sql = f"SELECT {keys}, v FROM ( {sql} ){where(parts)}"
    if group.cut and group.most is not None:
        way = CUTS[group.cut].way
        ranked = f"SELECT {keys}, v, DENSE_RANK() OVER ( ORDER BY v {way} ) AS r FROM ( {sql} )"
        sql = f"SELECT {keys}, v FROM ( {ranked} ) WHERE r <= {number(group.most)}"
    return sql


def between(op: str, left: Select, right: Select) -> str:
    """``op`` between the numbers of the same groups; a group the first lacks counts as 0 there."""
    ours, theirs = left.group, right.group
    if (
        ours is None
        or theirs is None
        or _names(ours) != _names(theirs)
        or (ours.finish or theirs.finish or left.also or right.also)
    ):
        raise unsupported("groups of different kinds, or a finished group, in one calculation")
    ks = _keys(ours)
    listed = ", ".join(f"B.{k} AS {_title(n)}" for k, n in zip(ks, _names(ours), strict=True))
    on = " AND ".join(f"A.{k} = B.{k}" for k in ks)
    return (
        f"SELECT {listed}, {OPS[op].by_group} AS {op} "
        f"FROM ( {_kept(right, theirs)} ) AS B LEFT JOIN ( {_kept(left, ours)} ) AS A "
        f"ON {on} ORDER BY {', '.join(f'B.{k}' for k in ks)}"
    )


def _columns(group: Group, src: EventTable) -> str:
    pairs = zip(_keys(group), _names(group), strict=True)
    return ", ".join(f"{column(src, name)} AS {k}" for k, name in pairs)


def _known(group: Group) -> list[str]:
    return [f"{k} IS NOT NULL" for k in _keys(group)]


def _per_group(select: Select, group: Group, src: EventTable) -> str:
    if HEADS[select.head].measure == "total":
        return _totals_per_group(select, group, src)
    if select.head in ORDERED:
        return _nth_per_group(select, group, src)
    value, also = _measured(select, src)
    how, keys = HEADS[select.head].how, ", ".join(_keys(group))
    time = f", {src.table}.{src.time} AS t" if how in _TIMED else ""
    found = where([*rows(select.event), *also])
    inner = f"SELECT {_columns(group, src)}, {value} AS m{time} FROM {src.origin}{found}"
    if how == "median":
        each = f"PARTITION BY {keys}"
        ranked = (
            f"SELECT {keys}, m, ROW_NUMBER() OVER ( {each} ORDER BY m ) AS r, "
            f"COUNT(*) OVER ( {each} ) AS c FROM ( {inner} ) WHERE m IS NOT NULL"
        )
        middle = where(["2 * r BETWEEN c AND c + 2", *_known(group)])
        return f"SELECT {keys}, AVG( m ) AS v FROM ( {ranked} ){middle} GROUP BY {keys}"
    inner = _timed(how, inner, keys) if how in _TIMED else inner
    made = f"SELECT {keys}, {_made(select)} AS v FROM ( {inner} )"
    return f"{made}{where(_known(group))} GROUP BY {keys}"


def _totals_per_group(select: Select, group: Group, src: EventTable) -> str:
    """Of the totals of the hospital visits in each group."""
    keys = ", ".join(_keys(group))
    inner = (
        f"SELECT {src.table}.hadm_id, {_columns(group, src)}, {src.table}.{src.value} AS m "
        f"FROM {src.origin}{where(rows(select.event))}"
    )
    visits = f"SELECT hadm_id, {keys}, SUM( m ) AS m FROM ( {inner} ) GROUP BY hadm_id, {keys}"
    made = f"SELECT {keys}, {_made(select)} AS v FROM ( {visits} )"
    return f"{made}{where(_known(group))} GROUP BY {keys}"


def _nth_per_group(select: Select, group: Group, src: EventTable) -> str:
    """One value of each group: the first, last, ... in time."""
    event = replace(select.event, order=None)
    offset, way = order_of(select.event.order)
    keys, shown = ", ".join(_keys(group)), in_unit(select, column(src, select.head))
    inner = (
        f"SELECT {_columns(group, src)}, {shown} AS v, "
        f"{src.table}.{src.time} AS t FROM {src.origin}{where(rows(event))}"
    )
    ranked = (
        f"SELECT {keys}, v, ROW_NUMBER() OVER ( PARTITION BY {keys} ORDER BY t {way} ) AS r "
        f"FROM ( {inner} ){where([*_known(group), 'v IS NOT NULL', 't IS NOT NULL'])}"
    )
    return f"SELECT {keys}, v FROM ( {ranked} ) WHERE r = {offset + 1}"


def _name(select: Select) -> str:
    how = HEADS[select.head].how
    return MADE[how].shown if how else select.head


def _finished(sql: str, select: Select, group: Group) -> str:
    name, order = _name(select), ", ".join(_keys(group))
    pairs = zip(_keys(group), _names(group), strict=True)
    keys = ", ".join(f"{k} AS {_title(key)}" for k, key in pairs)
    if group.finish == "median":
        return median(f"SELECT v AS m FROM ( {sql} )")
    if group.finish:
        made = FINISH[group.finish].sql
        return made.format(keys=keys, name=name, groups=sql, order=order)
    return f"SELECT {keys}, v AS {name} FROM ( {sql} ) ORDER BY {_ordered(group)}"
