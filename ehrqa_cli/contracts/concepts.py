"""What a clinical word means in one record: a concept is a set of items, across tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """One coded thing that occurs in a record.

    ``table`` has the events and ``column`` the code: ``("labevents", "itemid")``,
    ``("diagnoses_icd", "icd_code")``, ``("prescriptions", "drug")``. ``code`` is as the record
    writes it (``50931``, ``"icd10|e119"``, ``"heparin sodium"``), ``name`` what people read there.
    ``specimen`` and ``category`` are those of a lab test, ``unit`` the commonest one of its
    values. ``rows`` counts its events, ``first`` and ``last`` are times of them.
    """

    table: str
    column: str
    code: str | int
    name: str
    specimen: str = ""
    category: str = ""
    unit: str = ""
    rows: int = 0
    first: str = ""
    last: str = ""


@dataclass(frozen=True)
class Concept:
    """A meaning and its members in one record.

    ``kind`` is the type of link (drug, lab, dx, proc, intake, output, vital, specimen, mtest,
    organism, careunit, admloc, admtype, dischloc, ...). ``phrases`` are what people call it: lower
    case, single spaces. ``items`` are the members that occur in this record; none: it does not
    occur. ``about`` is its definition in short ("J96.*, 518.8*"), ``source`` where that is from.
    ``alone``: of its items only the first is meant unless more was asked for, as in labs.
    ``several``: its items measure different things ("vital signs"), so that no value is its value.
    """

    kind: str
    name: str
    phrases: tuple[str, ...]
    items: tuple[Item, ...] = ()
    about: str = ""
    source: str = ""
    alone: bool = False
    several: bool = False
