"""What an import is asked to do, and what it reports.

Each option names one convention of EHRSQL-2024 (Lee et al., 2024) that was found by measuring its
database against the files it was made from; docs/import.md has the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

# progress(what is read, how much is done, of how much): bytes of a file, or indexes made
Progress = Callable[[str, int, int], None]

# heart rate; arterial pressure: systolic, diastolic, mean; respiratory rate; oxygen saturation;
# temperature in Celsius; daily weight; height in cm
EHRSQL_CHART_ITEMS = frozenset(
    {220045, 220050, 220051, 220052, 220210, 220277, 223762, 224639, 226730}
)
EHRSQL_NOW = "2100-12-31 23:59:00"


@dataclass(frozen=True)
class ImportOptions:
    """How MIMIC-IV's files become the tables. The defaults lose nothing clinical.

    ``time_shift`` "ehrsql" moves every patient's first hospital visit to the year 2100 (by whole
    multiples of 365 days), keeps the visits that begin by 2100-12-31 23:59:00 and forgets what
    happens later; "none" keeps MIMIC-IV's own times and all visits.
    ``lower_case`` writes text in lower case, as EHRSQL has it (and as the linker expects).
    ``chart_items`` are the ``chartevents`` kept (item ids), None for all of them.
    ``drop_ambiguous_names`` drops items that have the name of another kind of thing: drugs named
    as an intake or a lab, and the labs and items on EHRSQL's list (potassium is one).
    ``drop_duplicate_titles`` keeps one ICD code of those with the same title, and with it drops
    the patients' rows with the other codes.
    ``whole_doses`` keeps prescriptions with a whole number as dose, in the drug's commonest unit.
    ``drop_labs_without_unit`` drops labs whose unit is missing (INR is one).
    ``procedures_at_discharge`` dates a procedure of the day of admission to the discharge.
    ``drop_without_number`` drops labs, chart events, intakes and outputs without a number.
    ``drop_outside_visits`` drops labs, cultures and transfers of no hospital visit, and patients
    without any.
    ``drop_other_items`` lists no items of other tables than these three of the ICU in ``d_items``.
    ``patients`` restricts the import to these subject ids.
    ``synthetic_costs`` fills ``cost`` with made-up prices from this seed; MIMIC-IV has none.
    ``force`` replaces an existing output file.
    """

    time_shift: Literal["none", "ehrsql"] = "none"
    lower_case: bool = True
    chart_items: frozenset[int] | None = None
    drop_ambiguous_names: bool = False
    drop_duplicate_titles: bool = False
    whole_doses: bool = False
    drop_labs_without_unit: bool = False
    procedures_at_discharge: bool = False
    drop_without_number: bool = False
    drop_outside_visits: bool = False
    drop_other_items: bool = False
    patients: frozenset[int] | None = None
    synthetic_costs: int | None = None
    force: bool = False

    def as_ehrsql(self) -> ImportOptions:
        """The same with every convention of EHRSQL-2024 switched on."""
        return replace(
            self,
            time_shift="ehrsql",
            lower_case=True,
            chart_items=EHRSQL_CHART_ITEMS,
            drop_ambiguous_names=True,
            drop_duplicate_titles=True,
            whole_doses=True,
            drop_labs_without_unit=True,
            procedures_at_discharge=True,
            drop_without_number=True,
            drop_outside_visits=True,
            drop_other_items=True,
        )


@dataclass
class TableReport:
    """Rows of one table: read from ``file``, kept, and dropped by reason."""

    table: str
    file: str
    read: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ColumnReport:
    """What became of a column of a file: ``kept`` as column ``to`` of the table, ``made into`` it,
    ``left out`` for a reason, ``unknown`` to this version, or ``ignored`` with its file."""

    file: str
    column: str
    what: Literal["kept", "made into", "left out", "unknown", "ignored"]
    to: str = ""
    why: str = ""


@dataclass(frozen=True)
class ImportReport:
    """What an import did. ``missing`` are optional files that were not there, ``ignored`` files
    that this program has no use for; ``as_of`` is what "now" means in the new database;
    ``columns`` are all of the files'."""

    out: Path
    tables: tuple[TableReport, ...]
    missing: tuple[str, ...]
    ignored: tuple[str, ...]
    as_of: str
    seconds: float
    columns: tuple[ColumnReport, ...] = ()

    @property
    def rows(self) -> int:
        """Rows in the new database that came from files."""
        return sum(t.kept for t in self.tables)
