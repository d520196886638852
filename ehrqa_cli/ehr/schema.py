"""The tables of an EHR, as data: the 17 of EHRSQL-2024 (Lee et al., 2024) and optional ones.

Everything that needs names goes by this module: the importer and the demo create tables from
it, the backend checks a database against it. Times are text ``YYYY-MM-DD HH:MM:SS``; text is
lower case; every table has ``row_id``, an integer that names one row and serves as evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ehrqa_cli.ehr.cxr_tables import CXR_TABLES, TB_CXR
from ehrqa_cli.ehr.table import (
    HADM,
    ITEM,
    ITEMID,
    META_TABLE,
    PATIENT,
    STAY,
    STAYID,
    SUBJECT,
    TIME_TYPE,
    VISIT,
    VISIT_IF_ANY,
    Column,
    EhrTable,
    integer_id,
    number,
    row_id,
    text,
    time,
)

__all__ = [
    "BY_NAME",
    "CXR_TABLES",
    "META_TABLE",
    "OPTIONAL_TABLES",
    "TABLES",
    "TIME_TYPE",
    "Column",
    "EhrTable",
    "has_graphs",
    "missing",
]


def _patients() -> EhrTable:
    columns = (
        row_id(),
        SUBJECT,
        text("gender", 5),
        time("dob", "mid-July of anchor_year - anchor_age: MIMIC-IV gives no day of birth"),
        time("dod", required=False),
    )
    return EhrTable("patients", columns, unique="subject_id")


def _admissions() -> EhrTable:
    columns = (
        row_id(),
        SUBJECT,
        HADM,
        time("admittime"),
        time("dischtime", required=False),
        text("admission_type", 50),
        text("admission_location", 50, required=False),
        text("discharge_location", 50, required=False),
        text("insurance", 255, required=False),
        text("language", 10, required=False),
        text("marital_status", 50, required=False),
        Column("age", "INT", source="anchor_age + year of admission - anchor_year"),
    )
    indexes = (("subject_id", "admittime"), ("admittime",), ("dischtime",))
    return EhrTable("admissions", columns, "admittime", (PATIENT,), indexes, "hadm_id")


def _dictionary(name: str, key: Column, *more: Column) -> EhrTable:
    indexes = tuple((m.name,) for m in more[:2])
    return EhrTable(name, (row_id(), key, *more), indexes=indexes, unique=key.name)


def _coded(name: str, dictionary: str, time_source: str) -> EhrTable:
    columns = (
        row_id(),
        SUBJECT,
        HADM,
        text("icd_code", 10, "'icd' + icd_version + '|' + icd_code"),
        time("charttime", time_source),
    )
    keys = (VISIT, ("icd_code", dictionary, "icd_code"))
    indexes = (("icd_code", "charttime"), ("hadm_id",))
    return EhrTable(name, columns, "charttime", keys, indexes)


def _labevents() -> EhrTable:
    columns = (
        row_id(),
        SUBJECT,
        VISIT_IF_ANY,
        ITEMID,
        time("charttime", required=False),
        number("valuenum"),
        text("valueuom", 20, required=False),
        number("ref_range_lower", extra=True),
        number("ref_range_upper", extra=True),
        Column("flag", "VARCHAR(10)", False, "flag", extra=True),
    )
    keys = (VISIT, ("itemid", "d_labitems", "itemid"))
    indexes = (("itemid", "charttime"), ("hadm_id", "itemid"))
    return EhrTable("labevents", columns, "charttime", keys, indexes)


def _prescriptions() -> EhrTable:
    columns = (
        row_id(),
        SUBJECT,
        HADM,
        time("starttime"),
        time("stoptime", required=False),
        text("drug", 255),
        text("dose_val_rx", 100, required=False),
        text("dose_unit_rx", 50, required=False),
        text("route", 50, required=False),
    )
    indexes = (("drug", "starttime"), ("hadm_id",), ("subject_id", "starttime"))
    return EhrTable("prescriptions", columns, "starttime", (VISIT,), indexes)


def _cost() -> EhrTable:
    columns = (
        row_id(),
        SUBJECT,
        HADM,
        text("event_type", 20, "none in MIMIC-IV: the table of the event"),
        Column("event_id", "INT", source="none in MIMIC-IV: row_id in that table"),
        time("chargetime", "none in MIMIC-IV"),
        number("cost", "none in MIMIC-IV", required=True),
    )
    indexes = (("event_type", "event_id"), ("hadm_id",))
    return EhrTable("cost", columns, "chargetime", (VISIT,), indexes)


def _icu_events(name: str, *rest: Column, time: str) -> EhrTable:
    indexes = (("itemid",), ("stay_id", "itemid"))  # queries go by the stays of a visit
    columns = (row_id(), SUBJECT, HADM, STAYID, *rest)
    return EhrTable(name, columns, time, (VISIT, STAY, ITEM), indexes)


def _microbiology() -> EhrTable:
    columns = (
        row_id(),
        SUBJECT,
        VISIT_IF_ANY,
        time("charttime"),
        text("spec_type_desc", 100, required=False),
        text("test_name", 100, required=False),
        text("org_name", 100, required=False),
    )
    indexes = (("hadm_id",), ("spec_type_desc",), ("test_name",), ("org_name",))
    return EhrTable("microbiologyevents", columns, "charttime", (VISIT,), indexes)


def _icustays() -> EhrTable:
    columns = (
        row_id(),
        SUBJECT,
        HADM,
        STAYID,
        text("first_careunit", 20),
        text("last_careunit", 20),
        time("intime"),
        time("outtime", required=False),
    )
    return EhrTable("icustays", columns, "intime", (VISIT,), (("hadm_id",),), "stay_id")


def _transfers() -> EhrTable:
    columns = (
        row_id(),
        SUBJECT,
        VISIT_IF_ANY,
        integer_id("transfer_id"),
        text("eventtype", 20),
        text("careunit", 20, required=False),
        time("intime"),
        time("outtime", required=False),
    )
    indexes = (("hadm_id",), ("careunit",))
    return EhrTable("transfers", columns, "intime", (VISIT,), indexes)


TABLES: tuple[EhrTable, ...] = (
    _patients(),
    _admissions(),
    _dictionary(
        "d_icd_diagnoses",
        text("icd_code", 10, "'icd' + icd_version + '|' + icd_code"),
        text("long_title", 255),
    ),
    _dictionary(
        "d_icd_procedures",
        text("icd_code", 10, "'icd' + icd_version + '|' + icd_code"),
        text("long_title", 255),
    ),
    _dictionary("d_labitems", ITEMID, text("label", 200, required=False)),
    _dictionary(
        "d_items",
        ITEMID,
        text("label", 200),
        text("abbreviation", 200),
        text("linksto", 50),
    ),
    _coded("diagnoses_icd", "d_icd_diagnoses", "admittime of the visit"),
    _coded("procedures_icd", "d_icd_procedures", "chartdate"),
    _labevents(),
    _prescriptions(),
    _cost(),
    _icu_events(
        "chartevents",
        ITEMID,
        time("charttime"),
        number("valuenum"),
        text("valueuom", 50, required=False),
        time="charttime",
    ),
    _icu_events(
        "inputevents",
        time("starttime"),
        ITEMID,
        number("totalamount"),
        text("totalamountuom", 50, required=False),
        time="starttime",
    ),
    _icu_events(
        "outputevents",
        time("charttime"),
        ITEMID,
        number("value"),
        text("valueuom", 50, required=False),
        time="charttime",
    ),
    _microbiology(),
    _icustays(),
    _transfers(),
)
OPTIONAL_TABLES: tuple[EhrTable, ...] = (TB_CXR, *CXR_TABLES)
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
