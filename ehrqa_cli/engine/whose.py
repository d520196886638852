"""Whose notes a question is about: the patient it is asked of, or the one that it names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ehrqa_cli.contracts.types import LinkedQuestion, Question

_ID = re.compile(r"(?<![\w.,/:-])#?(\d{5,18})(?![\w%]|[./:-]\d|,\d{3}\b)")


@dataclass(frozen=True)
class Patient:
    """One patient, and where there is something about them."""

    patient_id: int
    in_tables: bool
    in_notes: bool


def whose(
    question: Question,
    linked: LinkedQuestion | None,
    in_tables: Callable[[int], bool],
    in_notes: Callable[[int], bool],
) -> Patient | None:
    """The one patient of ``question``; None when it names none, or several.

    ``linked`` None: there are no tables to link with, and a long number is taken for an id.
    """
    named = _named(question, linked)
    if question.patient_id is not None and named <= {question.patient_id}:
        named = {question.patient_id}
    if len(named) != 1:
        return None
    one = named.pop()
    return Patient(one, in_tables(one), in_notes(one))


def _named(question: Question, linked: LinkedQuestion | None) -> set[int]:
    if linked is None:
        return {int(number) for number in _ID.findall(question.text)}
    known = {int(str(link.value)) for link in linked.links if "pat" in link.types}
    unknown = (text.lstrip("#") for kind, text in linked.unknown if kind == "pat")
    return known | {int(text) for text in unknown if text.isdecimal()}
