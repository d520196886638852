"""Where each kind of event lives in the EHRSQL-2024 schema (MIMIC-IV, 17 tables).

The compiler reads only these tables of names, so that another schema is another mapping.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ehrqa_cli.logical_form.compile.sentences import MEASURES, call


@dataclass(frozen=True)
class Lookup:
    """A dictionary table: ``key`` joins to the event's ``code``; ``label`` is what people read."""

    table: str
    key: str
    label: str
    only: str = ""


@dataclass(frozen=True)
class EventTable:
    """A kind of event as a table.

    ``via``: every row has a subject_id. "subject": no more than that; "visit": possibly the
    encounter that it lies in (hadm_id); "stay": possibly an ICU stay too (stay_id).
    ``code`` is the column that names the item, looked up in ``lookup`` when there is one.
    ``fixed`` is a condition every row meets. ``rows`` is the query of a table that several tables
    make, called ``table`` then; ``identity`` is what counts as one, where that is not a row;
    ``value`` is a column, or with brackets SQL; ``shown`` the value as people read it; ``start``
    when it began, where that is not ``time``;
    ``left``: its care unit is the last one of the visit.
    """

    table: str
    time: str
    via: str
    code: str = ""
    lookup: Lookup | None = None
    value: str = ""
    unit: str = ""
    end: str = ""
    fixed: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    rows: str = ""
    identity: str = ""
    shown: str = ""
    bounds: tuple[str, str] | None = None
    start: str = ""
    left: bool = False

    @property
    def amount(self) -> str:
        """The value of a row."""
        return self.value if "(" in self.value else f"{self.table}.{self.value}"

    @property
    def number(self) -> str:
        """How its rows are counted: what counts as one is counted once."""
        key = self.identity or {"admissions": "hadm_id", "icustays": "stay_id"}.get(self.table)
        return f"COUNT( DISTINCT {self.table}.{key} )" if key else "COUNT(*)"

    @property
    def origin(self) -> str:
        """What follows FROM."""
        return f"( {self.rows} ) AS {self.table}" if self.rows else self.table


def _items(table: str) -> Lookup:
    return Lookup("d_items", "itemid", "label", f"d_items.linksto = '{table}'")


_ADMISSION_COLUMNS = (
    ("age", "age"),
    ("insurance", "insurance"),
    ("marital", "marital_status"),
    ("language", "language"),
    ("admission_type", "admission_type"),
    ("admission_location", "admission_location"),
    ("discharge_location", "discharge_location"),
    ("race", "race"),
)
_MICRO_COLUMNS = (("sample", "spec_type_desc"), ("test", "test_name"))
_FILM = EventTable("tb_cxr", "studydatetime", "visit", "study_id")
_PERSON_COLUMNS = (("gender", "gender"), ("birth", "dob"), ("deathdate", "dod"))

SOURCES: dict[str, EventTable] = {
    "person": EventTable("patients", "dob", "subject", columns=_PERSON_COLUMNS),
    "admission": EventTable(
        "admissions", "admittime", "subject", end="dischtime", columns=_ADMISSION_COLUMNS
    ),
    "discharge": EventTable(
        "admissions",
        "dischtime",
        "subject",
        end="dischtime",
        fixed="admissions.dischtime IS NOT NULL",
        columns=_ADMISSION_COLUMNS,
        start="admittime",
        left=True,
    ),
    "icustay": EventTable(
        "icustays", "intime", "visit", end="outtime", columns=(("careunit", "first_careunit"),)
    ),
    "transfer": EventTable(
        "transfers",
        "intime",
        "visit",
        "careunit",
        end="outtime",
        columns=(("careunit", "careunit"),),
    ),
    "dx": EventTable(
        "diagnoses_icd",
        "charttime",
        "visit",
        "icd_code",
        Lookup("d_icd_diagnoses", "icd_code", "long_title"),
    ),
    "proc": EventTable(
        "procedures_icd",
        "charttime",
        "visit",
        "icd_code",
        Lookup("d_icd_procedures", "icd_code", "long_title"),
    ),
    "rx": EventTable(
        "prescriptions",
        "starttime",
        "visit",
        "drug",
        value="dose_val_rx",
        unit="dose_unit_rx",
        end="stoptime",
        columns=(("route", "route"),),
    ),
    "lab": EventTable(
        "labevents",
        "charttime",
        "visit",
        "itemid",
        Lookup("d_labitems", "itemid", "label"),
        "valuenum",
        "valueuom",
    ),
    "vital": EventTable(
        "chartevents", "charttime", "stay", "itemid", _items("chartevents"), "valuenum", "valueuom"
    ),
    "intake": EventTable(
        "inputevents",
        "starttime",
        "stay",
        "itemid",
        _items("inputevents"),
        "totalamount",
        "totalamountuom",
    ),
    "output": EventTable(
        "outputevents", "charttime", "stay", "itemid", _items("outputevents"), "value", "valueuom"
    ),
    "specimen": EventTable(
        "microbiologyevents", "charttime", "visit", "spec_type_desc", columns=_MICRO_COLUMNS
    ),
    "mtest": EventTable(
        "microbiologyevents", "charttime", "visit", "test_name", columns=_MICRO_COLUMNS
    ),
    "organism": EventTable(
        "microbiologyevents",
        "charttime",
        "visit",
        "org_name",
        fixed="microbiologyevents.org_name IS NOT NULL",
        columns=_MICRO_COLUMNS,
    ),
    "bill": EventTable("cost", "chargetime", "visit", value="cost"),
    "study": _FILM,
    **{
        kind: replace(_FILM, value=f"CAST( {call(asked, 'tb_cxr.study_id')} AS REAL )")
        for kind, asked in MEASURES.items()
    },
    "death": EventTable("patients", "dod", "subject", fixed="patients.dod IS NOT NULL", left=True),
}

# Bounds of normal vital signs: EHRSQL names them, the NeuralSQL rules bind the numbers.
VITAL_BOUNDS = {
    "temperature celsius": "temperature",
    "o2 saturation pulseoxymetry": "sao2",
    "heart rate": "heart_rate",
    "respiratory rate": "respiration",
    "arterial blood pressure systolic": "systolic_bp",
    "arterial blood pressure diastolic": "diastolic_bp",
    "arterial blood pressure mean": "mean_bp",
}
