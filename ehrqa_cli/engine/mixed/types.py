"""What a mixed question is, what either side says, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ehrqa_cli.contracts.notes import NoteSpan
from ehrqa_cli.contracts.types import Answer, Row, Scalar, Status
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.logical_form import Form, Select


class ComparedKind(StrEnum):
    """What is compared."""

    MEDICATION = "medication"
    LAB = "lab"
    DIAGNOSIS = "diagnosis"


class Aspect(StrEnum):
    """What of it."""

    DOSE = "dose"
    ROUTE = "route"
    FREQUENCY = "frequency"
    VALUE = "value"
    PRESENT = "present"  # is it named at all?


class Relation(StrEnum):
    """What is asked, always of the note's side towards the tables' side."""

    SAME = "same"
    DIFFERENT = "different"
    HIGHER = "higher"
    LOWER = "lower"
    ALSO_IN_TABLES = "also in the tables"
    ALSO_IN_NOTE = "also in the note"
    BOTH_VALUES = "what both say"


class Stage(StrEnum):
    """The part of the stay that the note's side is asked of."""

    ANY = ""
    ADMISSION = "admission"
    DISCHARGE = "discharge"


@dataclass(frozen=True)
class Mixed:
    """A question that compares a note with the tables.

    ``subject`` is the drug, test or diagnosis in the question's words, ``value`` what the database
    calls it (None: nothing by that name), ``patient_id`` None where nobody is named.
    ``form`` asks the tables, with references to the question's links (None: they have nothing by
    that name), and ``titles`` for all names that they have of its kind for the patient. ``refused``
    says why it cannot be compared, whatever the records hold; "" otherwise.
    """

    kind: ComparedKind
    aspect: Aspect
    relation: Relation
    subject: str
    value: str | None
    patient_id: int | None
    form: Form | None = None
    titles: Select | None = None
    stage: Stage = Stage.ANY
    refused: str = ""


@dataclass(frozen=True)
class Measure:
    """One value: a number with its unit ("" unknown), or words (``number`` None)."""

    text: str
    number: float | None = None
    unit: str = ""


@dataclass(frozen=True)
class NoteFound:
    """What the note says: ``measures`` (several where its lines disagree), or ``present`` (None:
    it is named, but not as something that is so). ``spans`` are what it rests on."""

    measures: tuple[Measure, ...] = ()
    present: bool | None = False
    spans: tuple[NoteSpan, ...] = ()
    when: str | None = None
    stay: int | None = None


@dataclass(frozen=True)
class TableFound:
    """What the tables say; ``name`` is their own name for it, ``evidence`` the rows."""

    measures: tuple[Measure, ...] = ()
    present: bool = False
    name: str = ""
    evidence: tuple[dict[str, Any], ...] = ()
    when: str | None = None
    stay: int | None = None


@dataclass(frozen=True)
class Compared:
    """``agrees`` None: it cannot be told, and ``reason`` says why. ``value`` answers the question;
    ``text`` is the sentence about both sides."""

    text: str
    value: Any
    agrees: bool | None
    reason: str = ""
    kind: str = ""


@dataclass(frozen=True)
class MixedAnswer:
    """What becomes of a mixed question: fills an Answer of Scope.NOTE and PatientScope.SINGLE.

    ``reason`` is set when ABSTAINED; its kind is mixed_patient, mixed_note, mixed_table or
    mixed_units. ``evidence`` has the note's lines first, then the rows.
    """

    status: Status
    text: str
    value: Any = None
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    evidence: tuple[dict[str, Any], ...] = ()
    reason: Reason | None = None
    compared: Compared | None = None
    table: tuple[Answer, ...] = ()


AskTable = Callable[[Form], Answer]
RowOpener = Callable[[str, int], Mapping[str, Scalar] | None]
