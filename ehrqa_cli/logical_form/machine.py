"""The grammar as an incremental machine, so that a model can only write valid forms.

``Machine(link_types).allowed()`` are the lexemes that may come next; ``push`` takes one. The
stack holds symbols; a symbol offers lexemes, each with the symbols that must follow it. A
reference is offered only where its type fits, so a form that ends is well typed too.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    INT_SLOTS,
    INTS,
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
    SLOTS,
    SPANS,
    WHICH,
    common,
    inner_kinds,
    measurable,
    ties_of,
    windows_of,
)

EOS = "<eos>"
Symbol = tuple[str, ...]
Options = dict[str, tuple[Symbol, ...]]
_MAX_NESTING = 6


def _words(*words: str) -> Symbol:
    return ("words", *words)


def _opt(*words: str) -> Symbol:
    return ("maybe", *words)


class Machine:
    """State of writing one form. ``link_types[k - 1]`` are the types of reference ``#k``."""

    def __init__(self, link_types: Sequence[Sequence[str]] = ()) -> None:
        self.link_types = tuple(frozenset(t) for t in link_types)
        self.stack: list[Symbol] = [("form", "0")]
        self._done = False

    def copy(self) -> Machine:
        """An independent machine in the same state (for beam search)."""
        twin = Machine.__new__(Machine)
        twin.link_types, twin.stack, twin._done = self.link_types, list(self.stack), self._done
        return twin

    @property
    def done(self) -> bool:
        """True once <eos> has been pushed."""
        return self._done

    def allowed(self) -> frozenset[str]:
        """Lexemes that may come next; contains ``<eos>`` when the form may end here."""
        if self._done:
            return frozenset()
        found: set[str] = set()
        for symbol in reversed(self.stack):
            found.update(self._options(symbol))
            if not self._nullable(symbol):
                return frozenset(found)
        return frozenset(found | {EOS})

    def push(self, lexeme: str) -> None:
        """Write one lexeme. Raises ValueError when it is not allowed here."""
        if lexeme == EOS:
            if EOS not in self.allowed():
                raise ValueError("the form cannot end here")
            self._done = True
            return
        while self.stack:
            symbol = self.stack[-1]
            options = self._options(symbol)
            if lexeme in options:
                self.stack.pop()
                self.stack.extend(reversed(options[lexeme]))
                return
            if not self._nullable(symbol):
                break
            self.stack.pop()
        raise ValueError(f"{lexeme!r} is not allowed here")

    def _nullable(self, symbol: Symbol) -> bool:
        name = symbol[0]
        if name == "items?":
            return not KINDS[symbol[1]].required
        return name in (
            "maybe",
            "more",
            "filters",
            "at?",
            "window",
            "place?",
            "group",
            "keys",
            "keep",
            "limit",
            "or",
            "other",
        )

    def _options(self, symbol: Symbol) -> Options:
        name = symbol[0]
        if name in ("words", "maybe"):
            return dict.fromkeys(symbol[1:], ())
        if name == "slot":
            return self._slot(symbol[1])
        found: Options = getattr(self, "_" + name.rstrip("?") + "_options")(symbol)
        return {w: s for w, s in found.items() if self._reachable(s)}

    def _reachable(self, symbols: tuple[Symbol, ...]) -> bool:
        # A word that needs a reference is not offered when no link has the type it needs.
        needy = ("slot", "items", "kind", "top", "key")
        return all(s[0] not in needy or bool(self._options(s)) for s in symbols)

    def _slot(self, slot: str) -> Options:
        types = SLOTS[slot]
        found: Options = {
            f"#{k}": () for k, has in enumerate(self.link_types, 1) if has.intersection(types)
        }
        if slot in INT_SLOTS:
            found.update(dict.fromkeys(INTS, ()))
        return found

    def _form_options(self, symbol: Symbol) -> Options:
        depth = symbol[1]
        found: Options = {h: self._after_head(h) for h in HEADS}
        if depth == "0":
            found[ABSTAIN] = ()
        if int(depth) < _MAX_NESTING:
            deeper: Symbol = ("form", str(int(depth) + 1))
            found["("] = (deeper, _words(")"), ("joined", str(int(depth) + 1)))
        return found

    def _joined_options(self, symbol: Symbol) -> Options:
        """After a form in parentheses: another one, or a number to compare with."""
        other: tuple[Symbol, ...] = (_words("("), ("form", symbol[1]), _words(")"))
        cut: Symbol = ("limit", "N", *CUTS)
        ops = {op: (*other, cut) if spec.by_group else other for op, spec in OPS.items()}
        return ops | dict.fromkeys(HAVING, (("slot", "H"),))

    def _after_head(self, head: str) -> tuple[Symbol, ...]:
        spec = HEADS[head]
        symbols: list[Symbol] = [("slot", s) for s in spec.args]
        if head in PAIRED:
            return (*symbols, ("rest", head))
        if spec.per == "may" or spec.hours or head in GROUPED:
            return (*symbols, ("measure", head))
        if spec.per:
            symbols.append(_words(*PERIODS))
        if spec.order:
            symbols.append(_opt(*ORDERS))
        if spec.extreme:
            symbols.append(_opt(*EXTREMES))
        symbols.append(("top", head, *spec.kinds))
        return tuple(symbols)

    def _measure_options(self, symbol: Symbol) -> Options:
        """A measure is taken a period, or of each group, or of all rows."""
        spec = HEADS[symbol[1]]
        plain: Symbol = ("kind", "0", *spec.kinds)
        top: Symbol = ("top", symbol[1], *spec.kinds)
        further: Options = {HOURS: (top,)} if spec.hours else {}
        if spec.per == "may":
            further = dict.fromkeys(PERIODS, (plain,))
        if symbol[1] in GROUPED:
            further["also"] = (("measures", symbol[1]),)
        return self._options(top) | further

    def _measures_options(self, symbol: Symbol) -> Options:
        heads = symbol[1:]
        fit = (h for h in GROUPED if h not in heads and measurable((*heads, h)))
        return {h: (("several", *heads, h),) for h in fit}

    def _several_options(self, symbol: Symbol) -> Options:
        """What may follow several measures: another one, or the rows they are of."""
        heads = symbol[1:]
        top: Symbol = ("top", heads[0], *measurable(heads))
        found = self._options(top)
        if any(HEADS[h].hours for h in heads):
            found[HOURS] = (top,)
        if len(heads) < MOST_PAIRED:
            found["also"] = (("measures", *heads),)
        return found

    def _rest_options(self, symbol: Symbol) -> Options:
        """What may follow columns: another column, or the rows they are of."""
        heads = symbol[1:]
        spec, alone = HEADS[heads[0]], len(heads) == 1
        kinds = spec.kinds if alone else common(heads)
        top: Symbol = ("top", heads[0], *kinds)
        found = {k: (*after, ("keep",)) for k, after in self._options(top).items()}
        if not alone or spec.order:
            after: tuple[Symbol, ...] = (top,)
            if not alone or spec.extreme:
                after = (_opt(*EXTREMES), top)
            if alone and heads[0] in ORDERED:
                after = (("nth", heads[0], *kinds),)
            found |= dict.fromkeys(ORDERS, after)
        if not alone or spec.extreme:
            found |= dict.fromkeys(EXTREMES, (top,))
        if any(HEADS[h].hours for h in heads):
            found[HOURS] = (("unit", *heads),)
        if len(heads) < MOST_PAIRED:
            found["also"] = (("column", *heads),)
        return found

    def _unit_options(self, symbol: Symbol) -> Options:
        """What may follow columns and their unit: no further column."""
        found = self._rest_options(symbol)
        return {k: after for k, after in found.items() if k not in (HOURS, "also")}

    def _nth_options(self, symbol: Symbol) -> Options:
        """After an order word: the extreme one, or one of each group."""
        head, kinds = symbol[1], symbol[2:]
        found = self._options(("top", head, *kinds))
        each = {k: (*after, ("group", k)) for k, after in found.items()}
        further = EXTREMES if HEADS[head].extreme else ()
        return each | dict.fromkeys(further, (("top", head, *kinds),))

    def _column_options(self, symbol: Symbol) -> Options:
        heads = symbol[1:]
        return {h: (("rest", *heads, h),) for h in PAIRED if h not in heads and common((*heads, h))}

    def _top_options(self, symbol: Symbol) -> Options:
        head, kinds = symbol[1], symbol[2:]
        found = {}
        for kind in kinds:
            found[kind] = self._after_kind(kind, "0")
            if head in GROUPED:
                found[kind] = (*found[kind], ("group", kind))
        return found

    def _group_options(self, symbol: Symbol) -> Options:
        rest: tuple[Symbol, ...] = (("limit", "N", *CUTS), ("limit", "H", *HAVING), _opt(*FINISH))
        return {"by": (("key", symbol[1]), *rest)}

    def _key_options(self, symbol: Symbol) -> Options:
        kind, had = symbol[1], symbol[2:]
        fit = (g for g, kinds in GROUPS.items() if kind in kinds and g not in had)
        return {g: (("keys", kind, *had, g),) for g in fit}

    def _keys_options(self, symbol: Symbol) -> Options:
        return {"also": (("key", *symbol[1:]),)} if len(symbol) - 2 < MOST_KEYS else {}

    def _keep_options(self, _symbol: Symbol) -> Options:
        return dict.fromkeys(KEEPS, (("slot", "N"),))

    def _other_options(self, _symbol: Symbol) -> Options:
        return {"not": ()}

    def _limit_options(self, symbol: Symbol) -> Options:
        return dict.fromkeys(symbol[2:], (("slot", symbol[1]),))

    def _or_options(self, symbol: Symbol) -> Options:
        return {"or": (("slot", symbol[1]), symbol)}

    def _kind_options(self, symbol: Symbol) -> Options:
        depth, kinds = symbol[1], symbol[2:]
        return {k: self._after_kind(k, depth) for k in kinds}

    def _after_kind(self, kind: str, depth: str) -> tuple[Symbol, ...]:
        if kind == "finding":
            return (("items", "FINDING"), ("place?",), ("tail", depth))
        if kind in IMAGE:
            return (_words("of"), *self._inner(("study",), depth))
        symbols: list[Symbol] = []
        if KINDS[kind].item:
            symbols.append(("items", kind) if KINDS[kind].required else ("items?", kind))
        symbols.append(("filters", kind, "0", depth))
        return tuple(symbols)

    def _inner(self, kinds: tuple[str, ...], depth: str) -> tuple[Symbol, ...]:
        deeper = str(int(depth) + 1)
        kind: Symbol = ("kind", deeper, *kinds)
        return (_words("("), _opt(*ORDERS), _opt(*EXTREMES), kind, _words(")"))

    def _items_options(self, symbol: Symbol) -> Options:
        name = symbol[1]
        slot = (KINDS[name].item or "") if name in KINDS else name
        found: Options = dict.fromkeys(self._slot(slot), (("more", slot),))
        if slot == "FINDING":
            found["abnormality"] = ()
        elif name in KINDS and not KINDS[name].required and found:
            found["not"] = (("slot", slot), ("or", slot))
        return found

    def _more_options(self, symbol: Symbol) -> Options:
        again: tuple[Symbol, ...] = (("slot", symbol[1]), ("more", symbol[1]))
        return dict.fromkeys(JOINS, again)

    def _place_options(self, _symbol: Symbol) -> Options:
        return {"at": (("items", "PLACE"),)}

    def _tail_options(self, symbol: Symbol) -> Options:
        depth = symbol[1]
        target = self._inner(("study",), depth)
        found: Options = {"of": target}
        for word in COMPARISONS:
            found[word] = (_words("of"), *target, _words("than"), ("versus", depth))
        return found

    def _versus_options(self, symbol: Symbol) -> Options:
        return {"previous": (), "(": self._inner(("study",), symbol[1])[1:]}

    def _filters_options(self, symbol: Symbol) -> Options:
        _, kind, start, depth = symbol
        found: Options = {}
        for index in range(int(start), len(FILTER_NAMES)):
            name = FILTER_NAMES[index]
            spec = FILTERS[name]
            nests = spec.event or spec.query
            if kind not in spec.kinds or (nests and int(depth) >= _MAX_NESTING):
                continue
            rest: Symbol = ("filters", kind, str(index + (name not in REPEATED)), depth)
            found[name] = (*self._after_filter(name, depth), rest)
        return found

    def _after_filter(self, name: str, depth: str) -> tuple[Symbol, ...]:
        spec = FILTERS[name]
        if spec.which:
            return (("which", *spec.slots),)
        if spec.finding:
            return (_words("("), ("items", "FINDING"), ("place?",), _words(")"))
        if spec.event:
            inner = self._inner(inner_kinds(name), depth)
            return (*inner, ("window", name)) if spec.window else inner
        if spec.query:
            return (_words("("), ("form", str(int(depth) + 1)), _words(")"))
        if spec.at:
            return (("at?",),)
        slots: tuple[Symbol, ...] = tuple(("slot", s) for s in spec.slots)
        slots = (*slots, ("or", spec.slots[0])) if spec.many else slots
        return (("other",), *slots) if spec.other else slots

    def _which_options(self, symbol: Symbol) -> Options:
        return dict.fromkeys(WHICH, ()) | self._slot(symbol[1])

    def _window_options(self, symbol: Symbol) -> Options:
        windows, after = windows_of(symbol[1]), ("slot", "DUR")
        return {w: (after, _opt(*ties_of(w))) if w in SPANS else () for w in windows}

    def _at_options(self, _symbol: Symbol) -> Options:
        return {"at": (("slot", "AT"),)}
