"""Text to form: a recursive-descent parser over the tables of grammar.py."""

from __future__ import annotations

import json
import re

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.logical_form.form import (
    ABNORMALITY,
    Abstain,
    Arg,
    Combine,
    Compare,
    Event,
    Filter,
    Form,
    Group,
    Items,
    Keep,
    Lit,
    Ref,
    Select,
)
from ehrqa_cli.logical_form.grammar import (
    ABSTAIN,
    COMPARISONS,
    CUTS,
    EXTREMES,
    FILTER_NAMES,
    FILTERS,
    FINISH,
    GROUPED,
    GROUPS,
    HAVING,
    HEADS,
    HOURS,
    IMAGE,
    JOINS,
    KEEPS,
    KINDS,
    MOST_KEYS,
    MOST_PAIRED,
    OPS,
    ORDERED,
    ORDERS,
    PAIRED,
    PERIODS,
    REPEATED,
    SPANS,
    TIES,
    WHICH,
    common,
    inner_kinds,
    measurable,
    ties_of,
    windows_of,
)

_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?$")
_MAX_DEPTH = 20


def words_of(text: str) -> list[str]:
    """The words of a printed form; a quoted value is one word."""
    return _WORD.findall(text)


def parse(text: str) -> Form:
    """Read a printed form. Raises FormError naming the word that does not fit."""
    parser = _Parser(words_of(text))
    form = parser.form(0)
    if parser.peek() is not None:
        raise parser.error("the end")
    return form


