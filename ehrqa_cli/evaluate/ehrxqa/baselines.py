"""Systems that read no question of EHRXQA: gold, declining, one answer, the most common answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ehrqa_cli.evaluate.ehrxqa.load import XqaItem, XqaSet
from ehrqa_cli.evaluate.given import Given
from ehrqa_cli.evaluate.priors import prior_named
from ehrqa_cli.evaluate.rows import plain_rows
from ehrqa_cli.evaluate.systems import ABSTAIN, GOLD

_WORDS = {"always-yes": "yes", "always-no": "no"}
_DECLINED = Given("abstained")


def answers_of(
    name: str, data: XqaSet, items: Sequence[XqaItem]
) -> tuple[Mapping[str, Given], dict[str, Any]]:
    """The answer of the baseline ``name`` to each of ``items``, and what the header says of it."""
    if name == ABSTAIN:
        return {item.id: _DECLINED for item in items}, {"system": name}
    if name == GOLD:
        return {item.id: _gold(item) for item in items}, {"system": name}
    if name in _WORDS:
        fixed = Given("answered", rows=((_WORDS[name],),))
        return {item.id: fixed for item in items}, {"system": name}
    known = [item for item in items if item.rows is not None]
    prior, most = prior_named(
        name,
        [(item.template, plain_rows(item.rows or ())) for item in known],
        [(template, plain_rows(rows)) for template, rows in data.training],
    )
    answers = dict(zip((item.id for item in known), prior.answers, strict=True))
    # It cannot know which questions have no answer, and gives those one too.
    found = {item.id: _rows(answers.get(item.id, most)) for item in items}
    return found, {"system": name, "chosen on": ", ".join(data.training_files) or prior.source}


def _gold(item: XqaItem) -> Given:
    if item.rows is None:
        return _DECLINED
    return Given("answered", query=item.query) if item.query else Given("answered", item.rows)


def _rows(answer: frozenset[tuple[Any, ...]]) -> Given:
    return Given("answered", tuple(sorted(answer, key=repr)))
