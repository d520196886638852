"""Questions about groups, made of parts: what is counted, by what, of whom, with which note.

``templates/aggregate/`` holds parts and shapes. A shape is a form and wordings with holes;
a part fills a hole in both at once: ``%g%`` of the form takes the part's form (``%g.rel%`` its
text ``rel``), ``<g>`` of a wording its words (``<g_noun>`` its text ``noun``). Parts are drawn
one after another, each fitting those before it, so that a hundred shapes and a hundred parts
give thousands of templates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ehrqa_cli.logical_form.grammar import FILTER_NAMES, KINDS
from ehrqa_cli.sets.data import table
from ehrqa_cli.sets.pairs.asides import with_note
from ehrqa_cli.sets.pairs.events import EVENTS
from ehrqa_cli.sets.pairs.fill import Generator
from ehrqa_cli.sets.pairs.pair import Pair
from ehrqa_cli.sets.pairs.surface import Words, render
from ehrqa_cli.sets.pairs.templates import Template, split_form
from ehrqa_cli.sets.pairs.wording import Node, parse_wording

FAMILY = "aggregate"
# In this order: a seed draws the same pairs as long as it stays.
FILES = (
    "counts_and_groups", "people_and_measures", "numbers_by_group", "groups_over_a_bound",
    "admissions_and_waits", "shares_and_charges", "columns_of_a_patient",
    "columns_of_patients_and_sets", "rates_and_totals",
)  # fmt: skip
_HOLE = re.compile(r"%([a-z0-9]+)(?:\.([a-z_]+))?%")
_SLOT = re.compile(r"[\[{][a-z_0-9:]+[\]}]")
_NOT_TEXTS = ("table", "kind", "kinds", "axis", "abstain", "weight", "form")
# Where a filter that is a slot stands among the others.
_SLOT_FILTERS = {
    "gender": "female", "tg": "in", "n_times": "times", "cmp": "over", "tvisit": "visit",
}  # fmt: skip
_SAME_VISIT = re.compile(r"^with \( (.*) \) samevisit$")
_IN_BLOOD = ("in the blood", "in blood", "in the blood,", "‹blood›", "in serum", "", "")
_PARENTHESES = str.maketrans({"‹": " (", "›": ")"})
_TRIES = 30
# How often a question of another family, with a note behind it, stands in for a shape.
_NOTED = 0.14


class Unfit(KeyError):
    """No part fits, or two filters of the same name meet; another draw may do."""


@dataclass(frozen=True)
class Part:
    """What fills a hole. ``axes``: what it speaks of, which no other part may repeat;
    ``kinds``: the kinds of events it goes with (empty: any)."""

    form: str
    texts: dict[str, str] = field(hash=False)
    kind: str = ""
    kinds: frozenset[str] = frozenset()
    axes: frozenset[str] = frozenset()
    abstain: bool = False
    weight: float = 1.0


@dataclass(frozen=True)
class Hole:
    """A hole of a shape: its name, the table of its parts, and of which kinds they may be."""

    name: str
    table: str
    kinds: frozenset[str] = frozenset()
    forms: frozenset[str] = frozenset()
    not_forms: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Shape:
    """A form and wordings with holes. ``kind``: of the event, where no part gives it."""

    form: str
    wordings: tuple[Node, ...]
    holes: tuple[Hole, ...]
    kind: str = ""
    axes: frozenset[str] = frozenset()
    context: str = "group"
    weight: float = 1.0


@dataclass(frozen=True)
class Parts:
    """Everything that ``templates/aggregate/`` holds."""

    tables: dict[str, tuple[Part, ...]]
    shapes: tuple[Shape, ...]


@lru_cache(maxsize=1)
def load_parts() -> Parts:
    """Read the parts and shapes. Raises ValueError for a wording whose brackets do not match,
    KeyError for a hole without a table."""
    tables: dict[str, list[Part]] = {"event": list(_events())}
    entries: list[dict[str, Any]] = []
    for name in FILES:
        data = table(f"pairs/templates/{FAMILY}/{name}")
        for entry in data.get("part", ()):
            tables.setdefault(entry["table"], []).append(_part(entry))
        entries.extend(data.get("shape", ()))
    shapes = tuple(_shape(entry, tables) for entry in entries)
    return Parts({name: tuple(found) for name, found in tables.items()}, shapes)


def _part(entry: dict[str, Any]) -> Part:
    texts = {name: str(text) for name, text in entry.items() if name not in _NOT_TEXTS}
    if "rel" in texts:
        # What a bill is for is said with "involving".
        texts["inv"] = _SAME_VISIT.sub(r"involving ( \1 )", texts["rel"])
    return Part(
        form=entry["form"],
        texts=texts,
        kind=entry.get("kind", ""),
        kinds=frozenset(entry.get("kinds", ())),
        axes=frozenset(entry.get("axis", ())),
        abstain=bool(entry.get("abstain")),
        weight=float(entry.get("weight", 1)),
    )


def _events() -> Sequence[Part]:
    """The events of free compositions, as parts."""
    parts = []
    for event in EVENTS.values():
        texts = {name: getattr(event, name) for name in ("past", "never", "base", "noun", "bare")}
        kind = event.form.split()[0]
        parts.append(Part(event.form, texts, kind, weight=event.weight))
    return parts


def _shape(entry: dict[str, Any], tables: dict[str, list[Part]]) -> Shape:
    holes = []
    for name, wanted in entry.get("holes", {}).items():
        found = {"table": wanted} if isinstance(wanted, str) else wanted
        kinds, forms = frozenset(found.get("kinds", ())), frozenset(found.get("forms", ()))
        hole = Hole(name, found["table"], kinds, forms, frozenset(found.get("not", ())))
        if hole.table not in tables:
            raise KeyError(hole.table)
        holes.append(hole)
    return Shape(
        form=entry["form"],
        wordings=tuple(parse_wording(wording) for wording in entry["wordings"]),
        holes=tuple(holes),
        kind=entry.get("kind", ""),
        axes=frozenset(entry.get("axis", ())),
        context=entry.get("context", _context(entry["form"])),
        weight=float(entry.get("weight", 1)),
    )


def _context(form: str) -> str:
    return "visit" if "{p}" in form else "group"


class AggregateMaker:
    """Makes pairs of shapes with one generator's vocabulary and random source."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._rng = generator.rng
        self._parts = load_parts()
        self._bag: list[Shape] = []
        families = generator.library.families
        self._plain = (*families.get("table", ()), *families.get("compose", ()))

    def make(self) -> Pair:
        """One pair. Raises KeyError when the vocabulary lacks a kind of value it needs."""
        if self._plain and self._rng.random() < _NOTED:
            return self._noted()
        if not self._bag:
            shapes = self._parts.shapes
            self._bag.extend(s for s in shapes for _ in range(max(1, round(s.weight))))
            self._rng.shuffle(self._bag)
        return self.of_shape(self._bag.pop())

    def of_shape(self, shape: Shape) -> Pair:
        """One pair of this shape. Raises Unfit when its parts never fit together."""
        for _ in range(_TRIES):
            try:
                template = self.template(shape)
                break
            except Unfit:
                continue
        else:
            raise Unfit(shape.form)
        generator = self._generator
        form, drawn = generator.form_of(template)
        words = self._in_blood(generator.words_of(template, drawn), form)
        return Pair(render(_shown(words), self._rng), form, template.text, FAMILY)

    def _in_blood(self, words: Words, form: str) -> Words:
        """The mark ¶ becomes "in the blood", unless the name itself says of what the lab is."""
        plain = not any(word in form for word in (",", "blood", "urine", "csf", "fluid"))
        said = self._rng.choice(_IN_BLOOD) if plain else ""
        return [(w if fixed else w.replace("¶", said), fixed) for w, fixed in words]

    def template(self, shape: Shape) -> Template:
        """The shape with its holes filled. Raises Unfit."""
        words: dict[str, str] = {}
        forms: dict[str, tuple[Part, str]] = {}
        kind, axes, abstain = shape.kind, set(shape.axes), False
        for index, hole in enumerate(shape.holes):
            number = str(index + 1) if index else ""
            part = self._draw(hole, kind, axes)
            kind = kind or part.kind
            axes |= part.axes
            abstain = abstain or part.abstain
            forms[hole.name] = part, number
            for name, text in part.texts.items():
                key = hole.name if name == "words" else f"{hole.name}_{name}"
                words[key] = text.replace("@", number)
        form = "abstain" if abstain else ordered(_filled(shape.form, forms))
        text = "aggregate: " + _SLOT.sub("_", form if not abstain else f"{shape.form} (abstain)")
        return Template(
            text, FAMILY, split_form(form), shape.wordings, words, shape.context, shape.weight
        )

    def _draw(self, hole: Hole, kind: str, axes: set[str]) -> Part:
        fitting = [
            part
            for part in self._parts.tables[hole.table]
            if not (part.axes & axes)
            and (not hole.kinds or part.kind in hole.kinds)
            and (not hole.forms or part.form in hole.forms)
            and part.form not in hole.not_forms
            and (not part.kinds or not kind or kind == "none" or kind in part.kinds)
        ]
        if not fitting:
            raise Unfit(hole.name)
        return self._rng.choices(fitting, [part.weight for part in fitting])[0]

    def _noted(self) -> Pair:
        """A question of the other families with a note that changes nothing behind it."""
        template = self._rng.choice(self._plain)
        generator = self._generator
        form, drawn = generator.form_of(template)
        words = with_note(generator.words_of(template, drawn), form, self._rng)
        return Pair(render(_shown(words), self._rng), form, template.text, FAMILY)


