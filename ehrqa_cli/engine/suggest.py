"""The nearest questions that can be answered, for one that cannot.

They are known questions that ask for what is nearest to what the question was read as, with its own
values put in. Each is asked itself before it is offered: what it gives is an answer, by every check
that any question passes.
"""

from __future__ import annotations

import time
from dataclasses import replace

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.contracts.types import Limits, LinkedQuestion, Question
from ehrqa_cli.engine import query_path
from ehrqa_cli.engine.evidence import PATIENCE
from ehrqa_cli.engine.question_run import Run, Withheld
from ehrqa_cli.engine.ways import by_tables
from ehrqa_cli.text2sql.known import Near, with_values

MOST = 3
LOOKED_AT = 12
# Of each query: a limit of steps and not of time, so that two runs offer the same. That of time is
# for databases that count none.
STEPS = 20_000_000
SECONDS = 0.6
# Forms less alike than this ask for something else; one with no value in common needs to be nearer.
ALIKE, ALIKE_WITHOUT_VALUES = 0.4, 0.7


def suggestions_for(run: Run, linked: LinkedQuestion) -> tuple[str, ...]:
    """At most MOST questions; none where it cannot be told what the question asks for.

    What cannot be had within STEPS of a query, or SECONDS, is left out: an offer never fails an
    answer. Raises Cancelled.
    """
    deadline = time.monotonic() + (PATIENCE if run.session.database.counts_steps else SECONDS)
    try:
        near = _near(run, linked)
    except Cancelled:
        raise
    except EhrqaError:
        return ()
    # Those that use more of the values first, and of these the most alike.
    ready = sorted((found for found in near if _fits(found, linked)), key=lambda x: x.unused)
    out: list[str] = []
    for found in ready:
        left = deadline - time.monotonic()
        if len(out) == MOST or left <= 0:
            break
        text = with_values(found.text, linked)
        if text is None:
            continue
        text = f"{text[:1].upper()}{text[1:].rstrip(' .?!')}?"
        if text not in out and _answered(text, run, left):
            out.append(text)
    return tuple(out)


def _near(run: Run, linked: LinkedQuestion) -> tuple[Near, ...]:
    """By the form that was written, else by what would be if declining were not allowed."""
    query = run.known.query if run.known.reading else run.session.model.insist(linked)
    if query is None or not query.logical_form:
        return ()
    return run.session.known.nearest(query.logical_form, linked, LOOKED_AT)


def _fits(found: Near, linked: LinkedQuestion) -> bool:
    uses = found.unused < len(linked.links)
    if linked.links and not uses:
        return False
    return found.alike >= (ALIKE if uses else ALIKE_WITHOUT_VALUES)


def _answered(text: str, run: Run, seconds: float) -> bool:
    """Is there an answer that tells something? "0" or "no" is one, but nothing to offer."""
    asked = Question(text, patient_id=run.question.patient_id, study_id=run.question.study_id)
    other = Run(asked, run.session, limits=Limits(seconds=seconds, rows=20, steps=STEPS))
    other.known = replace(other.known, as_of=run.known.as_of)
    try:
        found = by_tables(other, other.take(query_path.link), None, None)
    except Cancelled:
        raise
    except (Withheld, EhrqaError):
        return False
    return any(cell not in (None, 0) for row in found.rows for cell in row)
