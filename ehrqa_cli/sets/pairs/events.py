"""Events as people speak of them: the pieces that free compositions are made of.

Every text of words/events.toml is a wording (wording.py) in which ``@`` stands for the number that
tells the second event of a question from the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ehrqa_cli.sets.data import table


@dataclass(frozen=True)
class EventPhrase:
    """One kind of event. ``past``: "patients who ..."; ``never``: the same denied; ``base``:
    "did the patient ..."; ``noun``: after "before", "after" and the like; ``bare``: without an
    article, after "first", "with", "no"; ``form``: the event."""

    form: str
    weight: int
    past: str
    never: str
    base: str
    noun: str
    bare: str


_TABLE = table("pairs/words/events")
EVENTS: Mapping[str, EventPhrase] = {n: EventPhrase(**e) for n, e in _TABLE["event"].items()}
# Of whom something is asked: words and filters, and how often.
WHO: list[tuple[str, str]] = [(words, filters) for words, filters, _ in _TABLE["who"]]
WHO_WEIGHTS: list[int] = [weight for *_, weight in _TABLE["who"]]
# What can be listed by name: the things, and what was done with them.
NAMED: Mapping[str, tuple[str, str]] = _TABLE["named"]
