"""A site's own concepts: a TOML file of its user, a CSV table, or a concept set of OMOP's ATLAS.

They are applied last, to what the resolvers made: a new concept takes its phrases from all others,
so that the user's meaning of a word is the only one. docs/concepts.md has examples.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from ehrqa_cli.concepts import own_files
from ehrqa_cli.concepts.catalog import KIND_OF
from ehrqa_cli.concepts.namewords import plain
from ehrqa_cli.concepts.own_types import DRUG_TABLES, Members, Own
from ehrqa_cli.contracts.concepts import Concept, Item
from ehrqa_cli.contracts.errors import UsageError

_COMMONEST = 3  # near names that an error tells
_BESIDE = ".concepts.toml"


@dataclass(frozen=True)
class OwnFile:
    """A file of a user's concepts: its name, the SHA-256 of its bytes, and what it says."""

    name: str
    sha256: str
    concepts: tuple[Own, ...]


def files_for(db: Path | None, given: Iterable[Path]) -> tuple[OwnFile, ...]:
    """The files that count for the database at ``db``, each over those before it: the one beside it
    (``ehr.sqlite.concepts.toml``), which travels with it, then those ``given``.

    Raises UsageError for one that cannot be read.
    """
    beside = [Path(f"{db}{_BESIDE}")] if db is not None else []
    return tuple(map(_opened, [*filter(os.path.isfile, beside), *given]))


def _opened(path: Path) -> OwnFile:
    concepts = tuple(read_own(path))
    return OwnFile(path.name, hashlib.sha256(path.read_bytes()).hexdigest(), concepts)


def read_own(path: Path) -> list[Own]:
    """The concepts of a TOML, CSV or JSON (OMOP concept set) file.

    Raises UsageError naming file and entry.
    """
    readers = {
        ".toml": own_files.from_toml,
        ".csv": own_files.from_csv,
        ".json": own_files.from_omop,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UsageError(
            f"cannot tell what {path} is", "name it .toml, .csv or .json (an OMOP concept set)"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise UsageError(
            f"cannot read {path}: {why}", "check its path, and save it as UTF-8"
        ) from None
    return reader(text, path)


def apply(concepts: Iterable[Concept], owns: Iterable[Own], items: Sequence[Item]) -> list[Concept]:
    """The concepts with the user's own, each over those before it.

    Raises UsageError for a change of a concept that there is not, or that has several kinds.
    """
    made = list(concepts)
    for own in owns:
        base = _target(made, own) if own.change else None
        kind = base.kind if base else own.kind or _kind(own, items)
        found = _members(own, kind, items)
        concept = _changed(base, own, found) if base else _new(own, kind, found)
        taken = {folded for phrase in (own.name, *own.phrases) if (folded := plain(phrase))}
        gone = base if base and concept.name == base.name else None
        made = [_without(c, taken) for c in made if c is not gone] + [concept]
    return made


def _members(own: Own, kind: str, items: Iterable[Item]) -> list[Item]:
    drugs = DRUG_TABLES if kind == "drug" else frozenset[str]()
    return [
        item
        for item in items
        if (_kind_of(item) == kind or item.table in drugs)
        and own.members.hold(item)
        and not own.without.hold(item)
    ]


def _new(own: Own, kind: str, found: Iterable[Item]) -> Concept:
    phrases = tuple(dict.fromkeys(map(plain, (own.name, *own.phrases))))
    return Concept(kind, own.name, phrases, _sorted(found), _about(own.members, kind), own.source)


def _changed(base: Concept, own: Own, found: Sequence[Item]) -> Concept:
    """``base`` with, within or without what was found; a copy of it where ``own`` has a name."""
    if own.change == "adds":
        items = dict.fromkeys((*base.items, *found))
    else:
        keep = own.change == "narrows"
        items = dict.fromkeys(item for item in base.items if (item in set(found)) is keep)
    old = () if own.name else base.phrases
    phrases = tuple(dict.fromkeys((*old, *map(plain, filter(None, (own.name, *own.phrases))))))
    told = f"{base.about}; {own.change} {_about(own.members, base.kind)}".removeprefix("; ")
    name = own.name or base.name
    return replace(
        base, name=name, phrases=phrases, items=_sorted(items), about=told, source=own.source
    )


def _target(concepts: Sequence[Concept], own: Own) -> Concept:
    """The concept that is changed: by its name, else by a phrase."""
    wanted = plain(own.of)
    same = [c for c in concepts if own.kind in ("", c.kind)]
    found = [c for c in same if plain(c.name) == wanted] or [c for c in same if wanted in c.phrases]
    if not found:
        known = dict.fromkeys(phrase for c in same for phrase in (c.name, *c.phrases))
        near = get_close_matches(wanted, known, n=_COMMONEST)
        raise UsageError(
            f"{own.source}: {own.change} '{own.of}', which is no concept",
            f"did you mean {' or '.join(map(repr, near))}?" if near else _look(own.of),
        )
    if len(found) > 1:
        which = " or ".join(f"{c.name} ({c.kind})" for c in found)
        raise UsageError(
            f"{own.source}: {own.change} '{own.of}', which may be {which}",
            "write its whole name, or its kind: kind = ...",
        )
    return found[0]


def _look(words: str) -> str:
    return f"see what there is with `ehrqa concepts find {words!r}`"


def _without(concept: Concept, taken: set[str]) -> Concept:
    """A concept without the phrases that the user gave another meaning."""
    if taken.isdisjoint(concept.phrases):
        return concept
    return replace(concept, phrases=tuple(p for p in concept.phrases if p not in taken))


def _kind(own: Own, items: Iterable[Item]) -> str:
    """The kind of a concept that does not say it: by its members."""
    if own.members.icd:
        return "dx"
    if own.members.drugs:
        return "drug"
    rows: dict[str, int] = {}
    for item in items:
        if own.members.hold(item) and _kind_of(item):
            rows[_kind_of(item)] = rows.get(_kind_of(item), 0) + max(item.rows, 1)
    return max(rows, key=lambda kind: rows[kind], default="proc")


def _kind_of(item: Item) -> str:
    return KIND_OF.get((item.table, item.column), "")


def _sorted(items: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(sorted(items, key=lambda item: (-item.rows, item.name)))


def _about(members: Members, kind: str) -> str:
    icd = (_dotted(code, kind) for code in members.icd)
    every = (*icd, *members.items, *members.drugs, *members.names, *members.titles)
    shown = ", ".join(every[:6])
    return shown + (f", and {len(every) - 6} more" if len(every) > 6 else "")


def _dotted(code: str, kind: str) -> str:
    """A code as people write it: J96.0*."""
    bare = code.upper()
    return f"{bare[:3]}.{bare[3:]}" if kind == "dx" and len(bare) > 3 and bare[3] != "*" else bare
