"""A name with several meanings is asked back: what the question would be with each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ehrqa_cli.concepts.told import in_short
from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.engine import query_path
from ehrqa_cli.engine.question_run import Run, Withheld
from ehrqa_cli.logical_form import print_form

MOST = 5


@dataclass(frozen=True)
class Offer:
    """What a withheld answer offers: questions to ask instead, and readings to choose from, each
    {description, logical_form}."""

    questions: tuple[str, ...] = ()
    readings: tuple[dict[str, Any], ...] = ()


NOTHING = Offer()


def readings_of(run: Run, linked: LinkedQuestion) -> Offer:
    """The question with each meaning of its first ambiguous name in its place, and how it is then
    read; a meaning whose name says no more is told without a question. Raises Cancelled."""
    name = linked.ambiguous[0]
    mention = linked.question[name.start : name.end]
    before, found, after = run.question.text.partition(mention)
    questions, readings = [], []
    for concept in name.concepts[:MOST]:
        text = f"{before}{concept.name}{after}"
        other = Run(replace(run.question, text=text), run.session)
        if found and _means(other, concept):
            questions.append(text)
            readings.append(_reading(other, concept))
        else:
            readings.append(_told(concept))
    return Offer(tuple(questions), tuple(readings))


def _means(other: Run, concept: Concept) -> bool:
    """Does the question now mean this concept, and nothing else by its name?"""
    linked = query_path.linked_of(other)
    clear = concept.name not in [link.value for link in linked.ambiguous]
    return clear and any(concept.name == c.name for link in linked.links for c in link.concepts)


def _reading(other: Run, concept: Concept) -> dict[str, Any]:
    """How the question is read with one meaning; only what that is where no form can be had."""
    try:
        linked = query_path.link(other)
        written = query_path.understand(other, linked, query_path.write(other, linked))
    except Cancelled:
        raise
    except (Withheld, EhrqaError):
        return _told(concept)
    form = written.reading
    if form is None:
        return _told(concept)
    return {"description": form.description, "logical_form": print_form(form.bound)}


def _told(concept: Concept) -> dict[str, Any]:
    return {"description": in_short(concept), "logical_form": None}
