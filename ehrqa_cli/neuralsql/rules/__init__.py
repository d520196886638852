"""Rewrites from NeuralSQL to the SQL that runs: a tuple of pure functions on text.

Each takes the SQL and a Context and returns the SQL, touching nothing but its own tokens, so that
what runs can be compared with what was written, byte by byte. tests/fixtures/neuralsql holds a
pair of input and expected output for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ehrqa_cli.neuralsql.rules import time, vitals, vqa


@dataclass(frozen=True)
class Context:
    """What rules may know: ``as_of`` is the time that stands for now, YYYY-MM-DD HH:MM:SS."""

    as_of: str


Rule = Callable[[str, Context], str]


def bind_vital_bounds(sql: str, context: Context) -> str:
    """Names such as ``heart_rate_lower`` become numbers (EHRSQL's normal ranges)."""
    del context
    return vitals.bind_vital_bounds(sql)


def quote_questions(sql: str, context: Context) -> str:
    """Every spelling of a call of FUNC_VQA made one; questions in double quotes are text."""
    del context
    return vqa.quote_questions(sql)


def plain_answers(sql: str, context: Context) -> str:
    """What is compared with 'yes' or 'no' is compared with 1 or 0."""
    del context
    return vqa.plain_answers(sql)


def _bind_time(sql: str, context: Context) -> str:
    return bind_time(sql, context.as_of)


def bind_time(sql: str, as_of: str) -> str:
    """``current_time`` and every other spelling of now become ``as_of``. Raises Refused."""
    return time.bind_time(sql, as_of)


RULES: tuple[Rule, ...] = (quote_questions, plain_answers, bind_vital_bounds, _bind_time)


def bind(sql: str, context: Context) -> str:
    """``sql`` after all rules in order. Raises Refused where it cannot be read as SQL."""
    for rule in RULES:
        sql = rule(sql, context)
    return sql
