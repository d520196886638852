"""What can be meant in several ways is asked back: a name with several meanings, and a question
with several readings, each with what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ehrqa_cli.concepts.told import in_short
from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.contracts.types import Answer, LinkedQuestion, Query
from ehrqa_cli.engine import query_path
from ehrqa_cli.engine.question_run import Known, Run, Withheld, Written
from ehrqa_cli.engine.text import in_words
from ehrqa_cli.logical_form import print_form

MOST = 4
NEAR = 2.0  # nats behind the best within which a reading may be meant as well
_LONG = 200  # characters of what a reading would give

# What a reading gives; it stands in `ways`, which is built on this module.
Answered = Callable[[Run, Written], Answer]


@dataclass(frozen=True)
class Offer:
    """What a withheld answer offers: questions to ask instead, and readings to choose from, each
    {description, logical_form, answer}."""

    questions: tuple[str, ...] = ()
    readings: tuple[dict[str, Any], ...] = ()


NOTHING = Offer()


def readings_of(run: Run, linked: LinkedQuestion, answered: Answered) -> Offer:
    """The question with each meaning of its first ambiguous name in its place, how it is then
    read, and what that gives; a meaning whose name says no more is told without a question.
    Raises Cancelled."""
    name = linked.ambiguous[0]
    mention = linked.question[name.start : name.end]
    before, found, after = run.question.text.partition(mention)
    questions, readings = [], []
    for concept in name.concepts[:MOST]:
        text = f"{before}{concept.name}{after}"
        other = Run(replace(run.question, text=text), run.session)
        if found and _means(other, concept):
            questions.append(text)
            readings.append(_reading(other, concept, answered))
        else:
            readings.append(_told(concept))
    return Offer(tuple(questions), tuple(readings))


def several_of(run: Run, linked: LinkedQuestion, answered: Answered) -> tuple[dict[str, Any], ...]:
    """The readings of a question that are about as good, the best first; none where all that
    answer give the same. Raises Cancelled."""
    query = run.known.query
    near = [rival.query for rival in run.known.rivals if rival.behind < NEAR]
    if query is None or not near:
        return ()
    read = (_read(_alone(run), linked, each, answered) for each in [query, *near[: MOST - 1]])
    found = [each for each in read if each is not None and each["answer"] is not None]
    return tuple(found) if len({each["answer"] for each in found}) > 1 else ()


def _alone(run: Run) -> Run:
    """The question again, without what is known of its first reading."""
    known = Known(run.known.as_of, run.known.linked, run.known.encounters)
    return Run(run.question, run.session, known=known)


def _means(other: Run, concept: Concept) -> bool:
    """Does the question now mean this concept, and nothing else by its name?"""
    linked = query_path.linked_of(other)
    clear = concept.name not in [link.value for link in linked.ambiguous]
    return clear and any(concept.name == c.name for link in linked.links for c in link.concepts)


def _reading(other: Run, concept: Concept, answered: Answered) -> dict[str, Any]:
    """How the question is read with one meaning, and what that gives; only what the meaning is
    where no form can be had."""
    try:
        linked = query_path.link(other)
        query = query_path.write(other, linked)[0]
    except Cancelled:
        raise
    except (Withheld, EhrqaError):
        return _told(concept)
    return _read(other, linked, query, answered) or _told(concept)


def _read(
    other: Run, linked: LinkedQuestion, query: Query, answered: Answered
) -> dict[str, Any] | None:
    """A reading in words, its form, and what it gives; None where it is none."""
    try:
        written = query_path.understand(other, linked, query)
    except (Withheld, EhrqaError):
        return None
    form = written.reading
    if form is None:
        return None
    return {
        "description": form.description,
        "logical_form": print_form(form.bound),
        "answer": _given(other, written, answered),
    }


def _given(other: Run, written: Written, answered: Answered) -> str | None:
    """The rows of a reading in a few words, unchecked; None where it gives nothing."""
    try:
        query_path.contradiction(other, written)
        said = in_words(answered(other, written).rows)
    except Cancelled:
        raise
    except (Withheld, EhrqaError):
        return None
    return said if len(said) <= _LONG else f"{said[: _LONG - 3]}..."


def _told(concept: Concept) -> dict[str, Any]:
    return {"description": in_short(concept), "logical_form": None, "answer": None}
