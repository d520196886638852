"""Which studies each call needs, found by the database before any image is read.

Calls are taken in the order in which SQL evaluates: those in FROM first, then ON, WHERE, and the
columns. For each the database lists the studies with the same FROM and those conditions of WHERE
that need no image; answers that are known already stand in it. That gives all studies the call can
be asked of, and hardly more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, LimitExceeded, Refused
from ehrqa_cli.contracts.types import Row
from ehrqa_cli.neuralsql.calls import Call, Parsed
from ehrqa_cli.neuralsql.clauses import Core, Span, conjuncts, items, level, qualifiers
from ehrqa_cli.neuralsql.splice import Answered, Splicer

ALL_STUDIES = "SELECT DISTINCT study_id FROM tb_cxr"
_STUDY = re.compile(r"\s*-?[0-9]{1,18}(?:[.]0)?\s*", re.A)
_JOINS = frozenset({"JOIN", "LEFT", "INNER", "CROSS", "NATURAL", "FULL", "RIGHT", ","})
# Runs SQL without calls and gives all its rows.
Run = Callable[[str], tuple[Row, ...]]


@dataclass(frozen=True)
class Needed:
    """The studies of one call, and the SQL that found them ("" where they are written out)."""

    studies: tuple[int, ...]
    sql: str = ""


def order(parsed: Parsed) -> Iterator[Call]:
    """The calls, each after all that it must wait for."""
    waiting = {call.k: _before(parsed, call) for call in parsed.calls}
    by_number = {call.k: call for call in parsed.calls}
    while waiting:
        ready = [k for k, others in waiting.items() if not others & waiting.keys()]
        for k in ready or [min(waiting)]:
            del waiting[k]
            yield by_number[k]


def needed(
    parsed: Parsed, call: Call, answered: Mapping[int, Answered], unsure: set[int], run: Run
) -> Needed:
    """The studies of ``call``. ``unsure`` are calls that some study has no answer to: conditions
    with them are left out. Raises DatabaseError for SQL that is wrong."""
    if call.literal is not None:
        return Needed((call.literal,))
    sql = _query(parsed, call, answered, unsure)
    try:
        return Needed(_studies(run(sql)), sql)
    except (LimitExceeded, Cancelled, Refused):
        raise
    except DatabaseError:
        # A condition means a column of a query further out. If the whole is sound, take all.
        run(_dry(parsed))
        return Needed(_studies(run(ALL_STUDIES)), ALL_STUDIES)


def _studies(rows: tuple[Row, ...]) -> tuple[int, ...]:
    found: list[int] = []
    for row in rows:
        value = row[0]
        if value is None:
            continue
        if not _STUDY.fullmatch(str(value)):  # it has no image, which is no "no"
            shown = str(value)[:40]
            raise Refused(f"FUNC_VQA asks about {shown!r}, which is no study", "name a study_id")
        found.append(int(float(value)) if "." in str(value) else int(value))
    return tuple(found)


@dataclass(frozen=True)
class _Home:
    """The SELECT whose rows a call is asked of: its own, or the one its study comes from."""

    depth: int
    core: Core
    clause: str


def _home(parsed: Parsed, call: Call) -> _Home:
    used = qualifiers(parsed.tokens, call.study)
    for depth in range(len(call.chain) - 1, -1, -1):
        core = call.chain[depth].core_at(call.span[0])
        if core is not None and (not used or used & _names(parsed, core)):
            return _Home(depth, core, core.clause_at(call.span[0]))
    return _Home(len(call.chain) - 1, call.core, call.clause)


def _names(parsed: Parsed, core: Core) -> set[str]:
    """Tables and aliases in FROM."""
    if "from" not in core.clauses:
        return set()
    spans = [s for s in _joins(parsed, core.clauses["from"]) if not _is_on(parsed, s)]
    return {parsed.tokens[k].text.lower() for span in spans for k in level(parsed.tokens, *span)}


def _outside(parsed: Parsed, call: Call, home: _Home) -> set[str]:
    """Tables and aliases that only the queries further out know."""
    found: set[str] = set()
    for block in call.chain[: home.depth]:
        core = block.core_at(call.span[0])
        found |= _names(parsed, core) if core else set()
    return found - _names(parsed, home.core)


def _before(parsed: Parsed, call: Call) -> set[int]:
    """Numbers of the calls that must be answered before this one's studies can be listed."""
    home = _home(parsed, call)
    found = {c.k for c in parsed.inside(call.study)}
    for span in _tables(parsed, call):
        found |= {c.k for c in parsed.inside(span)}
    clauses = home.core.clauses
    if "from" in clauses:
        inner = [
            c
            for c in parsed.inside(clauses["from"])
            if home.clause != "from" or len(c.chain) > home.depth + 1
        ]
        found |= {c.k for c in inner if c.chain[: home.depth + 1] == call.chain[: home.depth + 1]}
    if call.item or call.aggregated:
        # What cannot be decided counts where names are listed, and so do the rows of a group:
        # then exactly the rows that are left must be known.
        for name in ("where", "group", "having"):
            if name in clauses and name != home.clause:
                found |= {c.k for c in parsed.inside(clauses[name])}
    return found - {call.k}


