"""What the names of a question were taken to mean: told with the answer, so that it can be checked.

Whether a database follows EHRSQL-2024's conventions, where each name is that of one item, is
decided here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.ehr.mimic.options import EHRSQL_NOW
from ehrqa_cli.logical_form import Form, Layout, Ref
from ehrqa_cli.logical_form.form import Arg, map_args
from ehrqa_cli.logical_form.grammar import SLOTS

SHOWN = 5
_NOUNS = {"dx": "codes", "proc": "codes and items", "drug": "names", "lab": "tests"}
# How the rows of a drug came to be, by their table.
_COUNTED = {"prescriptions": "ordered", "emar": "administered", "inputevents": "infused"}


def layout_of(database: Database) -> Layout:
    """What the database has, and whether it follows EHRSQL-2024's conventions: it was made with
    its clock, or has none of what its 17 tables leave out. Raises DatabaseError."""
    columns = {
        table.lower(): frozenset(map(str.lower, names))
        for table, names in database.schema().items()
    }
    bare = "ref_range_lower" not in columns.get("labevents", frozenset())
    return Layout(columns, bare or database.default_as_of() == EHRSQL_NOW)


def used(form: Form, linked: LinkedQuestion) -> Iterator[tuple[str, Concept]]:
    """(mention, concept) of what a form with references to the question's links counts."""
    found: dict[tuple[str, str], Concept] = {}

    def note(arg: Arg, slot: str) -> Arg:
        if isinstance(arg, Ref) and arg.n <= len(linked.links):
            link = linked.links[arg.n - 1]
            mention = linked.question[link.start : link.end]
            for concept in link.concepts:
                if concept.kind in SLOTS[slot]:
                    found.setdefault((mention, concept.kind), concept)
        return arg

    map_args(form, note)
    yield from ((mention, concept) for (mention, _), concept in found.items())


def as_json(mention: str, concept: Concept) -> dict[str, Any]:
    """The answer's entry for a concept: how many items it has here, and the first of them."""
    return {
        "mention": mention,
        "concept": concept.name,
        "kind": concept.kind,
        "about": concept.about,
        "members": len(concept.items),
        "shown": [
            {"table": i.table, "code": i.code, "name": i.name, "rows": i.rows}
            for i in sorted(concept.items, key=lambda item: -item.rows)[:SHOWN]
        ],
    }


def said(form: Form, linked: LinkedQuestion) -> str:
    """What was counted under each name that is not the one item's own, as sentences."""
    return " ".join(text for pair in used(form, linked) if (text := _said(*pair)))


def _said(mention: str, concept: Concept) -> str:
    items = concept.items
    names = list(dict.fromkeys(item.name for item in items))
    head = mention[:1].upper() + mention[1:]
    if not items:
        about = f" ({concept.about})" if concept.about else ""
        return f"Nothing in this record is {concept.name}{about}."
    if names == [mention.lower()] and concept.kind != "lab":
        return ""
    if concept.kind == "lab" and len(items) == 1:
        where = ", ".join(x.lower() for x in (items[0].specimen, items[0].category) if x)
        return f"{head}: {names[0]} ({where})." if where else ""
    ways = dict.fromkeys(_COUNTED[i.table] for i in items if i.table in _COUNTED)
    how = f", {' or '.join(ways)}" if concept.kind == "drug" and ways else ""
    if len(names) == 1:
        return f"{head}: “{names[0]}”{how}."
    about = concept.about or "; ".join(names[:SHOWN]) + ("; ..." if len(names) > SHOWN else "")
    return f"{head}: {len(names)} {_NOUNS.get(concept.kind, 'items')} ({about}){how}."
