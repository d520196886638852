"""The logical form as a tree, and its printed form.

A form is a ``Select`` or a ``Combine`` of two forms. Arguments are references to linked values
(``Ref``) until they are bound, literals (``Lit``) afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.logical_form.grammar import FILTERS, HEADS, KINDS, SPANS


@dataclass(frozen=True)
class Ref:
    """A reference ``#n`` to the n-th linked value of the question, counted from 1."""

    n: int


@dataclass(frozen=True)
class Lit:
    """A value itself: text, or a number. ``concept`` is the set of items that a name stands for;
    without one it is the item of that name."""

    value: str | int | float
    concept: Concept | None = None


Arg = Ref | Lit


@dataclass(frozen=True)
class Items:
    """One or more values joined by or/and/not: ``ops[i]`` stands before ``args[i + 1]``;
    ``other``: all but these."""

    args: tuple[Arg, ...]
    ops: tuple[str, ...] = ()
    other: bool = False


ABNORMALITY = Items((Lit("abnormality"),), ("*",))


@dataclass(frozen=True)
class Filter:
    """One filter of an event; which fields are set follows from its FilterSpec. ``tie`` is one of
    TIES, beside a window that is a span."""

    name: str
    args: tuple[Arg, ...] = ()
    event: Event | None = None
    window: str | None = None
    tie: str | None = None
    which: str | None = None
    items: Items | None = None
    places: Items | None = None
    query: Form | None = None
    other: bool = False


@dataclass(frozen=True)
class Event:
    """Events of one kind, filtered, and possibly one of them by order."""

    kind: str
    order: str | None = None
    extreme: str | None = None
    items: Items | None = None
    filters: tuple[Filter, ...] = ()
    places: Items | None = None
    comparison: str | None = None
    of: Event | None = None
    than: Event | str | None = None

    def get(self, *names: str) -> Filter | None:
        """The first filter with one of these names, or None."""
        return next((f for f in self.filters if f.name in names), None)

    @property
    def numbered(self) -> tuple[Filter, ...]:
        """The visit and the ICU stay that are given by their numbers."""
        return tuple(f for f in self.filters if f.name in ("visit", "icu") and f.args)

    def without(self, *names: str) -> Event:
        """The same event less the filters of these names."""
        return replace(self, filters=tuple(f for f in self.filters if f.name not in names))


@dataclass(frozen=True)
class Group:
    """Rows by ``key`` (and ``also`` further keys): those with the most or least (``cut``,
    ``most``), or whose number compares (``having``, ``limit``); ``finish`` is one of FINISH or None
    for keys and numbers."""

    key: str
    cut: str | None = None
    most: Arg | None = None
    having: str | None = None
    limit: Arg | None = None
    finish: str | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Keep:
    """The ``most`` newest, oldest, highest or lowest (``which``, of KEEPS) of the rows."""

    which: str
    most: Arg


@dataclass(frozen=True)
class Select:
    """A head asked of an event. ``per`` is one of the periods, HOURS, or None; ``also`` are further
    columns of the same rows, or further measures; ``group`` asks the head of each group of the
    rows, ``keep`` of some of them."""

    head: str
    event: Event
    args: tuple[Arg, ...] = ()
    per: str | None = None
    also: tuple[str, ...] = ()
    group: Group | None = None
    keep: Keep | None = None


@dataclass(frozen=True)
class Compare:
    """Whether the one number of a form compares (``sign``, of HAVING) with ``limit``."""

    form: Form
    sign: str
    limit: Arg


@dataclass(frozen=True)
class Combine:
    """Two forms joined by an operation; of groups, those with the ``most`` or least (``cut``)."""

    op: str
    left: Form
    right: Form
    cut: str | None = None
    most: Arg | None = None


@dataclass(frozen=True)
class Abstain:
    """The model's own refusal to answer."""


Form = Select | Combine | Compare | Abstain


def print_form(form: Form) -> str:
    """The form as text, words separated by one space; ``parse`` reads it back identically."""
    return " ".join(_form_words(form))


def _form_words(form: Form) -> Iterator[str]:
    if isinstance(form, Abstain):
        yield "abstain"
        return
    if isinstance(form, Combine):
        yield from ("(", *_form_words(form.left), ")", form.op)
        yield from ("(", *_form_words(form.right), ")")
        if form.cut and form.most is not None:
            yield from (form.cut, print_arg(form.most))
        return
    if isinstance(form, Compare):
        yield from ("(", *_form_words(form.form), ")", form.sign, print_arg(form.limit))
        return
    yield form.head
    yield from (print_arg(a) for a in form.args)
    for head in form.also:
        yield from ("also", head)
    if form.per:
        yield form.per
    yield from _event_words(form.event)
    if form.group:
        yield from _group_words(form.group)
    if form.keep:
        yield from (form.keep.which, print_arg(form.keep.most))


def _group_words(group: Group) -> Iterator[str]:
    yield from ("by", group.key)
    for key in group.also:
        yield from ("also", key)
    for name, arg in ((group.cut, group.most), (group.having, group.limit)):
        if name and arg is not None:
            yield from (name, print_arg(arg))
    if group.finish:
        yield group.finish


def print_arg(arg: Arg) -> str:
    """``#n`` for a reference, JSON for a literal."""
    if isinstance(arg, Ref):
        return f"#{arg.n}"
    return json.dumps(arg.value, ensure_ascii=False)


def _item_words(items: Items) -> Iterator[str]:
    if items == ABNORMALITY:
        yield "abnormality"
        return
    if items.other:
        yield "not"
    yield print_arg(items.args[0])
    for op, arg in zip(items.ops, items.args[1:], strict=True):
        yield from (op, print_arg(arg))


