"""Where events live in the database at hand: EHRSQL's tables, and what it has beyond them.

A concept's members may stand in several tables: a drug is ordered, administered and infused. Their
rows are then read from one table made of these, in which each row says where it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from ehrqa_cli.contracts.concepts import Concept, Item
from ehrqa_cli.logical_form.compile.mapping import EventTable
from ehrqa_cli.logical_form.form import Arg, Event, Form, Items, Lit


@dataclass(frozen=True)
class Layout:
    """What a database has: ``columns`` of each table, in lower case.

    ``ehrsql``: it follows EHRSQL-2024's conventions, where a row of microbiology counts as a test
    and the amount of an intake is that of the whole bag.
    """

    columns: Mapping[str, frozenset[str]] = field(default_factory=dict)
    ehrsql: bool = True

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is such a table with these columns."""
        return self.columns.get(table, frozenset()).issuperset(columns or ("row_id",))


EHRSQL = Layout()
CURRENT: ContextVar[Layout] = ContextVar("layout", default=EHRSQL)
# Writes the SQL of a form that stands inside another one (the compiler itself, set by it).
INNER: ContextVar[Callable[[Form], str]] = ContextVar("inner")


@dataclass(frozen=True)
class Arm:
    """A table of those that a kind of event may be read from. All but the names of its columns are
    SQL; ``fixed`` is what every row meets."""

    table: str
    time: str
    code: str
    name: str
    value: str = "NULL"
    unit: str = "NULL"
    end: str = "NULL"
    route: str = "NULL"
    fixed: str = ""

    def sql(self, codes: Iterable[str | int]) -> str:
        """The rows of these codes, in the columns that all arms share."""
        table, listed = self.table, ", ".join(map(_quoted, codes))
        columns = (
            f"{table}.row_id, {table}.subject_id, {table}.hadm_id, {self.time} AS starttime, "
            f"{self.end} AS endtime, {self.name} AS name, {self.value} AS value, "
            f"{self.unit} AS unit, {self.route} AS route, '{table}' AS origin"
        )
        fixed = f" AND {self.fixed}" if self.fixed else ""
        return f"SELECT {columns} FROM {table} WHERE {table}.{self.code} IN ( {listed} ){fixed}"


def _label(table: str) -> str:
    return f"( SELECT d_items.label FROM d_items WHERE d_items.itemid = {table}.itemid )"


def _title(table: str) -> str:
    return (
        "( SELECT d_icd_procedures.long_title FROM d_icd_procedures "
        f"WHERE d_icd_procedures.icd_code = {table}.icd_code )"
    )


# What the emar says of a dose that the patient got (MIMIC-IV's event_txt, lower or mixed case).
GIVEN = (
    "administered", "applied", "started", "restarted", "delayed administered", "delayed applied",
    "delayed started", "partial administered", "administered bolus from iv drip",
    "administered in other location", "started in other location", "applied in other location",
    "infusion reconciliation", "rate change", "rate change in other location",
)  # fmt: skip
_WAS_GIVEN = f"LOWER(emar.event_txt) IN ( {', '.join(repr(text) for text in GIVEN)} )"
_DOSE = (
    "( SELECT d.{column} FROM emar_detail AS d WHERE d.emar_id = emar.emar_id "
    "AND d.dose_given IS NOT NULL LIMIT 1 )"
)

_INFUSED = Arm(
    "inputevents", "inputevents.starttime", "itemid", _label("inputevents"),
    "inputevents.amount", "inputevents.amountuom", "inputevents.endtime",
)  # fmt: skip
ARMS: dict[str, tuple[str, tuple[Arm, ...]]] = {
    "rx": (
        "medications",
        (
            Arm(
                "prescriptions", "prescriptions.starttime", "drug", "prescriptions.drug",
                "prescriptions.dose_val_rx", "prescriptions.dose_unit_rx",
                "prescriptions.stoptime", "prescriptions.route",
            ),
            Arm(
                "emar", "emar.charttime", "medication", "emar.medication",
                _DOSE.format(column="dose_given"), _DOSE.format(column="dose_given_unit"),
                route=_DOSE.format(column="route"), fixed=_WAS_GIVEN,
            ),
            _INFUSED,
        ),
    ),
    "proc": (
        "procedures",
        (
            Arm("procedures_icd", "procedures_icd.charttime", "icd_code", _title("procedures_icd")),
            Arm(
                "procedureevents", "procedureevents.starttime", "itemid",
                _label("procedureevents"), "procedureevents.value", "procedureevents.valueuom",
                "procedureevents.endtime",
            ),
            Arm("hcpcsevents", "hcpcsevents.charttime", "hcpcs_cd",
                "hcpcsevents.short_description"),
            _INFUSED,
        ),
    ),
    "vital": (
        "measurements",
        (
            Arm("chartevents", "chartevents.charttime", "itemid", _label("chartevents"),
                "chartevents.valuenum", "chartevents.valueuom"),
            Arm("omr", "omr.charttime", "result_name", "omr.result_name", "omr.valuenum",
                "omr.valueuom"),
        ),
    ),
}  # fmt: skip
# What a clinic writes in other units than the ward, in the ward's.
METRIC = {"lbs": ("kg", 0.45359237), "inches": ("cm", 2.54)}
_METRIC_VALUE, _METRIC_UNIT = (
    f"CASE omr.valueuom {' '.join(cases)} ELSE omr.{column} END"
    for column, cases in (
        (
            "valuenum",
            [f"WHEN '{u}' THEN ROUND(omr.valuenum * {n}, 1)" for u, (_, n) in METRIC.items()],
        ),
        ("valueuom", [f"WHEN '{unit}' THEN '{to}'" for unit, (to, _) in METRIC.items()]),
    )
)
# The columns that an arm may lack where a database was imported before there were such.
_OPTIONAL = {"inputevents": ("amount", "amountuom", "endtime")}


