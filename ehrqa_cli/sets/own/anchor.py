"""Slots drawn around something that happened: its patient, its value, a time that covers it.

The words are those of the samplers of training pairs (``slots``, ``times``, ``images``); only what
is drawn differs. ``loose`` is the share of values drawn from anywhere all the same: the questions
that are answered with no.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Mapping, Sequence

from ehrqa_cli.contracts.images import Relation
from ehrqa_cli.ehr.cxr_vocabulary import CATEGORY_OF
from ehrqa_cli.sets.own.people import KINDS, Event, People, Person
from ehrqa_cli.sets.own.periods import Now
from ehrqa_cli.sets.pairs.cxr_vocabulary import words_of
from ehrqa_cli.sets.pairs.fill import Generator
from ehrqa_cli.sets.pairs.images import ImageMaker
from ehrqa_cli.sets.pairs.slots import VITALS, SlotSampler, canonical
from ehrqa_cli.sets.pairs.times import TIME_WEIGHTS, Drawn, Spoken, Styles, TimeSampler, quoted
from ehrqa_cli.sets.pairs.vocabulary import Vocabulary

_SLOT = re.compile(r"[\[{]([a-z_0-9:]+)[\]}]")
_PERIODS = 8  # kinds of time filter that are tried for one slot
_DRAWS = 24  # and draws of each
_NOWHERE = Event({}, "", None)


class AnchoredTimes(TimeSampler):
    """Dates of the event in focus, most of the time."""

    anchor: Event = _NOWHERE

    def year(self) -> int:
        """The event's year, seldom another."""
        if self.anchor.time and self._rng.random() < 0.9:
            return int(self.anchor.time[:4])
        return super().year()

    def _date(self) -> tuple[int, int, int]:
        if self.anchor.time and self._rng.random() < 0.8:
            year, month, day = self.anchor.time[:10].split("-")
            return int(year), int(month), int(day)
        return super()._date()


class AnchoredSampler(SlotSampler):
    """A slot sampler with one patient, and one event of theirs, in focus."""

    def __init__(
        self, vocabulary: Vocabulary, rng: random.Random, people: People, now: Now
    ) -> None:
        super().__init__(vocabulary, rng)
        self.times: AnchoredTimes = AnchoredTimes(vocabulary.years, rng)
        self._people = people
        self._now = now
        self._loose = 0.0
        self.person = Person(0, {})

    @property
    def anchor(self) -> Event:
        """The event in focus."""
        return self.times.anchor

    def focus(self, slots: Sequence[str], loose: float, *, present: str = "") -> None:
        """Choose the patient and the event that the next question is built around, by the kinds
        of values that its ``slots`` ask for; ``present`` is "visit" or "icu" where it is of a
        patient who is there now."""
        kinds = list(dict.fromkeys(name.rstrip("0123456789") for name in slots))
        self._loose = loose
        self.person = self._people.draw(self._rng, kinds, present)
        events = self.person.events
        own = next((kind for kind in kinds if events.get(kind)), None)
        pool = events[own] if own else [e for some in events.values() for e in some]
        if present:
            order = f"{present} current"
            pool = [e for e in pool if self._now.covers(order, e, self.person)] or pool
        self.times.anchor = self._rng.choice(pool) if pool else _NOWHERE

    def pair(self, context: str) -> Drawn:
        """Two times of which both cover the event in focus, where that can be had."""
        return self._fitting(lambda: super(AnchoredSampler, self).pair(context), ("tg", "tg2"))

    def new_pair(self) -> Drawn:
        """Two times of which the later covers the event in focus."""
        return self._fitting(super().new_pair, ("tg2",))

    def _fitting(self, draw: Callable[[], Drawn], names: Sequence[str]) -> Drawn:
        found = draw()
        for _ in range(_DRAWS):
            if all(self._covers(found[name][""].form) for name in names):
                break
            found = draw()
        return found

    def _covers(self, form: str) -> bool:
        return self._now.covers(form, self.anchor, self.person)

    def draw(self, name: str, context: str, drawn: Drawn) -> Styles:
        """As the sampler's; a second study is an earlier one of the same patient."""
        if name == "study_id2" and name not in drawn:
            now = self.draw("study_id", context, drawn)[""].form
            earlier = [*itertools.takewhile(lambda s: str(s) != now, self.person.studies)]
            pool = earlier or [s for s in self.person.studies if str(s) != now]
            if pool:
                study = str(self._rng.choice(pool))
                drawn[name] = {"": Spoken(study, study)}
        return super().draw(name, context, drawn)

    def _patient(self) -> Styles:
        patient = str(self.person.id)
        return {"": Spoken(patient, patient)}

    def _study(self) -> Styles:
        study = self.anchor.values.get("study")
        if study is None:
            return super()._study()
        return {"": Spoken(study, study)}

    def _value(self, kind: str, drawn: Drawn) -> Spoken:
        others = {s[""].form for n, s in drawn.items() if n.rstrip("0123456789") == kind}
        value = None if self._rng.random() < self._loose else self._happened(kind, others)
        return super()._value(kind, drawn) if value is None else self._said(value)

    def _happened(self, kind: str, others: set[str]) -> str | None:
        """A value of this kind from the event in focus, else from its hospital stay, else from
        any of the patient's events."""
        own = self.anchor.values.get(kind)
        if own is not None and quoted(own) not in others:
            return own
        found = self.person.events.get(kind, ())
        near = [e for e in found if e.stay == self.anchor.stay] or found
        for _ in range(5):
            if not near:
                return None
            value = self._rng.choice(near).values[kind]
            if quoted(value) not in others:
                return value
        return None

    def _vital(self) -> Styles:
        label = self.anchor.values.get("vital")
        if label is None or label not in VITALS:
            return super()._vital()
        text, again = (self._rng.choice(VITALS[label]) for _ in range(2))
        return {"": Spoken(text, quoted(label)), "again": Spoken(again, quoted(label))}

    def _time(self, context: str) -> Spoken:
        weights = TIME_WEIGHTS[context]
        spoken = super()._time(context)
        for _ in range(_PERIODS):
            kind = self._rng.choices(tuple(weights), tuple(weights.values()))[0]
            for _ in range(_DRAWS):
                spoken = self.times.draw(kind)
                if self._covers(spoken.form):
                    return spoken
        return spoken