class _Parser:
    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.at = 0

    def peek(self) -> str | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def error(self, wanted: str) -> FormError:
        found = self.peek() or "the end"
        return FormError(
            f"logical form: expected {wanted} at word {self.at + 1}, found {found!r}",
            "see docs/logical-form.md for the grammar",
        )

    def take(self, *allowed: str, wanted: str | None = None) -> str:
        word = self.peek()
        if word is None or word not in allowed:
            raise self.error(wanted or " or ".join(allowed[:8]))
        self.at += 1
        return word

    def maybe(self, *allowed: str) -> str | None:
        word = self.peek()
        if word is not None and word in allowed:
            self.at += 1
            return word
        return None

    def arg(self) -> Arg:
        word = self.peek()
        if word is None:
            raise self.error("a value")
        if word.startswith("#") and word[1:].isdigit() and int(word[1:]) > 0:
            self.at += 1
            return Ref(int(word[1:]))
        if word.startswith('"') or _NUMBER.match(word):
            self.at += 1
            try:
                return Lit(json.loads(word))
            except ValueError:
                self.at -= 1
        raise self.error("a value")

    def form(self, depth: int) -> Form:
        if depth > _MAX_DEPTH:
            raise FormError("logical form: nested too deeply", "ask a simpler question")
        if self.maybe(ABSTAIN):
            return Abstain()
        if self.maybe("("):
            left = self.form(depth + 1)
            self.take(")")
            if sign := self.maybe(*HAVING):
                return Compare(left, sign, self.arg())
            op = self.take(*OPS)
            self.take("(")
            right = self.form(depth + 1)
            self.take(")")
            cut = self.maybe(*CUTS) if OPS[op].by_group else None
            return Combine(op, left, right, cut, self.arg() if cut else None)
        head = self.take(*HEADS, wanted="a head such as value, time, count")
        spec = HEADS[head]
        args = tuple(self.arg() for _ in spec.args)
        if head in PAIRED and self.peek() == "also":
            return self.pair(head, depth)
        if head in GROUPED and self.peek() == "also":
            return self.measures(head, depth)
        per = self.take(*PERIODS) if spec.per == "must" else None
        if spec.per == "may" or spec.hours:
            per = self.maybe(*((HOURS,) if spec.hours else PERIODS))
        order = self.maybe(*ORDERS) if spec.order else None
        extreme = self.maybe(*EXTREMES) if spec.extreme else None
        event = self.event(spec.kinds, order, extreme, depth)
        nth = head in ORDERED and order is not None and extreme is None
        grouped = (head in GROUPED and per in (None, HOURS)) or nth
        group = self.group(event.kind) if grouped else None
        keep = self.keep() if head in PAIRED and not (group or order or extreme) else None
        return Select(head, event, args, per, group=group, keep=keep)

    def pair(self, head: str, depth: int) -> Select:
        heads = [head]
        while len(heads) < MOST_PAIRED and self.maybe("also"):
            heads.append(self.take(*(h for h in PAIRED if h not in heads and common((*heads, h)))))
        per = self.maybe(HOURS) if any(HEADS[h].hours for h in heads) else None
        order, extreme = self.maybe(*ORDERS), self.maybe(*EXTREMES)
        event = self.event(common(heads), order, extreme, depth)
        keep = None if order or extreme else self.keep()
        return Select(head, event, per=per, also=tuple(heads[1:]), keep=keep)

    def measures(self, head: str, depth: int) -> Select:
        heads = [head]
        while len(heads) < MOST_PAIRED and self.maybe("also"):
            fit = (h for h in GROUPED if h not in heads and measurable((*heads, h)))
            heads.append(self.take(*fit))
        per = self.maybe(HOURS) if any(HEADS[h].hours for h in heads) else None
        event = self.event(measurable(heads), None, None, depth)
        group = self.group(event.kind)
        return Select(head, event, per=per, also=tuple(heads[1:]), group=group)

    def keep(self) -> Keep | None:
        which = self.maybe(*KEEPS)
        return Keep(which, self.arg()) if which else None

    def group(self, kind: str) -> Group | None:
        if not self.maybe("by"):
            return None
        keys: list[str] = []
        while not keys or (len(keys) < MOST_KEYS and self.maybe("also")):
            fit = (g for g, kinds in GROUPS.items() if kind in kinds and g not in keys)
            keys.append(self.take(*fit))
        cut = self.maybe(*CUTS)
        most = self.arg() if cut else None
        having = self.maybe(*HAVING)
        limit = self.arg() if having else None
        finish = self.maybe(*FINISH)
        if finish and cut is None:  # "each as a percent, the 3 with the most"
            cut = self.maybe(*CUTS)
            most = self.arg() if cut else None
        return Group(keys[0], cut, most, having, limit, finish, tuple(keys[1:]))

    def event(
        self, kinds: tuple[str, ...], order: str | None, extreme: str | None, depth: int
    ) -> Event:
        if depth > _MAX_DEPTH:
            raise FormError("logical form: nested too deeply", "ask a simpler question")
        kind = self.take(*kinds, wanted="a kind such as " + ", ".join(kinds[:6]))
        if kind in IMAGE:
            return self.image(kind, (order, extreme), depth)
        items = self.items() if KINDS[kind].required or self.value_next(kind) else None
        filters = self.filters(kind, depth)
        return Event(kind, order, extreme, items, filters)

    def value_next(self, kind: str) -> bool:
        word = self.peek() or ""
        is_value = word.startswith(("#", '"')) or bool(_NUMBER.match(word))
        item = KINDS[kind].item is not None
        return item and (is_value or (word == "not" and not KINDS[kind].required))

    def items(self) -> Items:
        other = self.maybe("not") is not None
        args, ops = [self.arg()], []
        while op := self.maybe(*(("or",) if other else JOINS)):
            ops.append(op)
            args.append(self.arg())
        return Items(tuple(args), tuple(ops), other)

    def finding(self) -> tuple[Items, Items | None]:
        items = ABNORMALITY if self.maybe("abnormality") else self.items()
        return items, self.items() if self.maybe("at") else None

    def image(self, kind: str, which: tuple[str | None, str | None], depth: int) -> Event:
        items, places, comparison = None, None, None
        if kind == "finding":
            items, places = self.finding()
            comparison = self.maybe(*COMPARISONS)
        self.take("of")
        of = self.inner(("study",), depth)
        than: Event | str | None = None
        if comparison:
            self.take("than")
            than = self.maybe("previous") or self.inner(("study",), depth)
        return Event(kind, *which, items, (), places, comparison, of, than)

    def inner(self, kinds: tuple[str, ...], depth: int) -> Event:
        self.take("(")
        order = self.maybe(*ORDERS)
        extreme = self.maybe(*EXTREMES)
        event = self.event(kinds, order, extreme, depth + 1)
        self.take(")")
        return event

    def filters(self, kind: str, depth: int) -> tuple[Filter, ...]:
        """Filters in any order, each once or in REPEATED, put into their fixed order."""
        found: list[Filter] = []
        while True:
            had = {item.name for item in found} - REPEATED
            names = [n for n in FILTER_NAMES if kind in FILTERS[n].kinds and n not in had]
            name = self.maybe(*names)
            if name is None:
                return tuple(sorted(found, key=lambda item: FILTER_NAMES.index(item.name)))
            found.append(self.filter(name, depth))

    def filter(self, name: str, depth: int) -> Filter:
        spec = FILTERS[name]
        if spec.which:
            which = self.maybe(*WHICH)
            return Filter(name, which=which) if which else Filter(name, (self.arg(),))
        if spec.finding:
            self.take("(")
            items, places = self.finding()
            self.take(")")
            return Filter(name, items=items, places=places)
        if spec.query:
            self.take("(")
            query = self.form(depth + 1)
            self.take(")")
            return Filter(name, query=query)
        event = self.inner(inner_kinds(name), depth) if spec.event else None
        window, tie = self.maybe(*windows_of(name)), None
        if window in TIES and self.peek() in ("within", "beyond"):
            window, tie = self.maybe("within", "beyond"), window
        if window in SPANS or (spec.at and self.maybe("at")):
            arg = self.arg()
            return Filter(name, (arg,), event, window, tie or self.maybe(*ties_of(window)))
        other = bool(spec.other and self.maybe("not"))
        args = [self.arg() for _ in spec.slots]
        while spec.many and self.maybe("or"):
            args.append(self.arg())
        return Filter(name, tuple(args), event, window, other=other)
