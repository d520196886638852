"""The clauses of a query as stretches of tokens, so that a rewrite touches nothing else.

A Block is a whole query or one in brackets; it has a Core for each SELECT that set operations
join. Tree and generator of a parser would write the statement anew; here every byte stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ehrqa_cli.neuralsql.rules.vqa import closing
from ehrqa_cli.sqltext import Token

Span = tuple[int, int]  # first token, and the one after the last

_SET_OPS = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_CLAUSES = {
    "FROM": "from",
    "WHERE": "where",
    "GROUP": "group",
    "HAVING": "having",
    "WINDOW": "window",
    "ORDER": "order",
    "LIMIT": "limit",
}


@dataclass
class Core:
    """One SELECT: ``clauses`` by name, ``select`` and those of _CLAUSES; their first words and
    DISTINCT are not in them."""

    start: int
    end: int
    clauses: dict[str, Span] = field(default_factory=dict)
    distinct: bool = False

    def clause_at(self, at: int) -> str:
        """The name of the clause that token ``at`` is in."""
        for name, (start, end) in self.clauses.items():
            if start <= at < end:
                return name
        return ""


@dataclass
class Block:
    """A query with the queries in brackets inside it; ``with_`` is its WITH clause, if any."""

    start: int
    end: int
    with_: Span | None = None
    cores: list[Core] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def core_at(self, at: int) -> Core | None:
        """The SELECT that token ``at`` is in."""
        return next((core for core in self.cores if core.start <= at < core.end), None)


def read(tokens: list[Token]) -> Block:
    """The blocks of a statement that ``guard.check`` has let pass."""
    end = len(tokens)
    while end and tokens[end - 1].text == ";":
        end -= 1
    return _block(tokens, 0, end)


def chain(block: Block, at: int) -> list[Block]:
    """The blocks around token ``at``, the outermost first."""
    for inner in block.blocks:
        if inner.start <= at < inner.end:
            return [block, *chain(inner, at)]
    return [block]


def _block(tokens: list[Token], start: int, end: int) -> Block:
    block = Block(start, end)
    at = start
    if at < end and _first(tokens[at]) == "WITH":
        at = next((k for k in level(tokens, start, end) if _first(tokens[k]) == "SELECT"), end)
        block.with_ = (start, at)
    core: Core | None = None
    name = ""
    opened = at
    for k in level(tokens, at, end):
        word = _first(tokens[k])
        if word == "SELECT":
            core = Core(k, end)
            block.cores.append(core)
            name, opened = "select", k + 1
            if opened < end and _first(tokens[opened]) in ("DISTINCT", "ALL"):
                core.distinct = _first(tokens[opened]) == "DISTINCT"
                opened += 1
        elif core is None:
            continue
        elif word in _SET_OPS:
            core.clauses[name] = (opened, k)
            core.end = k
            core = None
        elif word in _CLAUSES and not _is_distinct_from(tokens, k):
            core.clauses[name] = (opened, k)
            name, opened = _CLAUSES[word], k + 1
    if core is not None:
        core.clauses[name] = (opened, end)
    if len(block.cores) > 1:  # ORDER BY and LIMIT at the end belong to the whole
        last = block.cores[-1]
        for tail in ("limit", "order"):
            if tail in last.clauses:
                last.end = last.clauses.pop(tail)[0] - 1
    block.blocks = list(_inner(tokens, start, end))
    return block


def _inner(tokens: list[Token], start: int, end: int) -> Iterator[Block]:
    """Queries in brackets, at any depth of brackets that are not queries themselves."""
    at = start
    while at < end:
        if _is(tokens[at], "(") and at + 1 < end:
            close = min(closing(tokens, at), end)
            if _first(tokens[at + 1]) in ("SELECT", "WITH"):
                yield _block(tokens, at + 1, close)
                at = close
        at += 1


def qualifiers(tokens: list[Token], span: Span) -> set[str]:
    """The lower-cased names before a dot: tables and aliases."""
    start, end = span
    return {tokens[k].text.lower() for k in range(start, end - 1) if tokens[k + 1].text == "."}


def level(tokens: list[Token], start: int, end: int) -> Iterator[int]:
    """Indexes of the tokens that are in no bracket of their own."""
    at = start
    while at < end:
        if _is(tokens[at], "("):
            at = closing(tokens, at)
        else:
            yield at
        at += 1


def conjuncts(tokens: list[Token], span: Span) -> list[Span]:
    """A condition's parts between its outermost ANDs; the whole where an OR is outside."""
    start, end = span
    parts: list[Span] = []
    between = cases = 0
    for k in level(tokens, start, end):
        word = _first(tokens[k])
        cases += (word == "CASE") - (word == "END")
        if cases:
            continue
        if word == "BETWEEN":
            between += 1
        elif word == "OR":
            return [span]
        elif word == "AND":
            if between:
                between -= 1
            else:
                parts.append((start, k))
                start = k + 1
    return [*parts, (start, end)]


def items(tokens: list[Token], span: Span) -> list[Span]:
    """The parts of a list between its outermost commas."""
    start, end = span
    parts: list[Span] = []
    for k in level(tokens, start, end):
        if _is(tokens[k], ","):
            parts.append((start, k))
            start = k + 1
    return [*parts, (start, end)]


def text(sql: str, tokens: list[Token], span: Span) -> str:
    """The bytes of a stretch of tokens."""
    start, end = span
    return sql[tokens[start].start : tokens[end - 1].end] if start < end else ""


def _is(token: Token, text: str) -> bool:
    return token.kind == "word" and token.text == text


def _first(token: Token) -> str:
    """The keyword of a token, upper-case; GROUP of GROUP BY."""
    return token.text.split(" ")[0].upper() if token.kind == "word" and token.text else ""


def _is_distinct_from(tokens: list[Token], at: int) -> bool:
    return at > 0 and tokens[at].text.upper() == "FROM" and _first(tokens[at - 1]) == "DISTINCT"
