"""What a row is grouped by or shows beside others, and rows listed by columns, as SQL."""

from __future__ import annotations

from ehrqa_cli.logical_form.compile.conditions import visit_of
from ehrqa_cli.logical_form.compile.mapping import SOURCES, EventTable
from ehrqa_cli.logical_form.compile.relations import rows, stay_of
from ehrqa_cli.logical_form.compile.sentences import call
from ehrqa_cli.logical_form.compile.values import (
    in_unit,
    length,
    measure,
    number,
    source,
    unsupported,
    where,
)
from ehrqa_cli.logical_form.form import Event, Keep, Select
from ehrqa_cli.logical_form.grammar import COLUMNS, HEADS, KEEPS, KEYS, PERIODS

_PERSON = dict(SOURCES["person"].columns)


def title(name: str) -> str:
    """The name of a column that a person reads."""
    return COLUMNS[name].shown or name


def _titled(name: str, src: EventTable) -> str:
    return "study_id" if name == "name" and src.code == "study_id" else title(name)


def column(src: EventTable, name: str) -> str:
    """What a row is grouped by, or shows beside others. Raises FormError."""
    table, time = src.table, f"{src.table}.{src.time}"
    own = {"patients": "subject_id", "visits": "hadm_id", **dict(src.columns)}
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
        decade = _decade("admissions.age")
        if table == "tb_cxr":
            return _decade(column(src, "age"))
        return decade if table == "admissions" else _of_visit(src, decade)
    if name in admission:
        found = _of_visit(src, f"admissions.{admission[name]}")
        return _of_film(src, name, found) if table == "tb_cxr" else found
    if name in _PERSON:
        return _beside("patients", f"patients.{_PERSON[name]}", "subject_id", table)
    if name == "value" and src.value:
        return src.amount
    plain = {"unit": src.unit, "time": src.time, "endtime": src.end}.get(name)
    if plain:
        return f"{table}.{plain}"
    if name == "length":
        return length(src)
    raise unsupported(f"{name} of {table}")


def _beside(table: str, value: str, key: str, main: str) -> str:
    return f"( SELECT {value} FROM {table} WHERE {table}.{key} = {main}.{key} )"


def _of_visit(src: EventTable, value: str) -> str:
    return f"( SELECT {value} FROM admissions WHERE admissions.hadm_id = {visit_of(src)} )"


def _of_film(src: EventTable, name: str, found: str) -> str:
    """The age and race at a film: of its visit, or the patient's where it was taken outside."""
    year = "CAST( strftime('%Y',{}) AS INTEGER )"
    then = year.format(f"{src.table}.{src.time}")
    if name == "age":
        born = _beside("patients", year.format("patients.dob"), "subject_id", src.table)
        return f"COALESCE( {found}, {then} - {born} )"
    if name == "race":
        theirs = _beside("admissions", "MAX( admissions.race )", "subject_id", src.table)
        return f"COALESCE( {found}, {theirs} )"
    return found


def _decade(age: str) -> str:
    return f"( {age} - {age} % 10 ) || '-' || ( {age} - {age} % 10 + 9 )"


def _in_icu(src: EventTable, name: str) -> str:
    """The ICU stay in which a row was charted, or its care unit. Raises FormError."""
    if name == "icustays":
        return stay_of(src)
    if src.via == "stay" and not src.rows:
        return _beside("icustays", "icustays.first_careunit", "stay_id", src.table)
    if src.left:
        # The unit behind the latest time, as one aggregate: any database can join by it.
        unit = "strftime('%Y-%m-%d %H:%M:%S',ward.intime) || ward.careunit"
        latest = f"SELECT SUBSTR( MAX( {unit} ), 20 ) FROM transfers AS ward"
        return f"( {latest} WHERE ward.hadm_id = {visit_of(src)} )"
    time = f"{src.table}.{src.time}"
    return (
        "( SELECT MIN( ward.careunit ) FROM transfers AS ward WHERE "
        f"ward.subject_id = {src.table}.subject_id AND {time} >= ward.intime "
        f"AND ( ward.outtime IS NULL OR {time} < ward.outtime ) )"
    )


def _label(src: EventTable) -> str:
    if src.table == "cost":
        return "cost.event_type"
    code, look = f"{src.table}.{src.code}", src.lookup
    if look is None:
        return code
    table = look.table
    return f"( SELECT {table}.{look.label} FROM {table} WHERE {table}.{look.key} = {code} )"


def label_of(src: EventTable, codes: str, distinct: str = "") -> str:
    """Names for codes: through the dictionary, or the codes themselves."""
    look = src.lookup
    if look is None:
        return codes
    name = f"{look.table}.{look.label}"
    return f"SELECT {distinct}{name} FROM {look.table} WHERE {look.table}.{look.key} IN ( {codes} )"


def _listed(select: Select, src: EventTable) -> str:
    names = (select.head, *select.also)
    shown = {n: column(src, n) for n in names}
    if "length" in shown:
        shown["length"] = in_unit(select, shown["length"])
    return ", ".join(f"{sql} AS {_titled(n, src)}" for n, sql in shown.items())


def pair(select: Select) -> str:
    """Columns side by side, one row an event; with an order word only the rows at that time."""
    src = source(select.event)
    return f"SELECT DISTINCT {_listed(select, src)} FROM {src.origin}{where(rows(select.event))}"


def _ranked(select: Select, src: EventTable) -> str:
    """What the highest is highest in: the value; where only lengths are asked, the length."""
    heads = (select.head, *select.also)
    return length(src) if "length" in heads and "value" not in heads else measure(src)


def kept(select: Select, keep: Keep) -> str:
    """Columns of the newest, oldest, highest or lowest rows; ties are kept."""
    src = source(select.event)
    by = f"{src.table}.{src.time}" if keep.which in ("newest", "oldest") else _ranked(select, src)
    found = where([*rows(select.event), f"{by} IS NOT NULL"])
    inner = f"SELECT DISTINCT {_listed(select, src)}, {by} AS o FROM {src.origin}{found}"
    names = ", ".join(_titled(n, src) for n in (select.head, *select.also))
    way = KEEPS[keep.which].way
    ranked = f"SELECT {names}, RANK() OVER ( ORDER BY o {way} ) AS r FROM ( {inner} )"
    return f"SELECT {names} FROM ( {ranked} ) WHERE r <= {number(keep.most)} ORDER BY r, {names}"
