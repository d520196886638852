"""The optional tables of chest X-rays: which there are, and what their scene graphs say."""

from __future__ import annotations

from ehrqa_cli.ehr.table import (
    PATIENT,
    SUBJECT,
    Column,
    EhrTable,
    integer_id,
    number,
    row_id,
    text,
    time,
)


def _tb_cxr() -> EhrTable:
    columns = (
        row_id(),
        SUBJECT,
        Column("hadm_id", "INT", False, "the admission the study lies in, if any"),
        integer_id("study_id"),
        text("image_id", 100, "dicom_id"),
        time("studydatetime", "StudyDate and StudyTime"),
        text("viewposition", 10, "ViewPosition"),
    )
    indexes = (("subject_id", "studydatetime"), ("study_id",), ("hadm_id",))
    return EhrTable("tb_cxr", columns, "studydatetime", (PATIENT,), indexes, optional=True)


def _cxr_source() -> EhrTable:
    """What made the scene graphs in the tables below: pairs of name and value."""
    return EhrTable(
        "cxr_source", (row_id(), Column("name", "TEXT"), Column("value", "TEXT")), optional=True
    )


def _d_cxr_relations() -> EhrTable:
    columns = (
        row_id(),
        Column("relation", "INT", source="numbered here, from 0, those that the source sees first"),
        text("object", 50, "none: the image as a whole", required=False),
        text("attribute", 50),
        text("category", 50),
        Column("covered", "INT", source="1: the source says something of it"),
        Column("possible", "INT", source="1: it can occur"),
        Column("unsaid", "INT", source="studies of which the source does not say it"),
    )
    return EhrTable("d_cxr_relations", columns, unique="relation", optional=True)


def _cxr_studies() -> EhrTable:
    columns = (
        row_id(),
        integer_id("study_id"),
        text("image_id", 200, required=False),
        number("pa", "probability of a PA view, else AP"),
        number("female", "probability of a female patient"),
        number("ctr", "width of the heart over that of the thorax"),
        number("mtr", "width of the mediastinum over that of the thorax"),
        Column("problem", "TEXT", False, "why the image says nothing; NULL: it does"),
    )
    return EhrTable("cxr_studies", columns, unique="study_id", optional=True)


def _cxr_relations() -> EhrTable:
    columns = (
        row_id(),
        integer_id("study_id"),
        Column("relation", "INT", source="d_cxr_relations.relation"),
        number("probability", "NULL: cannot be said; covered and without a row: 0"),
    )
    keys = (
        ("study_id", "cxr_studies", "study_id"),
        ("relation", "d_cxr_relations", "relation"),
    )
    indexes = (("study_id", "relation"), ("relation", "study_id"))
    return EhrTable("cxr_relations", columns, None, keys, indexes, optional=True)


# The films, as EHRXQA has them.
TB_CXR = _tb_cxr()
# Scene graphs as tables (docs/images-in-database.md), so that questions about images are joins.
CXR_TABLES: tuple[EhrTable, ...] = (
    _cxr_source(),
    _d_cxr_relations(),
    _cxr_studies(),
    _cxr_relations(),
)
