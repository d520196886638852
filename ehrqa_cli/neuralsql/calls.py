"""The calls of FUNC_VQA in a query: what each asks, of which study, and where it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.neuralsql import clauses
from ehrqa_cli.neuralsql.clauses import Block, Core, Span
from ehrqa_cli.neuralsql.rules import vqa
from ehrqa_cli.sqltext import Token, tokens

MAX_CALLS = 64
_HINT = "write FUNC_VQA('is there pneumonia?', study_id)"
_AGGREGATE = re.compile(r"\b(max|min|avg|sum|total|count|group_concat|over)\s*\(", re.I)


@dataclass(frozen=True)
class Call:
    """The k-th call: ``span`` of its tokens, ``study`` those of its second argument.

    ``clause`` is that of the SELECT around it; ``item`` when it is a whole column of it.
    """

    k: int
    question: str
    span: Span
    study: Span
    study_sql: str
    chain: tuple[Block, ...]
    core: Core
    clause: str
    item: bool

    @property
    def aggregated(self) -> bool:
        """Is its study made of several rows?"""
        return _AGGREGATE.search(self.study_sql) is not None

    @property
    def literal(self) -> int | None:
        """The study, where it is given as a number."""
        return int(self.study_sql) if re.fullmatch("[0-9]{1,18}", self.study_sql) else None


@dataclass(frozen=True)
class Parsed:
    """A query in tokens, with its clauses and calls; ``prefix`` occurs nowhere in it."""

    sql: str
    tokens: list[Token]
    block: Block
    calls: tuple[Call, ...]
    prefix: str

    def text(self, span: Span) -> str:
        """The bytes of some tokens."""
        return clauses.text(self.sql, self.tokens, span)

    def inside(self, span: Span) -> list[Call]:
        """The calls that stand between two tokens."""
        return [c for c in self.calls if span[0] <= c.span[0] < span[1]]


def parse(sql: str) -> Parsed:
    """The calls of a query that the guard has passed. Raises Refused for a call that is wrong."""
    found = tokens(sql)
    block = clauses.read(found)
    calls: list[Call] = []
    for k, at in enumerate(vqa.calls(found), 1):
        calls.append(_call(sql, found, block, at, k))
    if len(calls) > MAX_CALLS:
        raise Refused(f"{len(calls)} calls of FUNC_VQA in one query", f"write at most {MAX_CALLS}")
    prefix = "vqa_"
    while re.search(rf"\b{prefix}", sql, re.I):
        prefix = f"{prefix[:-1]}x_"
    return Parsed(sql, found, block, tuple(calls), prefix)


def _call(sql: str, found: list[Token], block: Block, at: int, k: int) -> Call:
    end = vqa.closing(found, at + 1)
    arguments = clauses.items(found, (at + 2, end))
    if len(arguments) != 2 or any(start >= stop for start, stop in arguments):
        raise Refused(f"FUNC_VQA takes a question and a study, not {len(arguments)} things", _HINT)
    (start, stop), study = arguments
    if stop - start != 1 or found[start].kind != "string":
        shown = clauses.text(sql, found, (start, stop))[:40]
        raise Refused(f"the question of FUNC_VQA must be a text, not {shown}", _HINT)
    around = tuple(clauses.chain(block, at))
    core = around[-1].core_at(at)
    if core is None:
        raise Refused("FUNC_VQA stands where no value can", _HINT)
    clause = core.clause_at(at)
    span = (at, end + 1)
    return Call(
        k,
        found[start].text,
        span,
        study,
        clauses.text(sql, found, study),
        around,
        core,
        clause,
        clause == "select" and _is_item(found, core, span),
    )


def _is_item(found: list[Token], core: Core, span: Span) -> bool:
    for start, stop in clauses.items(found, core.clauses["select"]):
        if start == span[0]:
            return stop == span[1] or found[span[1]].text.upper() == "AS" or stop == span[1] + 1
    return False