def _shown(words: Words) -> Words:
    return [(w if fixed else w.translate(_PARENTHESES), fixed) for w, fixed in words]


def _filled(form: str, parts: dict[str, tuple[Part, str]]) -> str:
    def fill(match: re.Match[str]) -> str:
        part, number = parts[match[1]]
        return (part.texts[match[2]] if match[2] else part.form).replace("@", number)

    return " ".join(_HOLE.sub(fill, form).split())


def ordered(form: str) -> str:
    """A form with slots, its filters in the one order that the grammar has. Raises Unfit when
    a filter stands twice."""
    words = form.split()
    found, at = _ordered(words, 0)
    if at != len(words):
        raise ValueError(f"a bracket of the form is not opened: {form}")
    return " ".join(found)


def _ordered(words: list[str], at: int) -> tuple[list[str], int]:
    """The words up to the bracket that closes them, sorted, and where that is."""
    head: list[str] = []
    filters: list[list[str]] = []
    tail: list[str] = []
    target, in_event = head, False
    while at < len(words) and words[at] != ")":
        word = words[at]
        if word == "by" and in_event:
            tail.extend(_until_close(words, at))
            at += len(tail)
            break
        if in_event and _filter_name(word):
            filters.append([])
            target = filters[-1]
        if word == "(":
            inner, at = _ordered(words, at + 1)
            target.extend(["(", *inner, ")"])
        else:
            target.append(word)
            # "bill" and the like open the event; what comes before is the head.
            in_event = in_event or (word in KINDS and not in_event)
        at += 1
    names = [_filter_name(f[0]) for f in filters]
    if len(set(names)) < len(names):
        raise Unfit("a filter stands twice")
    filters.sort(key=lambda f: FILTER_NAMES.index(_filter_name(f[0]) or ""))
    return [*head, *(w for f in filters for w in f), *tail], at


def _until_close(words: list[str], at: int) -> list[str]:
    end = at
    while end < len(words) and words[end] != ")":
        end += 1
    return words[at:end]


def _filter_name(word: str) -> str | None:
    if _SLOT.fullmatch(word):
        base = word[1:-1].split(":")[0].rstrip("0123456789")
        return _SLOT_FILTERS.get(base)
    return word if word in FILTER_NAMES else None
