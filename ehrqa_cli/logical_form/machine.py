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
    KINDS,
    MOST_PAIRED,
    OPS,
    ORDERED,
    ORDERS,
    PAIRED,
    PERIODS,
    SLOTS,
    TIMED,
    WHICH,
    WINDOWS,
    common,
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
            "limit",
            "or",
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
        needy = ("slot", "items", "kind", "top")
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
            close: tuple[Symbol, ...] = (_words(")"), _words(*OPS), _words("("), deeper)
            found["("] = (deeper, *close, _words(")"))
        return found

    def _after_head(self, head: str) -> tuple[Symbol, ...]:
        spec = HEADS[head]
        symbols: list[Symbol] = [("slot", s) for s in spec.args]
        if head in PAIRED:
            return (*symbols, ("rest", head))
        if spec.per == "may" or spec.hours:
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
        further: Options = {HOURS: (top,)} if spec.hours else dict.fromkeys(PERIODS, (plain,))
        return self._options(top) | further

    def _rest_options(self, symbol: Symbol) -> Options:
        """What may follow columns: another column, or the rows they are of."""
        heads = symbol[1:]
        spec, alone = HEADS[heads[0]], len(heads) == 1
        kinds = spec.kinds if alone else common(heads)
        top: Symbol = ("top", heads[0], *kinds)
        found = self._options(top)
        if not alone or spec.order:
            after: tuple[Symbol, ...] = (top,)
            if not alone or spec.extreme:
                after = (_opt(*EXTREMES), top)
            if alone and heads[0] in ORDERED:
                after = (("nth", heads[0], *kinds),)
            found |= dict.fromkeys(ORDERS, after)
        if not alone or spec.extreme:
            found |= dict.fromkeys(EXTREMES, (top,))
        if alone and spec.hours:
            found[HOURS] = (_opt(*ORDERS), _opt(*EXTREMES), top)
        if len(heads) < MOST_PAIRED:
            found["also"] = (("column", *heads),)
        return found

    def _nth_options(self, symbol: Symbol) -> Options:
        """After an order word: the extreme one, or one of each group."""
        head, kinds = symbol[1], symbol[2:]
        found = self._options(("top", head, *kinds))
        each = {k: (*after, ("group", k)) for k, after in found.items()}
        return each | dict.fromkeys(EXTREMES, (("top", head, *kinds),))

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
        keys = _words(*(g for g, kinds in GROUPS.items() if symbol[1] in kinds))
        return {"by": (keys, ("limit", "N", *CUTS), ("limit", "H", *HAVING), _opt(*FINISH))}

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
            if kind not in spec.kinds or (spec.event and int(depth) >= _MAX_NESTING):
                continue
            rest: Symbol = ("filters", kind, str(index + 1), depth)
            found[name] = (*self._after_filter(name, depth), rest)
        return found

    def _after_filter(self, name: str, depth: str) -> tuple[Symbol, ...]:
        spec = FILTERS[name]
        if spec.which:
            return (_words(*WHICH),)
        if spec.finding:
            return (_words("("), ("items", "FINDING"), ("place?",), _words(")"))
        if spec.event:
            inner = self._inner(TIMED, depth)
            return (*inner, ("window",)) if spec.window else inner
        if spec.at:
            return (("at?",),)
        slots: tuple[Symbol, ...] = tuple(("slot", s) for s in spec.slots)
        return (*slots, ("or", spec.slots[0])) if spec.many else slots

    def _window_options(self, _symbol: Symbol) -> Options:
        found: Options = dict.fromkeys(WINDOWS, ())
        found["within"] = (("slot", "DUR"),)
        return found

    def _at_options(self, _symbol: Symbol) -> Options:
        return {"at": (("slot", "AT"),)}
