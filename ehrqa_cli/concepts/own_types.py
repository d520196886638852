"""What a user's own concept says: its members, or what it changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ehrqa_cli.concepts.catalog import KIND_OF
from ehrqa_cli.concepts.namewords import plain
from ehrqa_cli.contracts.concepts import Item

CHANGES = ("adds", "narrows", "removes")
KINDS = tuple(dict.fromkeys(KIND_OF.values()))
DRUG_TABLES = frozenset({"prescriptions", "emar", "inputevents"})


@dataclass(frozen=True)
class Members:
    """What belongs to a concept. ``icd`` are codes, ``names`` and ``drugs`` names, all with ``*``
    for what is left out; a name without one is words that must be there. ``items`` are whole
    codes, or ``table:code``; ``titles`` whole names."""

    icd: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    drugs: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()

    def hold(self, item: Item) -> bool:
        """Whether an item is one of them."""
        code = str(item.code).lower()
        if code in self.items or f"{item.table}:{code}" in self.items:
            return True
        if item.column == "icd_code" and any(fnmatchcase(_icd(code), p) for p in self.icd):
            return True
        name = item.name.lower()
        if item.table in DRUG_TABLES and any(_named(name, wanted) for wanted in self.drugs):
            return True
        return name in self.titles or any(_named(name, wanted) for wanted in self.names)


@dataclass(frozen=True)
class Own:
    """One concept of a user's file, or a change of one that there is (``change`` of ``of``)."""

    name: str
    phrases: tuple[str, ...] = ()
    kind: str = ""
    members: Members = field(default_factory=Members)
    without: Members = field(default_factory=Members)
    change: str = ""
    of: str = ""
    source: str = ""


def _icd(code: str) -> str:
    """A code as it is compared: without its system and dots."""
    return code.rpartition("|")[2].replace(".", "")


def _named(name: str, wanted: str) -> bool:
    if "*" in wanted:
        return fnmatchcase(name, wanted)
    return f" {plain(wanted)} " in f" {plain(name)} "
