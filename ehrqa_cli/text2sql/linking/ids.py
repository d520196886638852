"""Ids of patients, studies, admissions and ICU stays, checked to exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ehrqa_cli.contracts.types import Link
from ehrqa_cli.ehr.value_index import ValueIndex

_DIGITS = re.compile(r"(?<![\w.,/:-])#?(?P<n>\d+)(?:s\b)?(?![\w%]|[./:-]\d|,\d{3}\b)")
_PATIENT = re.compile(
    r"\b(?:patient|pt|subject|mrn|subject_id|individual|person)(?:'s)?"
    r"(?:[\s:=#-]+(?:ids?|identifier|numbers?|no\.?|num|with|the|whose|is|of|named|called|mrn))*"
    r"[\s:=#-]*$"
)
_STUDY = re.compile(
    r"\b(?:study|studies|cxrs?|x-?rays?|image|images|film|films|radiograph|radiographs|study_id)"
    r"(?:[\s:=#-]+(?:ids?|identifier|numbers?|no\.?|with|the|study))*[\s:=#-]*$"
)
_NUMBERED = r"(?:[\s:=#-]+(?:ids?|identifier|numbers?|no\.?|num))*[\s:=#-]*$"
_STAY = re.compile(r"\b(?:icu (?:stay|admission)|icustay|stay_id)" + _NUMBERED)
_ADMISSION = re.compile(
    r"\b(?:admissions?|hadm_id|hadm|visits?|hospitali[sz]ations?|encounters?|hospital stay|"
    r"inpatient stay)" + _NUMBERED
)
_AMOUNT = re.compile(
    r"\b(?:value|level|dose|dosage|result|reading|count|amount|volume|cost|price|than|above|below|"
    r"over|under|least|most|exactly|beyond|exceed\w*|reach\w*|topp\w+)\s*(?:of\s+|to\s+|a\s+)?(?:\$\s*)?$"
)
# A bare number of this length names a person or a record; nothing in a chart counts that far.
_ID_DIGITS = 5
_LONGEST_ID = 18


def find_ids(folded: str, index: ValueIndex) -> Iterator[Link | tuple[int, int, str]]:
    """Links of ids that exist; ``(start, end, kind)`` for those that do not."""
    for match in _DIGITS.finditer(folded):
        text = match["n"]
        if len(text) > _LONGEST_ID:
            yield match.start(), match.end(), "pat"
            continue
        before = folded[max(0, match.start() - 48) : match.start()]
        kind = _kind(int(text), text, before, index)
        if kind is None:
            continue
        if int(text) in _known(kind, index):
            yield Link(match.start(), match.end(), (kind,), int(text), "id")
        else:
            yield match.start(), match.end(), kind


def _known(kind: str, index: ValueIndex) -> frozenset[int]:
    known = {"study": index.studies, "adm": index.admissions, "stay": index.stays}
    return known.get(kind, index.patients)


def _kind(number: int, text: str, before: str, index: ValueIndex) -> str | None:
    if _PATIENT.search(before):
        return "pat" if number in index.patients or len(text) >= _ID_DIGITS - 2 else None
    if len(text) < _ID_DIGITS:
        return None
    if index.imaging and _STUDY.search(before):
        return "study"
    said = "stay" if _STAY.search(before) else "adm" if _ADMISSION.search(before) else ""
    for kind in (said or "pat", "pat", "study", "adm", "stay"):
        if number in _known(kind, index):
            return kind
    return said or (None if _AMOUNT.search(before) else "pat")