def drawn(base: EventTable, event: Event, layout: Layout) -> EventTable:
    """The table of an event: ``base``, with what the layout knows beyond EHRSQL's; for the concept
    of several tables, one that is made of these."""
    base = base if layout.ehrsql else _beyond(base, event.kind, layout)
    if event.kind == "admission" and event.get("to", "died", "alive"):
        base = replace(base, left=True)
    if base.table == "admissions" and not layout.has("admissions", "race"):
        base = replace(base, columns=tuple(c for c in base.columns if c[0] != "race"))
    kept = {table: codes for table, codes in members(event).items() if codes}
    if not kept or [*kept] == [base.table] or event.kind not in ARMS:
        return base
    name, arms = ARMS[event.kind]
    turned = turned_units(item for concept in concepts(event) for item in concept.items)
    rows = [
        _fitting(arm, layout, metric=bool(turned)).sql(kept[arm.table])
        for arm in arms
        if arm.table in kept and layout.has(arm.table)
    ]
    if not rows:
        return base
    route = (("route", "route"),) if event.kind == "rx" else ()
    made = EventTable(name, "starttime", "subject", "name", value="value", unit="unit",
                      end="endtime", columns=route)  # fmt: skip
    return replace(made, via=base.via, rows=" UNION ALL ".join(rows))


def members(event: Event) -> dict[str, list[str | int]]:
    """The codes of an event's concepts, by table, less those of what it is not; empty without
    concepts."""
    found: dict[str, list[str | int]] = {}
    unwanted = {(x.table, x.code) for c in _meant(split(event.items)[1]) for x in c.items}
    for concept in concepts(event):
        for item in concept.items:
            if (item.table, item.code) not in unwanted:
                found.setdefault(item.table, []).append(item.code)
    return found


def concepts(event: Event) -> Iterator[Concept]:
    """The concepts that an event's items stand for."""
    yield from _meant(split(event.items)[0])


def _meant(args: Iterable[Arg]) -> Iterator[Concept]:
    for arg in args:
        if isinstance(arg, Lit) and arg.concept is not None:
            yield arg.concept


def split(items: Items | None) -> tuple[tuple[Arg, ...], tuple[Arg, ...]]:
    """The items that are meant, and those behind ``not``."""
    if items is None:
        return (), ()
    if items.other:
        return (), items.args
    unwanted = tuple(a for op, a in zip(items.ops, items.args[1:], strict=False) if op == "not")
    wanted = [a for op, a in zip(("or", *items.ops), items.args, strict=False) if op != "not"]
    return tuple(wanted), unwanted


def turned_units(items: Iterable[Item]) -> dict[str, str]:
    """The units of items of several tables that are read in another one, and which that is."""
    mine = list(items)
    if len({item.table for item in mine}) < 2:
        return {}
    return {item.unit: METRIC[item.unit][0] for item in mine if item.unit in METRIC}


def codes_in(items: Iterable[Item], table: str, column: str) -> list[str]:
    """SQL literals of the codes that stand in one column."""
    return [_quoted(x.code) for x in items if (x.table, x.column) == (table, column)]


def _quoted(code: str | int) -> str:
    return str(code) if isinstance(code, int) else "'" + code.replace("'", "''") + "'"


def _fitting(arm: Arm, layout: Layout, *, metric: bool) -> Arm:
    """The arm without what this database has no columns for, a clinic's in ``metric`` units."""
    if arm.table == "omr" and metric:
        return replace(arm, value=_METRIC_VALUE, unit=_METRIC_UNIT)
    wanted = _OPTIONAL.get(arm.table, ())
    if arm.table == "emar" and not layout.has("emar_detail"):
        return replace(arm, value="NULL", unit="NULL", route="NULL")
    if wanted and not layout.has(arm.table, *wanted):
        value, unit = f"{arm.table}.totalamount", f"{arm.table}.totalamountuom"
        return replace(arm, value=value, unit=unit, end="NULL")
    return arm


def _beyond(base: EventTable, kind: str, layout: Layout) -> EventTable:
    table = base.table
    if kind == "lab" and layout.has(table, "value"):
        told = f", NULLIF({table}.comments, '___')" if layout.has(table, "comments") else ""
        said = f"COALESCE({table}.valuenum, {table}.value{told})"
        bounds = ("valuemin", "valuemax") if layout.has(table, "valuemin", "valuemax") else None
        return replace(base, shown=said, fixed=f"{said} IS NOT NULL", bounds=bounds)
    if kind == "intake" and layout.has(table, "amount", "amountuom"):
        return replace(base, value="amount", unit="amountuom", end="endtime")
    if kind in ("specimen", "mtest", "organism"):
        one = "micro_specimen_id" if layout.has(table, "micro_specimen_id") else ""
        grown = f"{base.fixed} AND LOWER({table}.org_name) <> 'cancelled'" if base.fixed else ""
        return replace(base, identity=one, fixed=grown)
    return base
