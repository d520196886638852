"""Programs as SQL on the tables of scene graphs (SQLite's; dialects translate it).

A yes/no program becomes a SELECT of the studies answered yes, any other one of (study, name); a
second SELECT gives the studies that cannot be decided, where there can be any. `vqa.evaluate`
computes the same on a matrix, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ehrqa_cli.sqltext import quote
from ehrqa_cli.vqa.evaluate import NAMES_OF
from ehrqa_cli.vqa.program import CTR, HEART, NAME, RATIOS, SEX, VIEW, Expr, Leaf, Program
from ehrqa_cli.vqa.tables.facts import Fact, Facts, Named
from ehrqa_cli.vqa.thresholds import VqaThresholds

STUDIES, RELATIONS = "cxr_studies", "cxr_relations"
SEEN = f"SELECT study_id FROM {STUDIES} WHERE problem IS NULL"
_NEVER, _ALWAYS = "1 = 0", "1 = 1"
_NO_NAME = ", '' AS value"
_UNSAID = "r.probability IS NULL"
# A relation of a study: its row, named r; s is the study's own.
_ROW = f"SELECT 1 FROM {RELATIONS} AS r WHERE r.study_id = s.study_id AND"


@dataclass(frozen=True)
class Sets:
    """``found`` gives study_id, or study_id and value; ``unknown`` study_id, "" where every study
    can be decided."""

    found: str
    unknown: str = ""


@dataclass(frozen=True)
class _Truth:
    """Two conditions on the study s: surely so, and not surely not so."""

    yes: str
    maybe: str


class Writer:
    """Writes the SQL of programs. ``within`` (study ids) narrows it to some studies."""

    def __init__(
        self, facts: Facts, thresholds: VqaThresholds, within: Sequence[int] | None = None
    ) -> None:
        self._facts = facts
        self._limits = thresholds
        self._ids = None if within is None else ", ".join(map(str, within or (-1,)))

    def sets(self, program: Program) -> Sets:
        """The SQL of one program."""
        if program.ask in (VIEW, SEX) and not program.option:
            return self._either(program)
        if program.ask in RATIOS:
            return self._ratio("s.ctr" if program.ask == CTR else "s.mtr")
        if program.verify:
            return self._verify(program)
        named = self._facts.names if program.ask == NAME else self._facts.places
        assert program.expr is not None
        yes, maybe = self._rows(program.expr, named)
        open_ = yes != maybe
        open_rows = _set("EXCEPT", (maybe, yes))
        unknown = f"SELECT DISTINCT study_id FROM ( {open_rows} )" if open_ else ""
        return Sets(yes, unknown)

    # --- yes or no

    def _verify(self, program: Program) -> Sets:
        if program.ask in (VIEW, SEX):
            truth = self._options(program)[program.option]
        elif program.expr is None:
            truth = self._width(program)
        elif isinstance(program.expr, Leaf):
            fact = self._facts.leaf(program.expr)
            found = self._of_relations(fact) if fact.yes else self._of_studies(_NEVER)
            if fact.exact:  # no look at the studies' own table
                return Sets(found)
            truth = self._fact(fact)
            return Sets(found, self._of_studies(_unknown(truth)))
        else:
            truth = self._truth(program.expr)
        exact = truth.yes == truth.maybe
        return Sets(self._of_studies(truth.yes), "" if exact else self._of_studies(_unknown(truth)))

    def _truth(self, expr: Expr) -> _Truth:
        if isinstance(expr, Leaf):
            return self._fact(self._facts.leaf(expr))
        parts = [self._truth(part) for part in expr.parts]
        if expr.op == "none":
            return _denied(parts[0])
        if expr.op == "not":
            return reduce(lambda a, b: _joined("AND", (a, _denied(b))), parts)
        return _joined(expr.op.upper(), parts)

    def _fact(self, fact: Fact) -> _Truth:
        yes = self._present(fact.yes)
        if fact.exact:
            return _Truth(yes, yes)
        if fact.open:
            return _Truth(yes, _ALWAYS)
        more = [self._present(fact.whole)] if fact.whole else []
        if fact.unsaid:
            more.append(f"EXISTS ( {_ROW} r.relation {_among(fact.unsaid)} AND {_UNSAID} )")
        return _Truth(yes, f"( {' OR '.join([yes, *more])} )")

    def _present(self, relations: Iterable[int]) -> str:
        if not relations:
            return _NEVER
        return f"EXISTS ( {_ROW} {self._above(relations)} )"

    def _above(self, relations: Iterable[int]) -> str:
        """The condition on r that one of ``relations`` counts as present, by its threshold."""
        groups: dict[float, list[int]] = {}
        for relation in sorted(relations):
            groups.setdefault(self._limit(relation), []).append(relation)
        made = [
            f"r.relation {_among(found)} AND r.probability >= {limit!r}"
            for limit, found in sorted(groups.items())
        ]
        return made[0] if len(made) == 1 else "( " + " OR ".join(f"( {m} )" for m in made) + " )"

    def _limit(self, relation: int) -> float:
        # Probabilities are held with 32 bits; the threshold must be rounded as they are.
        of = self._limits.of(self._facts.known.coverage.relations[relation])
        return float(np.float32(of))

    def _options(self, program: Program) -> dict[str, _Truth]:
        """Of each view or sex, is it that?"""
        column, limit = self._column(program)
        second = _Truth(
            f"s.{column} IS NOT NULL AND s.{column} >= {limit!r}",
            f"( s.{column} IS NULL OR s.{column} >= {limit!r} )",
        )
        one, other = NAMES_OF[program.ask]
        first = _Truth(
            f"s.{column} IS NOT NULL AND s.{column} < {limit!r}",
            f"( s.{column} IS NULL OR s.{column} < {limit!r} )",
        )
        return {one: first, other: second}

    def _column(self, program: Program) -> tuple[str, float]:
        view = program.ask == VIEW
        limit = self._limits.view if view else self._limits.sex
        return ("pa" if view else "female"), limit

    def _width(self, program: Program) -> _Truth:
        column = "s.ctr" if program.ask == HEART else "s.mtr"
        sign = "<" if program.below else ">"
        wide = f"{column} {sign} {program.limit!r}"
        # Of a ratio so near to the limit the error of measuring it decides: nothing is said.
        margin = self._limits.margin
        sure = f"{column} IS NOT NULL"
        unsure = f"{column} IS NULL"
        if margin > 0:
            sure += f" AND ABS( {column} - {program.limit!r} ) >= {margin!r}"
            unsure += f" OR ABS( {column} - {program.limit!r} ) < {margin!r}"
        return _Truth(f"{sure} AND {wide}", f"( {unsure} OR {wide} )")

    def _ratio(self, column: str) -> Sets:
        found = self._of_studies(f"{column} IS NOT NULL", f", CAST( {column} AS TEXT ) AS value")
        return Sets(found, self._of_studies(f"{column} IS NULL"))

    # --- names

    def _either(self, program: Program) -> Sets:
        """The view, or the sex."""
        column, limit = self._column(program)
        first, second = NAMES_OF[program.ask]
        case = f"CASE WHEN s.{column} >= {limit!r} THEN {quote(second)} ELSE {quote(first)} END"
        found = self._of_studies(f"s.{column} IS NOT NULL", f", {case} AS value")
        return Sets(found, self._of_studies(f"s.{column} IS NULL"))

    def _rows(self, expr: Expr, named: Named) -> tuple[str, str]:
        """(study, name) that is surely so, and that is not surely not so."""
        if isinstance(expr, Leaf):
            return self._named(named(expr))
        parts = [self._rows(part, named) for part in expr.parts]
        if expr.op == "none":
            ((yes, maybe),) = parts
            every = self._every(self._universe(expr.parts[0], named))
            return _set("EXCEPT", (every, maybe)), _set("EXCEPT", (every, yes))
        if expr.op == "not":
            (yes, maybe), *rest = parts
            gone = _set("UNION", [r[0] for r in rest]), _set("UNION", [r[1] for r in rest])
            return _set("EXCEPT", (yes, gone[1])), _set("EXCEPT", (maybe, gone[0]))
        word = "UNION" if expr.op == "or" else "INTERSECT"
        return _set(word, [p[0] for p in parts]), _set(word, [p[1] for p in parts])

    def _named(self, facts: Mapping[str, Fact]) -> tuple[str, str]:
        yes = self._pairs({name: fact.yes for name, fact in facts.items()})
        if all(fact.exact for fact in facts.values()):
            return yes, yes
        maybe = [yes]
        if any(fact.whole for fact in facts.values()):
            maybe.append(self._pairs({name: fact.whole for name, fact in facts.items()}))
        if any(fact.unsaid for fact in facts.values()):
            maybe.append(self._pairs({n: fact.unsaid for n, fact in facts.items()}, _UNSAID))
        if always := [name for name, fact in facts.items() if fact.open]:
            maybe.append(self._every(always))
        return yes, _set("UNION", maybe)

    def _pairs(self, relations: Mapping[str, Iterable[int]], where: str = "") -> str:
        """(study, name) of the names that have one of their relations in a study."""
        cells = [
            f"({relation}, {quote(name)}, {self._limit(relation)!r})"
            for name, found in relations.items()
            for relation in sorted(found)
        ]
        if not cells:
            return self._of_studies(_NEVER, _NO_NAME)
        listed = f"VALUES {', '.join(cells)}"
        names = f"SELECT column1 AS relation, column2 AS value, column3 AS least FROM ( {listed} )"
        narrowed = f" AND r.study_id IN ( {self._ids} )" if self._ids else ""
        return (
            f"SELECT DISTINCT r.study_id AS study_id, n.value AS value FROM {RELATIONS} AS r "
            f"JOIN ( {names} ) AS n ON n.relation = r.relation "
            f"WHERE {where or 'r.probability >= n.least'}{narrowed}"
        )

    def _every(self, names: Sequence[str]) -> str:
        """Every study with every one of ``names``."""
        if not names:
            return self._of_studies(_NEVER, _NO_NAME)
        values = ", ".join(f"({quote(name)})" for name in names)
        where = f"s.problem IS NULL{self._narrowed()}"
        return (
            f"SELECT s.study_id AS study_id, n.value AS value FROM {STUDIES} AS s "
            f"CROSS JOIN ( SELECT column1 AS value FROM ( VALUES {values} ) ) AS n WHERE {where}"
        )

    def _universe(self, expr: Expr, named: Named) -> list[str]:
        """The names that an expression speaks of, whether they are there or not."""
        if isinstance(expr, Leaf):
            return list(named(expr))
        parts = [self._universe(part, named) for part in expr.parts]
        if expr.op == "or":
            return list(dict.fromkeys(name for part in parts for name in part))
        if expr.op == "and":
            return [name for name in parts[0] if all(name in part for part in parts[1:])]
        return parts[0]

    # --- studies

    def _of_relations(self, fact: Fact) -> str:
        narrowed = f" AND r.study_id IN ( {self._ids} )" if self._ids else ""
        return (
            f"SELECT r.study_id AS study_id FROM {RELATIONS} AS r "
            f"WHERE {self._above(fact.yes)}{narrowed}"
        )

    def _of_studies(self, condition: str, more: str = "") -> str:
        where = f"s.problem IS NULL{self._narrowed()} AND {condition}"
        return f"SELECT s.study_id AS study_id{more} FROM {STUDIES} AS s WHERE {where}"

    def _narrowed(self) -> str:
        return f" AND s.study_id IN ( {self._ids} )" if self._ids else ""


def _among(relations: Iterable[int]) -> str:
    found = sorted(relations)
    return f"= {found[0]}" if len(found) == 1 else f"IN ( {', '.join(map(str, found))} )"


def _unknown(truth: _Truth) -> str:
    return f"{truth.maybe} AND NOT ( {truth.yes} )"


def _denied(truth: _Truth) -> _Truth:
    yes = f"NOT ( {truth.maybe} )"
    return _Truth(yes, yes if truth.yes == truth.maybe else f"NOT ( {truth.yes} )")


def _joined(word: str, parts: Sequence[_Truth]) -> _Truth:
    def one(conditions: Iterable[str]) -> str:
        return "( " + f" {word} ".join(f"( {c} )" for c in conditions) + " )"

    return _Truth(one(p.yes for p in parts), one(p.maybe for p in parts))


def _set(word: str, parts: Sequence[str]) -> str:
    """Sets put together. Each side is a subquery, as SQLite takes no brackets around it."""
    if len(parts) == 1:
        return parts[0]
    sides = [f"SELECT study_id, value FROM ( {part} )" for part in parts]
    return f" {word} ".join(sides)
