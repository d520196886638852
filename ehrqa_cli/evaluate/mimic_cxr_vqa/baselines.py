"""Systems that look at no image: gold, declining, and the two priors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ehrqa_cli.evaluate.given import Given
from ehrqa_cli.evaluate.mimic_cxr_vqa.load import VqaItem, VqaSet
from ehrqa_cli.evaluate.priors import prior_named
from ehrqa_cli.evaluate.systems import ABSTAIN, GOLD


def answers_of(
    name: str, data: VqaSet, items: Sequence[VqaItem]
) -> tuple[Mapping[str, Given], dict[str, Any]]:
    """The answer of the baseline ``name`` to each of ``items``, and what the header says of it."""
    if name == ABSTAIN:
        return {item.id: Given("abstained") for item in items}, {"system": name}
    if name == GOLD:
        return {item.id: _labels(item.answer) for item in items}, {"system": name}
    prior, _ = prior_named(name, [(i.template, i.answer) for i in items], data.training)
    found = {i.id: _labels(a) for i, a in zip(items, prior.answers, strict=True)}
    return found, {"system": name, "chosen on": ", ".join(data.training_files) or prior.source}


def _labels(answer: frozenset[str]) -> Given:
    return Given("answered", tuple((label,) for label in sorted(answer)))