def _finding_words(items: Items | None, places: Items | None) -> Iterator[str]:
    if items:
        yield from _item_words(items)
    if places:
        yield "at"
        yield from _item_words(places)


def _event_words(event: Event) -> Iterator[str]:
    yield from (w for w in (event.order, event.extreme, event.kind) if w)
    yield from _finding_words(event.items, event.places)
    if event.comparison:
        yield event.comparison
    if event.of:
        yield from ("of", "(", *_event_words(event.of), ")")
    if isinstance(event.than, Event):
        yield from ("than", "(", *_event_words(event.than), ")")
    elif event.than:
        yield from ("than", event.than)
    for item in event.filters:
        yield from _filter_words(item)


def _filter_words(item: Filter) -> Iterator[str]:
    spec = FILTERS[item.name]
    yield item.name
    if spec.which and item.which:
        yield item.which
    if spec.finding:
        yield from ("(", *_finding_words(item.items, item.places), ")")
    if item.event:
        yield from ("(", *_event_words(item.event), ")")
    if item.query:
        yield from ("(", *_form_words(item.query), ")")
    if item.other:
        yield "not"
    if item.window:
        yield item.window
    elif spec.at and item.args:
        yield "at"
    for k, arg in enumerate(item.args):
        if k and spec.many:
            yield "or"
        yield print_arg(arg)
    if item.tie:
        yield item.tie


Mapper = Callable[[Arg, str], Arg]


def map_args(form: Form, change: Mapper) -> Form:
    """The form with ``change(argument, slot)`` in place of every argument, in printed order."""
    if isinstance(form, Abstain):
        return form
    if isinstance(form, Combine):
        left, right = map_args(form.left, change), map_args(form.right, change)
        most = change(form.most, "N") if form.most is not None else None
        return replace(form, left=left, right=right, most=most)
    if isinstance(form, Compare):
        return Compare(map_args(form.form, change), form.sign, change(form.limit, "H"))
    slots = HEADS[form.head].args
    args = tuple(change(a, s) for a, s in zip(form.args, slots, strict=True))
    event, group = _map_event(form.event, change), form.group
    if group:
        most = change(group.most, "N") if group.most is not None else None
        limit = change(group.limit, "H") if group.limit is not None else None
        group = replace(group, most=most, limit=limit)
    keep = replace(form.keep, most=change(form.keep.most, "N")) if form.keep else None
    return replace(form, args=args, event=event, group=group, keep=keep)


def _map_items(items: Items | None, slot: str, change: Mapper) -> Items | None:
    if items is None or items == ABNORMALITY:
        return items
    return replace(items, args=tuple(change(a, slot) for a in items.args))


def _map_event(event: Event, change: Mapper) -> Event:
    slot = "FINDING" if event.kind == "finding" else KINDS[event.kind].item or ""
    return replace(
        event,
        items=_map_items(event.items, slot, change),
        places=_map_items(event.places, "PLACE", change),
        of=_map_event(event.of, change) if event.of else None,
        than=_map_event(event.than, change) if isinstance(event.than, Event) else event.than,
        filters=tuple(_map_filter(f, change) for f in event.filters),
    )


def filter_slots(item: Filter) -> tuple[str, ...]:
    """The slots of a filter's arguments."""
    spec = FILTERS[item.name]
    if item.window in SPANS:
        return ("DUR",)
    if spec.which:
        return spec.slots[: len(item.args)]
    if spec.at and item.args:
        return ("AT",)
    return spec.slots * len(item.args) if spec.many else spec.slots


def _map_filter(item: Filter, change: Mapper) -> Filter:
    event = _map_event(item.event, change) if item.event else None
    query = map_args(item.query, change) if item.query else None
    items = _map_items(item.items, "FINDING", change)
    places = _map_items(item.places, "PLACE", change)
    args = tuple(change(a, s) for a, s in zip(item.args, filter_slots(item), strict=True))
    return replace(item, event=event, query=query, items=items, places=places, args=args)


def map_selects(form: Form, change: Callable[[Select], Form]) -> Form:
    """The form with ``change(select)`` in place of each of its selects; not of those that a filter
    asks."""
    if isinstance(form, Combine):
        left = map_selects(form.left, change)
        return replace(form, left=left, right=map_selects(form.right, change))
    if isinstance(form, Compare):
        return replace(form, form=map_selects(form.form, change))
    return change(form) if isinstance(form, Select) else form


def map_events(form: Form, change: Callable[[Event], Event]) -> Form:
    """The form with ``change(event)`` in place of every event, inner ones first."""

    def inside(item: Filter) -> Filter:
        event = walk(item.event) if item.event else None
        query = map_events(item.query, change) if item.query else None
        return replace(item, event=event, query=query)

    def walk(event: Event) -> Event:
        filters = tuple(inside(f) if f.event or f.query else f for f in event.filters)
        than = walk(event.than) if isinstance(event.than, Event) else event.than
        of = walk(event.of) if event.of else None
        return change(replace(event, filters=filters, than=than, of=of))

    return map_selects(form, lambda select: replace(select, event=walk(select.event)))


def selects(form: Form) -> Iterator[Select]:
    """The selects of a form, left to right; not those that a filter asks."""
    if isinstance(form, Select):
        yield form
    elif isinstance(form, Combine):
        yield from selects(form.left)
        yield from selects(form.right)
    elif isinstance(form, Compare):
        yield from selects(form.form)


def events(event: Event) -> Iterator[Event]:
    """An event and every event inside it."""
    yield event
    inner = [event.of, event.than, *(f.event for f in event.filters)]
    inner += [s.event for f in event.filters if f.query for s in selects(f.query)]
    for other in inner:
        if isinstance(other, Event):
            yield from events(other)
