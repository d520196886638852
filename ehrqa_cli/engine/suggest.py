"""The nearest questions that can be answered, for one that cannot.

They are known questions near the one that was asked, with its own values put in, and only those
whose query gives something on this database. Those that use most of its values come first.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EhrqaError, FormError
from ehrqa_cli.contracts.types import Limits, LinkedQuestion, Scope
from ehrqa_cli.engine.confidence import of_result
from ehrqa_cli.engine.evidence import PATIENCE
from ehrqa_cli.engine.question_run import Run
from ehrqa_cli.logical_form import Form, bind, compile_sql, parse, scope_of, used_links
from ehrqa_cli.text2sql.third import with_values
from ehrqa_cli.words.lists import question_words

if TYPE_CHECKING:
    from ehrqa_cli.text2sql.second import Neighbour

MOST = 3
LOOKED_AT = 16
# Of each query: a limit of steps and not of time, so that two runs offer the same. That of time is
# for databases that count none.
STEPS = 20_000_000
SECONDS = 0.6
# Cosine distances beyond which a known question is about something else; a question with no value
# in common needs to be nearer.
FAR, FAR_WITHOUT_VALUES = 0.2, 0.1
_MARK = re.compile(r"<[a-z_]+>")
_WORD = re.compile(r"[a-z]{4,}")


def suggestions_for(run: Run, linked: LinkedQuestion) -> tuple[str, ...]:
    """At most MOST questions; none without a second opinion.

    What cannot be had within STEPS of a query, or SECONDS, is left out: an offer never fails an
    answer.
    """
    second = run.session.second
    if second is None:
        return ()
    counted = run.session.database.counts_steps
    deadline = time.monotonic() + (PATIENCE if counted else SECONDS)
    try:
        near = second.nearest(linked, LOOKED_AT)
    except EhrqaError:
        return ()
    ready = [(text, form, n) for x in near for text, form, n in _readable(x, linked)]
    ready.sort(key=lambda found: found[2])  # stable: then nearest first
    out: list[str] = []
    for text, form, _ in ready:
        left = deadline - time.monotonic()
        if len(out) == MOST or left <= 0:
            break
        if text not in out and _gives_something(form, run, left):
            out.append(text)
    return tuple(out)


def _readable(near: Neighbour, linked: LinkedQuestion) -> list[tuple[str, Form, tuple[int, int]]]:
    """The neighbour as a question with this one's values, its form, and its rank: those that use
    more of the values first, and of those the ones without words that may be misspelt.

    Nothing when it uses none although there are some: that would be about something else.
    """
    try:
        form = parse(near.form)
        used = len(used_links(form))
        bound = bind(form, linked.links)
    except FormError:
        return []
    text = with_values(near.text, linked)
    if text is None or (linked.links and not used) or scope_of(bound)[0] is not Scope.TABLE:
        return []
    if near.distance > (FAR if used else FAR_WITHOUT_VALUES):
        return []
    odd = sum(word not in question_words() for word in _WORD.findall(_MARK.sub("", near.text)))
    text = " ".join(text.split()).rstrip(" .?!")
    return [(f"{text[:1].upper()}{text[1:]}?", bound, (-used, odd))]


def _gives_something(form: Form, run: Run, seconds: float) -> bool:
    limits = Limits(seconds=seconds, rows=20, steps=STEPS)
    try:
        sql = compile_sql(form, run.session.layout)
        result, _ = neuralsql.run(sql, run.session.database, as_of=run.known.as_of, limits=limits)
    except Cancelled:
        raise
    except (FormError, DatabaseError):
        return False
    # "0" or "no" is an answer, but nothing to offer.
    return of_result(result) is None and any(
        cell not in (None, 0) for r in result.rows for cell in r
    )