def _tables(parsed: Parsed, call: Call) -> list[Span]:
    """The common table expressions that the call can see, the outermost first."""
    found: list[Span] = []
    for block in call.chain:
        if block.with_ is None:
            continue
        start, end = block.with_
        first = start + 1 + (parsed.tokens[start + 1].text.upper() == "RECURSIVE")
        for span in items(parsed.tokens, (first, end)):
            if span[0] <= call.span[0] < span[1]:
                break
            found.append(span)
    return found


def _query(parsed: Parsed, call: Call, answered: Mapping[int, Answered], unsure: set[int]) -> str:
    """SELECT DISTINCT the study, from where the call stands."""
    home = _home(parsed, call)
    splicer = Splicer(parsed, answered)
    outside = _outside(parsed, call, home)

    def usable(span: Span) -> bool:
        known = all(c.k in answered and c.k not in unsure for c in parsed.inside(span))
        return known and not qualifiers(parsed.tokens, span) & outside

    def condition(span: Span) -> str:
        return " AND ".join(
            f"( {splicer.span(part)} )" for part in conjuncts(parsed.tokens, span) if usable(part)
        )

    clauses = home.core.clauses
    body = f"SELECT DISTINCT {splicer.span(call.study)}"
    if "from" in clauses:
        body += " FROM"
        for span in _joins(parsed, clauses["from"]):
            if not _is_on(parsed, span):
                body += f" {splicer.span(span)}"
            elif on := condition((span[0] + 1, span[1])):
                body += f" ON {on}"
    if "where" in clauses and (kept := condition(clauses["where"])):
        body += f" WHERE {kept}"
    if call.aggregated:
        for name, words in (("group", "GROUP BY"), ("having", "HAVING")):
            if name in clauses and name != home.clause:
                body += f" {words} {splicer.span(clauses[name])}"
    tables = [splicer.span(span) for span in _tables(parsed, call)]
    if tables:
        recursive = "RECURSIVE " if " recursive " in parsed.sql.lower() else ""
        body = f"WITH {recursive}{', '.join(tables)} {body}"
    return splicer.with_values(body)


def _dry(parsed: Parsed) -> str:
    """The whole query with NULL for every call, no row of it wanted."""
    nothing = {c.k: Answered(verify=True) for c in parsed.calls}
    return f"SELECT 1 FROM ( {Splicer(parsed, nothing).whole()} ) LIMIT 0"


def _joins(parsed: Parsed, span: Span) -> list[Span]:
    """FROM cut before each ON and after its condition."""
    starts = [span[0]]
    within = False
    for k in level(parsed.tokens, *span):
        word = parsed.tokens[k].text.upper()
        if word == "ON":
            starts.append(k)
            within = True
        elif within and word in _JOINS:
            starts.append(k)
            within = False
    return [(a, b) for a, b in zip(starts, [*starts[1:], span[1]], strict=True) if a < b]


def _is_on(parsed: Parsed, span: Span) -> bool:
    return parsed.tokens[span[0]].text.upper() == "ON"
