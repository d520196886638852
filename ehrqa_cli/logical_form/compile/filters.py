"""One function per sort of filter: its condition on the event that it stands at, as SQL."""

from __future__ import annotations

from collections.abc import Callable

from ehrqa_cli.logical_form.compile.layout import INNER, codes_in, concepts
from ehrqa_cli.logical_form.compile.mapping import SOURCES, VITAL_BOUNDS, EventTable
from ehrqa_cli.logical_form.compile.sentences import call, condition, on_both_sides
from ehrqa_cli.logical_form.compile.values import (
    among,
    duration,
    ended,
    literal,
    measure,
    number,
    part,
    quote,
    unsupported,
)
from ehrqa_cli.logical_form.form import Combine, Event, Filter, Form, Select
from ehrqa_cli.logical_form.grammar import COLUMNS, FILTERS, HEADS, KEYS, KINDS, SETS

_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_LISTED = ("patients", "visits", "icustays")


def _column(item: Filter, _event: Event, src: EventTable) -> str:
    spec = FILTERS[item.name]
    return f"{src.table}.{spec.part or dict(src.columns)[spec.fixes]} {among(item)}"


def _compare(item: Filter, _event: Event, src: EventTable) -> str:
    sign, limit = part(item), number(item.args[0])
    compared = f"{measure(src)} {sign} {limit}"
    if src.bounds is None:
        return compared
    least, most = src.bounds  # "<5" is under 10
    bound = f"{src.table}.{least} >= {limit}" if ">" in sign else f"{src.table}.{most} <= {limit}"
    return f"( {compared} OR {measure(src)} IS NULL AND {bound} )"


def _charge(item: Filter, _event: Event, src: EventTable) -> str:
    return f"{src.table}.event_type = {quote(SOURCES[part(item)].table)}"


def _left(item: Filter, _event: Event, src: EventTable) -> str:
    return f"LOWER({src.table}.discharge_location) {part(item)} 'died'"


def _open(_item: Filter, event: Event, src: EventTable) -> str:
    end = ended(src)
    if event.kind not in ("rx", "intake"):
        return f"{end} IS NULL"
    started = f"{src.table}.{src.time} <= current_time"
    return f"{started} AND ( {end} IS NULL OR {end} > current_time )"


def _showing(item: Filter, _event: Event, src: EventTable) -> str:
    found = condition(item.items, item.places, f"{src.table}.study_id")
    return f"NOT ( {found} )" if part(item) else found


def _bilateral(item: Filter, _event: Event, src: EventTable) -> str:
    if item.places:
        raise unsupported("both sides of one place")
    return on_both_sides(item.items, f"{src.table}.study_id")


def _view(item: Filter, _event: Event, src: EventTable) -> str:
    sentence = HEADS["view"].part
    return f"LOWER( {call(sentence, f'{src.table}.study_id')} ) = {quote(part(item))}"


def _width(item: Filter, _event: Event, src: EventTable) -> str:
    kind = part(item).removeprefix("not ")
    asked = call(KINDS[kind].sentence, f"{src.table}.study_id")
    return f"{asked} = {int(kind == part(item))}"


def _clock(item: Filter, _event: Event, src: EventTable) -> str:
    return part(item).format(t=f"{src.table}.{src.time}")


def _weekday(item: Filter, _event: Event, src: EventTable) -> str:
    named = [str(literal(arg)).lower() for arg in item.args]
    if unknown := [name for name in named if name not in _DAYS]:
        raise unsupported(f"the day {unknown[0]!r}")
    days = ", ".join(f"'{_DAYS.index(name)}'" for name in named)
    return f"strftime('%w',{src.table}.{src.time}) IN ( {days} )"


def _among(item: Filter, _event: Event, src: EventTable) -> str:
    """The row's patient, visit or ICU stay is one of those that a query lists."""
    if item.query is None:
        raise unsupported(f"{item.name} without a query")
    listed = f"IN ( {INNER.get()(item.query)} )"
    return f"{src.table}.{_listed(item.query)} {part(item)} {listed}".replace("  ", " ")


def _listed(query: Form) -> str:
    """What a query lists: the column of patients, visits or ICU stays. Raises FormError."""
    if isinstance(query, Combine) and query.op in SETS:
        left, right = _listed(query.left), _listed(query.right)
        if left == right:
            return left
    if isinstance(query, Select) and not query.also:
        group = query.group
        name = query.head if group is None else group.key if group.finish == "keys" else ""
        if name in _LISTED and not (group and group.also):
            return COLUMNS[name].shown
    raise unsupported("being among what is no list of patients or stays")


