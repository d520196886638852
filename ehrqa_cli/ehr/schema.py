"""The tables of an EHR, as data: the 17 of EHRSQL-2024 (Lee et al., 2024) and optional ones.

Everything that needs names goes by this module: the importer and the demo create tables from
it, the backend checks a database against it. Times are text ``YYYY-MM-DD HH:MM:SS``; text is
lower case; every table has ``row_id``, an integer that names one row and serves as evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

META_TABLE = "ehrqa_meta"
TIME_TYPE = "TIMESTAMP(0)"


@dataclass(frozen=True)
class Column:
    """One column: its SQL type, whether it may be NULL, and where MIMIC-IV has it."""

    name: str
    type: str
    required: bool = True
    source: str = ""
    extra: bool = False  # ours, not EHRSQL-2024's: a database without it is still an EHR

    def ddl(self) -> str:
        """The column's line in CREATE TABLE."""
        return f"{self.name} {self.type}{' NOT NULL' if self.required else ''}"


@dataclass(frozen=True)
class EhrTable:
    """One table. ``time`` is the column that dates an event; ``indexes`` are column lists.

    The indexes are those that SQLite chose for EHRSQL-2024's gold queries, and their like.
    """

    name: str
    columns: tuple[Column, ...]
    time: str | None = None
    foreign_keys: tuple[tuple[str, str, str], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    unique: str | None = None  # what other tables refer to it by
    optional: bool = False

    @property
    def key(self) -> str:
        """The column whose value names one row."""
        return "row_id"

    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(c.name for c in self.columns)

    def ddl(self) -> str:
        """CREATE TABLE; ``row_id`` is the rowid itself, which saves an index a table."""
        lines = [f"{self.key} INTEGER NOT NULL PRIMARY KEY"]
        lines += [c.ddl() for c in self.columns if c.name != self.key]
        lines += [f"FOREIGN KEY({c}) REFERENCES {t}({r})" for c, t, r in self.foreign_keys]
        return f"CREATE TABLE {self.name} (\n    " + ",\n    ".join(lines) + "\n)"

    def every_index(self) -> list[tuple[str, tuple[str, ...], bool]]:
        """Name and columns of each index, and is it unique; to be made after the rows are in."""
        one = [(f"ux_{self.name}_{self.unique}", (self.unique,), True)] if self.unique else []
        return one + [(f"ix_{self.name}_{'_'.join(c)}", c, False) for c in self.indexes]


def _row_id() -> Column:
    return Column("row_id", "INT", source="numbered here, from 0, in file order")


def _id(name: str) -> Column:
    return Column(name, "INT", source=name)


def _text(name: str, width: int, source: str = "", required: bool = True) -> Column:
    return Column(name, f"VARCHAR({width})", required, source or name)


def _time(name: str, source: str = "", required: bool = True) -> Column:
    return Column(name, TIME_TYPE, required, source or name)


def _number(name: str, source: str = "", extra: bool = False, required: bool = False) -> Column:
    return Column(name, "DOUBLE PRECISION", required, source or name, extra)


_PATIENT = ("subject_id", "patients", "subject_id")
_VISIT = ("hadm_id", "admissions", "hadm_id")
_STAY = ("stay_id", "icustays", "stay_id")
_ITEM = ("itemid", "d_items", "itemid")
_SUBJECT, _HADM, _STAYID, _ITEMID = _id("subject_id"), _id("hadm_id"), _id("stay_id"), _id("itemid")
# MIMIC-IV has labs, cultures and transfers outside hospital visits; the importer can keep them
_VISIT_IF_ANY = Column("hadm_id", "INT", False, "hadm_id")


def _patients() -> EhrTable:
    columns = (
        _row_id(),
        _SUBJECT,
        _text("gender", 5),
        _time("dob", "mid-July of anchor_year - anchor_age: MIMIC-IV gives no day of birth"),
        _time("dod", required=False),
    )
    return EhrTable("patients", columns, unique="subject_id")


def _admissions() -> EhrTable:
    columns = (
        _row_id(),
        _SUBJECT,
        _HADM,
        _time("admittime"),
        _time("dischtime", required=False),
        _text("admission_type", 50),
        _text("admission_location", 50, required=False),
        _text("discharge_location", 50, required=False),
        _text("insurance", 255, required=False),
        _text("language", 10, required=False),
        _text("marital_status", 50, required=False),
        Column("age", "INT", source="anchor_age + year of admission - anchor_year"),
    )
    indexes = (("subject_id", "admittime"), ("admittime",), ("dischtime",))
    return EhrTable("admissions", columns, "admittime", (_PATIENT,), indexes, "hadm_id")


def _dictionary(name: str, key: Column, *more: Column) -> EhrTable:
    indexes = tuple((m.name,) for m in more[:2])
    return EhrTable(name, (_row_id(), key, *more), indexes=indexes, unique=key.name)


def _coded(name: str, dictionary: str, time_source: str) -> EhrTable:
    columns = (
        _row_id(),
        _SUBJECT,
        _HADM,
        _text("icd_code", 10, "'icd' + icd_version + '|' + icd_code"),
        _time("charttime", time_source),
    )
    keys = (_VISIT, ("icd_code", dictionary, "icd_code"))
    indexes = (("icd_code", "charttime"), ("hadm_id",))
    return EhrTable(name, columns, "charttime", keys, indexes)


def _labevents() -> EhrTable:
    columns = (
        _row_id(),
        _SUBJECT,
        _VISIT_IF_ANY,
        _ITEMID,
        _time("charttime", required=False),
        _number("valuenum"),
        _text("valueuom", 20, required=False),
        _number("ref_range_lower", extra=True),
        _number("ref_range_upper", extra=True),
        Column("flag", "VARCHAR(10)", False, "flag", extra=True),
    )
    keys = (_VISIT, ("itemid", "d_labitems", "itemid"))
    indexes = (("itemid", "charttime"), ("hadm_id", "itemid"))
    return EhrTable("labevents", columns, "charttime", keys, indexes)


def _prescriptions() -> EhrTable:
    columns = (
        _row_id(),
        _SUBJECT,
        _HADM,
        _time("starttime"),
        _time("stoptime", required=False),
        _text("drug", 255),
        _text("dose_val_rx", 100, required=False),
        _text("dose_unit_rx", 50, required=False),
        _text("route", 50, required=False),
    )
    indexes = (("drug", "starttime"), ("hadm_id",), ("subject_id", "starttime"))
    return EhrTable("prescriptions", columns, "starttime", (_VISIT,), indexes)


def _cost() -> EhrTable:
    columns = (
        _row_id(),
        _SUBJECT,
        _HADM,
        _text("event_type", 20, "none in MIMIC-IV: the table of the event"),
        Column("event_id", "INT", source="none in MIMIC-IV: row_id in that table"),
        _time("chargetime", "none in MIMIC-IV"),
        _number("cost", "none in MIMIC-IV", required=True),
    )
    indexes = (("event_type", "event_id"), ("hadm_id",))
    return EhrTable("cost", columns, "chargetime", (_VISIT,), indexes)


def _icu_events(name: str, *rest: Column, time: str) -> EhrTable:
    indexes = (("itemid",), ("stay_id", "itemid"))  # queries go by the stays of a visit
    columns = (_row_id(), _SUBJECT, _HADM, _STAYID, *rest)
    return EhrTable(name, columns, time, (_VISIT, _STAY, _ITEM), indexes)


def _microbiology() -> EhrTable:
    columns = (
        _row_id(),
        _SUBJECT,
        _VISIT_IF_ANY,
        _time("charttime"),
        _text("spec_type_desc", 100, required=False),
        _text("test_name", 100, required=False),
        _text("org_name", 100, required=False),
    )
    indexes = (("hadm_id",), ("spec_type_desc",), ("test_name",), ("org_name",))
    return EhrTable("microbiologyevents", columns, "charttime", (_VISIT,), indexes)


def _icustays() -> EhrTable:
    columns = (
        _row_id(),
        _SUBJECT,
        _HADM,
        _STAYID,
        _text("first_careunit", 20),
        _text("last_careunit", 20),
        _time("intime"),
        _time("outtime", required=False),
    )
    return EhrTable("icustays", columns, "intime", (_VISIT,), (("hadm_id",),), "stay_id")


def _transfers() -> EhrTable:
    columns = (
        _row_id(),
        _SUBJECT,
        _VISIT_IF_ANY,
        _id("transfer_id"),
        _text("eventtype", 20),
        _text("careunit", 20, required=False),
        _time("intime"),
        _time("outtime", required=False),
    )
    indexes = (("hadm_id",), ("careunit",))
    return EhrTable("transfers", columns, "intime", (_VISIT,), indexes)


def _tb_cxr() -> EhrTable:
    columns = (
        _row_id(),
        _SUBJECT,
        Column("hadm_id", "INT", False, "the admission the study lies in, if any"),
        _id("study_id"),
        _text("image_id", 100, "dicom_id"),
        _time("studydatetime", "StudyDate and StudyTime"),
        _text("viewposition", 10, "ViewPosition"),
    )
    indexes = (("subject_id", "studydatetime"), ("study_id",), ("hadm_id",))
    return EhrTable("tb_cxr", columns, "studydatetime", (_PATIENT,), indexes, optional=True)


def _cxr_source() -> EhrTable:
    """What made the scene graphs in the tables below: pairs of name and value."""
    return EhrTable(
        "cxr_source", (_row_id(), Column("name", "TEXT"), Column("value", "TEXT")), optional=True
    )


def _d_cxr_relations() -> EhrTable:
    columns = (
        _row_id(),
        Column("relation", "INT", source="numbered here, from 0, those that the source sees first"),
        _text("object", 50, "none: the image as a whole", required=False),
        _text("attribute", 50),
        _text("category", 50),
        Column("covered", "INT", source="1: the source says something of it"),
        Column("possible", "INT", source="1: it can occur"),
        Column("unsaid", "INT", source="studies of which the source does not say it"),
    )
    return EhrTable("d_cxr_relations", columns, unique="relation", optional=True)


def _cxr_studies() -> EhrTable:
    columns = (
        _row_id(),
        _id("study_id"),
        _text("image_id", 200, required=False),
        _number("pa", "probability of a PA view, else AP"),
        _number("female", "probability of a female patient"),
        _number("ctr", "width of the heart over that of the thorax"),
        _number("mtr", "width of the mediastinum over that of the thorax"),
        Column("problem", "TEXT", False, "why the image says nothing; NULL: it does"),
    )
    return EhrTable("cxr_studies", columns, unique="study_id", optional=True)


def _cxr_relations() -> EhrTable:
    columns = (
        _row_id(),
        _id("study_id"),
        Column("relation", "INT", source="d_cxr_relations.relation"),
        _number("probability", "NULL: cannot be said; covered and without a row: 0"),
    )
    keys = (
        ("study_id", "cxr_studies", "study_id"),
        ("relation", "d_cxr_relations", "relation"),
    )
    indexes = (("study_id", "relation"), ("relation", "study_id"))
    return EhrTable("cxr_relations", columns, None, keys, indexes, optional=True)


TABLES: tuple[EhrTable, ...] = (
    _patients(),
    _admissions(),
    _dictionary(
        "d_icd_diagnoses",
        _text("icd_code", 10, "'icd' + icd_version + '|' + icd_code"),
        _text("long_title", 255),
    ),
    _dictionary(
        "d_icd_procedures",
        _text("icd_code", 10, "'icd' + icd_version + '|' + icd_code"),
        _text("long_title", 255),
    ),
    _dictionary("d_labitems", _ITEMID, _text("label", 200, required=False)),
    _dictionary(
        "d_items",
        _ITEMID,
        _text("label", 200),
        _text("abbreviation", 200),
        _text("linksto", 50),
    ),
    _coded("diagnoses_icd", "d_icd_diagnoses", "admittime of the visit"),
    _coded("procedures_icd", "d_icd_procedures", "chartdate"),
    _labevents(),
    _prescriptions(),
    _cost(),
    _icu_events(
        "chartevents",
        _ITEMID,
        _time("charttime"),
        _number("valuenum"),
        _text("valueuom", 50, required=False),
        time="charttime",
    ),
    _icu_events(
        "inputevents",
        _time("starttime"),
        _ITEMID,
        _number("totalamount"),
        _text("totalamountuom", 50, required=False),
        time="starttime",
    ),
    _icu_events(
        "outputevents",
        _time("charttime"),
        _ITEMID,
        _number("value"),
        _text("valueuom", 50, required=False),
        time="charttime",
    ),
    _microbiology(),
    _icustays(),
    _transfers(),
)
# Scene graphs as tables (docs/images-in-database.md), so that questions about images are joins.
CXR_TABLES: tuple[EhrTable, ...] = (
    _cxr_source(),
    _d_cxr_relations(),
    _cxr_studies(),
    _cxr_relations(),
)
OPTIONAL_TABLES: tuple[EhrTable, ...] = (_tb_cxr(), *CXR_TABLES)
BY_NAME: Mapping[str, EhrTable] = {t.name: t for t in (*TABLES, *OPTIONAL_TABLES)}


def has_graphs(schema: Mapping[str, Sequence[str]]) -> bool:
    """Does a database hold scene graphs as tables?"""
    present = {name.lower() for name in schema}
    return all(table.name in present for table in CXR_TABLES)


def missing(schema: Mapping[str, Sequence[str]]) -> list[str]:
    """What ``schema`` (table to columns) lacks to be an EHR: ``table`` or ``table.column``."""
    have = {t.lower(): {c.lower() for c in cols} for t, cols in schema.items()}
    out: list[str] = []
    for table in TABLES:
        columns = have.get(table.name)
        if columns is None:
            out.append(table.name)
            continue
        wanted = (c.name for c in table.columns if not c.extra)
        out += [f"{table.name}.{name}" for name in wanted if name not in columns]
    return out