class AnchoredGenerator(Generator):
    """Pairs of one EHR whose values go together. ``rng`` is seeded anew for each attempt."""

    sampler: AnchoredSampler

    def __init__(self, vocabulary: Vocabulary, people: People, now: Now) -> None:
        super().__init__(vocabulary, 0)
        self.sampler = AnchoredSampler(vocabulary, self.rng, people, now)


class AnchoredImages(ImageMaker):
    """Pairs of image templates that ask about what the labels of a study say."""

    sampler: AnchoredSampler

    def __init__(
        self, modality: str, generator: AnchoredGenerator, labels: Mapping[int, Sequence[Relation]]
    ) -> None:
        super().__init__(modality, generator.sampler, generator.rng)
        self._labels = labels
        self._loose = 0.0
        self._shown: Sequence[Relation] = ()
        self._first: Relation | None = None

    def focus(self, form: str, loose: float) -> None:
        """Choose the patient, the study and one of its findings for the next question."""
        slots = [canonical(name) for name in _SLOT.findall(form)]
        events = [name for name in slots if name.rstrip("0123456789") in KINDS]
        self.sampler.focus(["study", *events], loose)
        self._loose = loose
        study = self.sampler.anchor.values.get("study", "0")
        self._shown = self._labels.get(int(study), ())
        self._first = self.rng.choice(self._shown) if self._shown else None

    def _slot(self, name: str, drawn: Drawn) -> Spoken:
        if name not in drawn and self._first is not None and self.rng.random() >= self._loose:
            spoken = self._seen(name, self._first, drawn)
            if spoken is not None:
                drawn[name] = {"": spoken}
        return super()._slot(name, drawn)

    def _seen(self, name: str, first: Relation, drawn: Drawn) -> Spoken | None:
        """An object, attribute or category of the study: those of its finding in focus first,
        then of findings that share a place or an attribute with it."""
        kind = name.split("_")[0].rstrip("0123456789")
        if kind not in ("object", "attribute", "category"):
            return None
        others = {styles[""].form for styles in drawn.values()}
        pool = [first, *(r for r in self._shown if r[0] == first[0] or r[1] == first[1])]
        second = any(n.startswith(kind) for n in drawn)
        for _ in range(6):
            place, attribute = self.rng.choice(pool) if second else first
            wanted = {"object": place, "attribute": attribute}.get(kind) or CATEGORY_OF[attribute]
            if f'"{wanted}"' not in others:
                return self._said(kind, wanted)
            second = True
        return None

    def _said(self, kind: str, name: str) -> Spoken:
        return Spoken(words_of(kind, name, self.rng), f'"{name}"')
