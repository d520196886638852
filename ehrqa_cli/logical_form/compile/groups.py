"""Groups of rows, with one measure or several side by side, as SQL.

Beyond EHRSQL's templates: what clinicians and administrators ask of cohorts ("by", "per", "top n
with the numbers", "more than"). Groups without a key are left out; ties are kept.
"""

from __future__ import annotations

from dataclasses import replace

from ehrqa_cli.logical_form.compile.columns import column, title
from ehrqa_cli.logical_form.compile.mapping import EventTable
from ehrqa_cli.logical_form.compile.measures import (
    TIMED,
    aggregate,
    alone,
    measured,
    median,
    timed,
)
from ehrqa_cli.logical_form.compile.relations import rows
from ehrqa_cli.logical_form.compile.values import (
    in_unit,
    number,
    order_of,
    source,
    unsupported,
    where,
)
from ehrqa_cli.logical_form.form import Arg, Combine, Group, Select
from ehrqa_cli.logical_form.grammar import CUTS, FINISH, HAVING, HEADS, MADE, OPS, ORDERED


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
        asked = (f"( {alone(one)} ) AS {name}" for one, name in zip(each, names, strict=True))
        return f"SELECT {', '.join(asked)}"
    if group.finish:
        raise unsupported("something made of several measures of groups")
    ks = _keys(group)
    listed = [f"T1.{k} AS {title(key)}" for k, key in zip(ks, _names(group), strict=True)]
    listed += [f"T{i}.v AS {name}" for i, name in enumerate(names, 1)]
    found = [_per_group(one, group, source(one.event)) for one in each]
    joined = f"( {_kept(found[0], group)} ) AS T1"
    for i, sql in enumerate(found[1:], 2):
        on = " AND ".join(f"T{i}.{k} = T1.{k}" for k in ks)
        joined += f" LEFT JOIN ( {sql} ) AS T{i} ON {on}"
    return f"SELECT {', '.join(listed)} FROM {joined} ORDER BY {_ordered(group, 'T1.')}"


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


def grouped(select: Select, group: Group, groups: str = "") -> str:
    """The number of each group, cut, compared and finished as the form says. ``groups``: the SQL of
    keys and numbers v, where these are no rows of a table."""
    return _finished(groups or _per_group(select, group, source(select.event)), select, group)


def _kept(groups: str, group: Group) -> str:
    """Keys and number v of the groups that the form keeps."""
    keys = ", ".join(_keys(group))
    parts = ["v IS NOT NULL"]
    if group.having and group.limit is not None:
        parts.append(f"v {HAVING[group.having].part} {number(group.limit)}")
    sql = f"SELECT {keys}, v FROM ( {groups} ){where(parts)}"
    if group.cut and group.most is not None:
        sql = _cut(sql, keys, group.cut, group.most)
    return sql


def _cut(sql: str, keys: str, cut: str, most: Arg) -> str:
    way = CUTS[cut].way
    ranked = f"SELECT {keys}, v, DENSE_RANK() OVER ( ORDER BY v {way} ) AS r FROM ( {sql} )"
    return f"SELECT {keys}, v FROM ( {ranked} ) WHERE r <= {number(most)}"


def between(form: Combine, left: Select, right: Select) -> str:
    """An operation between the numbers of the same groups; a group the first lacks counts as 0
    there."""
    op, ours, theirs = form.op, left.group, right.group
    if (
        ours is None
        or theirs is None
        or _names(ours) != _names(theirs)
        or (ours.finish or theirs.finish or left.also or right.also)
    ):
        raise unsupported("groups of different kinds, or a finished group, in one calculation")
    ks = _keys(ours)
    named = [f"{k} AS {title(n)}" for k, n in zip(ks, _names(ours), strict=True)]
    listed = ", ".join(f"B.{k}" for k in (ks if form.cut else named))
    on = " AND ".join(f"A.{k} = B.{k}" for k in ks)
    ours_src, theirs_src = source(left.event), source(right.event)
    if ours_src.left or theirs_src.left:  # one unit of an admission on both sides
        ours_src, theirs_src = _at_its_end(ours_src), _at_its_end(theirs_src)
    sql = (
        f"SELECT {listed}, {OPS[op].by_group} AS {'v' if form.cut else op} "
        f"FROM ( {_kept(_per_group(right, theirs, theirs_src), theirs)} ) AS B "
        f"LEFT JOIN ( {_kept(_per_group(left, ours, ours_src), ours)} ) AS A ON {on}"
    )
    if form.cut is None or form.most is None:
        return f"{sql} ORDER BY {', '.join(f'B.{k}' for k in ks)}"
    cut = _cut(f"SELECT * FROM ( {sql} ) WHERE v IS NOT NULL", ", ".join(ks), form.cut, form.most)
    ordered = f"v {CUTS[form.cut].way}, {', '.join(ks)}"
    return f"SELECT {', '.join(named)}, v AS {op} FROM ( {cut} ) ORDER BY {ordered}"


def _at_its_end(src: EventTable) -> EventTable:
    return replace(src, left=True) if src.table == "admissions" else src


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
    value, also = measured(select, src)
    how, keys = HEADS[select.head].how, ", ".join(_keys(group))
    time = f", {src.table}.{src.time} AS t" if how in TIMED else ""
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
    inner = timed(how, inner, keys) if how in TIMED else inner
    sql = f"SELECT {keys}, {aggregate(select, src)} AS v FROM ( {inner} )"
    return f"{sql}{where(_known(group))} GROUP BY {keys}"


def _totals_per_group(select: Select, group: Group, src: EventTable) -> str:
    """Of the totals of the hospital visits in each group."""
    keys = ", ".join(_keys(group))
    inner = (
        f"SELECT {src.table}.hadm_id, {_columns(group, src)}, {src.table}.{src.value} AS m "
        f"FROM {src.origin}{where(rows(select.event))}"
    )
    visits = f"SELECT hadm_id, {keys}, SUM( m ) AS m FROM ( {inner} ) GROUP BY hadm_id, {keys}"
    sql = f"SELECT {keys}, {aggregate(select, src)} AS v FROM ( {visits} )"
    return f"{sql}{where(_known(group))} GROUP BY {keys}"


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


def _finished(groups: str, select: Select, group: Group) -> str:
    sql, name, order = _kept(groups, group), _name(select), ", ".join(_keys(group))
    pairs = zip(_keys(group), _names(group), strict=True)
    keys = ", ".join(f"{k} AS {title(key)}" for k, key in pairs)
    if group.finish == "median":
        return median(f"SELECT v AS m FROM ( {sql} )")
    if group.finish:
        total = "SUM( v ) OVER ( )"
        if group.cut or group.having:  # a share is one of all groups, kept or not
            total = f"( SELECT SUM( v ) FROM ( {groups} ) )"
        made = FINISH[group.finish].sql
        return made.format(keys=keys, name=name, groups=sql, order=order, total=total)
    return f"SELECT {keys}, v AS {name} FROM ( {sql} ) ORDER BY {_ordered(group)}"
