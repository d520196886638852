"""SQLite's ordinary functions, those that the guard allows, in a target's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ehrqa_cli.contracts.dialect import Dialect, SqlKind
from ehrqa_cli.contracts.errors import DatabaseError, Refused
from ehrqa_cli.dialects.coerce import Coercions
from ehrqa_cli.dialects.kinds import Typed

_LISTS = (
    "ceil ceiling floor sqrt exp ln log log10 log2 pow power pi",
    "upper lower trim ltrim rtrim replace",
    "abs sign round length coalesce ifnull nullif iif substr substring instr likely unlikely",
    "typeof concat trunc",
)
_REAL, _TEXT = frozenset(_LISTS[0].split()), frozenset(_LISTS[1].split())
_OWN = frozenset(" ".join(_LISTS[2:]).split())


class Functions:
    """Calls of functions whose arguments are written already."""

    AGGREGATES: ClassVar[frozenset[str]] = frozenset({"total", "group_concat", "string_agg"})

    def __init__(self, target: Dialect, to: Coercions) -> None:
        self.target = target
        self.to = to

    def aggregates(self, name: str) -> bool:
        """Is it a function of the rows of a group?"""
        return name in self.AGGREGATES

    def aggregate(self, name: str, value: Typed, rest: Sequence[Typed], distinct: bool) -> Typed:
        """total or group_concat of ``value``."""
        if name == "total":
            number = self.to.number(value)
            real = number.kind == SqlKind.REAL
            steady = self.target.steady("SUM", number.sql) if real and not distinct else None
            name = self.target.summing("SUM", real=real)
            summed = steady or f"{name}({'DISTINCT ' if distinct else ''}{number.sql})"
            return Typed(f"COALESCE({summed}, {self.target.real('0')})", SqlKind.REAL)
        separator = self.to.text(rest[0]) if rest else self.target.text(",")
        return Typed(self.target.joined(self.to.text(value), separator, distinct), SqlKind.TEXT)

    def call(self, name: str, args: Sequence[Typed]) -> Typed:
        """A call of ``name``. Raises Refused for a function that is not known."""
        own = getattr(self, f"_{name}", None) if name.isidentifier() else None
        if own is not None and name in _OWN:
            try:
                made: Typed = own(args)
            except (IndexError, ValueError):
                what = f"SQL error: wrong number of arguments to function {name}()"
                raise DatabaseError(what, "look it up in SQLite's documentation") from None
            return made
        if name in _REAL:
            words = [self.to.number(arg).sql for arg in args]
            return Typed(self.called(name, words), SqlKind.REAL)
        if name in _TEXT:
            return Typed(self.called(name, list(map(self.to.text, args))), SqlKind.TEXT)
        raise Refused(
            f"the function {name} is not known on {self.target.name}",
            "use ordinary SQL functions only",
        )

    def called(self, name: str, words: Sequence[str]) -> str:
        """A call in the target's words, in SQLite's where it has none of its own."""
        return self.target.function(name, words) or f"{name.upper()}({', '.join(words)})"

    def _abs(self, args: Sequence[Typed]) -> Typed:
        value = self.to.number(args[0])
        return Typed(f"ABS({value.sql})", value.kind)

    def _sign(self, args: Sequence[Typed]) -> Typed:
        return Typed(self.called("sign", [self.to.number(args[0]).sql]), SqlKind.INTEGER)

    def _trunc(self, args: Sequence[Typed]) -> Typed:
        return Typed(self.called("trunc", [self.to.number(args[0]).sql]), SqlKind.REAL)

    def _round(self, args: Sequence[Typed]) -> Typed:
        value = self.to.number(args[0])
        number = self.target.cast(value.sql, self.target.real_type)
        words = [number, *(digits.sql for digits in args[1:2])]
        return Typed(self.called("round", words), SqlKind.REAL)

    def _length(self, args: Sequence[Typed]) -> Typed:
        return Typed(f"LENGTH({self.to.text(args[0])})", SqlKind.INTEGER)

    def _coalesce(self, args: Sequence[Typed]) -> Typed:
        made, kind = self.to.common(args)
        return Typed(f"COALESCE({', '.join(made)})", kind)

    _ifnull = _coalesce

    def _nullif(self, args: Sequence[Typed]) -> Typed:
        left, right = args
        same = self.to.compare(left, "=", right)
        return Typed(f"CASE WHEN {same} THEN NULL ELSE {left.sql} END", left.kind)

    def _iif(self, args: Sequence[Typed]) -> Typed:
        arms = [args[1], args[2] if len(args) > 2 else Typed("NULL", SqlKind.NULL)]
        made, kind = self.to.common(arms)
        test = self.to.truth(args[0])
        return Typed(f"CASE WHEN {test} THEN {made[0]} ELSE {made[1]} END", kind)

    def _substr(self, args: Sequence[Typed]) -> Typed:
        words = [self.to.text(args[0]), *(self.to.number(arg).sql for arg in args[1:])]
        return Typed(self.called("substr", words), SqlKind.TEXT)

    _substring = _substr

    def _instr(self, args: Sequence[Typed]) -> Typed:
        words = [self.to.text(args[0]), self.to.text(args[1])]
        sql = self.target.function("instr", words) or f"STRPOS({', '.join(words)})"
        return Typed(sql, SqlKind.INTEGER)

    def _likely(self, args: Sequence[Typed]) -> Typed:
        return args[0]

    _unlikely = _likely

    def _typeof(self, args: Sequence[Typed]) -> Typed:
        value = args[0]
        names = {SqlKind.INTEGER: "integer", SqlKind.BOOLEAN: "integer", SqlKind.REAL: "real"}
        found = self.target.text(names.get(value.kind, "text"))
        return Typed(f"CASE WHEN {value.sql} IS NULL THEN 'null' ELSE {found} END", SqlKind.TEXT)

    def _concat(self, args: Sequence[Typed]) -> Typed:
        return Typed(self.called("concat", list(map(self.to.text, args))), SqlKind.TEXT)
