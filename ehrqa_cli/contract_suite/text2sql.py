"""What every text-to-SQL plugin must do."""

from __future__ import annotations

import math
from pathlib import Path

from ehrqa_cli.contract_suite.checking import Check, demand, has_provenance, refusal
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import Link, LinkedQuestion, Query

_COUNT = LinkedQuestion("how many patients are there?", "how many patients are there?", ())
_TEXT = "when was patient 10018081 first admitted to the hospital?"
_ONE = LinkedQuestion(
    _TEXT,
    _TEXT.replace("patient 10018081", "patient <pat>#1"),
    (Link(13, 21, ("pat",), 10018081),),
)
_ODD = ("", " ", "?", "é\u202e\x07\U0001f600", "a" * 2000, "<pat>#9 <lab>#7", "'; DROP TABLE x; --")


def make(plugin: type[Text2Sql], folder: Path) -> Text2Sql:
    """As the program makes one."""
    del folder
    return plugin.open()


def _sound(queries: object) -> None:
    demand(isinstance(queries, list), f"generate() gives a {type(queries).__name__}, no list")
    assert isinstance(queries, list)
    for query in queries:
        demand(isinstance(query, Query), f"a query is a {type(query).__name__}")
        written = query.neuralsql or query.logical_form
        demand(isinstance(written, str) and bool(written), "a query says nothing")
        wrong = {k: v for k, v in query.scores.items() if not math.isfinite(v)}
        demand(not wrong, f"scores are no numbers: {wrong}")


def writes_queries(model: Text2Sql) -> None:
    """It gives a list of queries with measured scores, or none to decline."""
    for linked in (_COUNT, _ONE):
        _sound(model.generate(linked))


def writes_what_can_run(model: Text2Sql) -> None:
    """What it writes can be read: a logical form that parses, or NeuralSQL that the guard takes."""
    from ehrqa_cli.logical_form import parse
    from ehrqa_cli.neuralsql.guard import check

    for query in [*model.generate(_COUNT), *model.generate(_ONE)][:10]:
        if query.logical_form:
            parse(query.logical_form)
        else:
            check(query.neuralsql or "", images=True)


def says_the_same_twice(model: Text2Sql) -> None:
    """The same question gives the same queries and scores."""
    first, second = model.generate(_ONE), model.generate(_ONE)
    demand(first == second, "two runs differ")


def takes_anything(model: Text2Sql) -> None:
    """Odd questions are declined, answered or refused with a hint; none is a fault."""
    for text in _ODD:
        try:
            _sound(model.generate(LinkedQuestion(text, text, ())))
        except EhrqaError as error:
            refusal(error)


def tells_tokens(model: Text2Sql) -> None:
    """on_token gets text, if it gets anything."""
    heard: list[str] = []
    model.generate(_COUNT, heard.append)
    demand(all(isinstance(piece, str) for piece in heard), f"on_token got {heard[:3]!r}")


def can_be_cancelled(model: Text2Sql) -> None:
    """cancel() with nothing running does no harm."""
    model.cancel()
    try:
        model.generate(_COUNT)
    except EhrqaError as error:
        refusal(error)
    _sound(model.generate(_COUNT))


CHECKS: tuple[Check[Text2Sql], ...] = (
    has_provenance,
    writes_queries,
    writes_what_can_run,
    says_the_same_twice,
    takes_anything,
    tells_tokens,
    can_be_cancelled,
)