def _lasting(item: Filter, _event: Event, src: EventTable) -> str:
    start, end = f"{src.table}.{src.start or src.time}", f"{src.table}.{src.end}"
    return f"datetime({end}) {part(item)} datetime({start},'+{duration(item.args[0])}')"


def _reference(item: Filter, event: Event, src: EventTable) -> str:
    return against_range(part(item), event, src)


def against_range(compared: str, event: Event, src: EventTable) -> str:
    """A comparison with the reference range: of the row (lab), or of the vital sign."""
    if event.kind == "lab":
        low, high = f"{src.table}.ref_range_lower", f"{src.table}.ref_range_upper"
    else:
        label = str(literal(event.items.args[0])) if event.items else ""
        name = VITAL_BOUNDS.get(label)
        if name is None or event.items is None or len(event.items.args) > 1:
            raise unsupported(f"no normal range is known for {label or 'vital signs in general'}")
        low, high = f"{name}_lower", f"{name}_upper"
    return f"{src.table}.{src.value} {compared.format(low=low, high=high)}"


def _ago(item: Filter, _event: Event, src: EventTable) -> str:
    span = f"datetime(current_time,'-{duration(item.args[0])}')"
    return f"datetime({src.table}.{src.time}) {part(item)} {span}"


def _relative(item: Filter, _event: Event, src: EventTable) -> str:
    t, back = f"{src.table}.{src.time}", part(item)
    unit = back.split()[1]
    start = f"'start of {unit}'"
    found = f"datetime({t},{start}) = datetime(current_time,{start},'{back}')"
    return f"{found} AND {_inside(literal(item.args[0]), unit, t)}" if item.args else found


def _date(item: Filter, _event: Event, src: EventTable) -> str:
    given, t, sign = literal(item.args[0]), f"{src.table}.{src.time}", part(item)
    value = f"{given:02d}" if isinstance(given, int) and given <= 12 else str(given)
    if "Q" in value:
        return f"{KEYS['per_quarter'].sql.format(t=t)} {sign} {quote(value)}"
    if len(value) in (2, 5):  # a month, or month and day, of this year
        shape = "%Y-%m" if len(value) == 2 else "%Y-%m-%d"
        return f"strftime('{shape}',{t}) {sign} strftime('%Y',current_time) || '-{value}'"
    formats = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d"}
    if len(value) not in formats:
        return f"{t} {sign} {quote(value)}"
    return f"strftime('{formats[len(value)]}',{t}) {sign} {quote(value)}"


def _inside(value: str | int | float, unit: str, t: str) -> str:
    if isinstance(value, str):
        return f"strftime('%m-%d',{t}) = {quote(value)}"
    part = "%m" if unit == "year" else "%d"
    return f"strftime('{part}',{t}) = '{int(value):02d}'"


def _outside(_item: Filter, _event: Event, src: EventTable) -> str:
    return f"{src.table}.hadm_id IS NULL"


def _race(item: Filter, _event: Event, src: EventTable) -> str:
    inside = f"SELECT admissions.subject_id FROM admissions WHERE admissions.race {among(item)}"
    return f"{src.table}.subject_id IN ( {inside} )"


def _service(item: Filter, _event: Event, src: EventTable) -> str:
    inside = f"SELECT services.hadm_id FROM services WHERE services.curr_service {among(item)}"
    return f"{src.table}.hadm_id IN ( {inside} )"


def _interpretation(item: Filter, event: Event, src: EventTable) -> str:
    """What was tested so; or an organism whose name says so."""
    said = f"LOWER({src.table}.interpretation) = {quote(part(item))}"
    tested = f"{src.table}.ab_name {among(item)} AND {said}"
    named = [x for c in concepts(event) for x in c.items if "resistant" in x.name.lower()]
    codes = ", ".join(codes_in(named, src.table, src.code)) if part(item) == "r" else ""
    return f"( {tested} OR {src.table}.{src.code} IN ( {codes} ) )" if codes else tested


# What writes a filter's condition on its own event, by the name under which filters.toml asks for
# it. Patients, people, relations and numbers of times are written with the event as a whole.
WRITERS: dict[str, Callable[[Filter, Event, EventTable], str]] = {
    "ago": _ago,
    "among": _among,
    "bilateral": _bilateral,
    "charge": _charge,
    "clock": _clock,
    "column": _column,
    "compare": _compare,
    "date": _date,
    "interpretation": _interpretation,
    "lasting": _lasting,
    "left": _left,
    "open": _open,
    "outside": _outside,
    "race": _race,
    "service": _service,
    "reference": _reference,
    "relative": _relative,
    "showing": _showing,
    "view": _view,
    "weekday": _weekday,
    "width": _width,
}
