"""What the slots of a template can hold: words for the question, a fragment for the form.

A slot name is ``kind``, perhaps with a number that tells two of a kind apart (``drug2``) and a
style after a colon (``ex:adv``): the style changes the words, never the fragment.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from ehrqa_cli.sets.data import table
from ehrqa_cli.sets.pairs.slot_makers import MAKERS, decimal, exact
from ehrqa_cli.sets.pairs.times import (
    NOTHING,
    TIME_WEIGHTS,
    Drawn,
    Spoken,
    Styles,
    TimeSampler,
    quoted,
)
from ehrqa_cli.sets.pairs.vocabulary import Vocabulary

_SAID = table("pairs/words/slots")
VITALS: Mapping[str, list[str]] = _SAID["vital"]
_NEW_PAIRS = (
    (("today",), ("yesterday",), 8), (("this_month",), ("last_month",), 3),
    (("this_year",), ("last_year",), 2),
)  # fmt: skip


class SlotSampler:
    """Draws one value for every slot of a question; the same slot is drawn once."""

    def __init__(self, vocabulary: Vocabulary, rng: random.Random) -> None:
        self.vocabulary = vocabulary
        self._rng = rng
        self.times = TimeSampler(vocabulary.years, rng)
        self._makers: dict[str, Callable[[], Styles]] = {
            "p": self._patient,
            "vital": self._vital,
            "tvisit": self._one_visit,
            "year": self._year,
            "study_id": self._study,
        }

    def draw(self, name: str, context: str, drawn: Drawn) -> Styles:
        """Words by style ("" is the plain one) for the slot of this canonical name; kept in
        ``drawn``. Raises KeyError for a kind that the vocabulary lacks."""
        if name in drawn:
            return drawn[name]
        base = name.rstrip("0123456789")
        number = name[len(base) :]
        if base == "tg":
            drawn[name] = {"": self._time(context)}
        elif base == "vital_value":
            label = self.draw("vital" + number, context, drawn)[""].form.strip('"')
            drawn[name] = {"": self._vital_value(label)}
        elif base == "agehigh":
            low = int(self.draw("agelow" + number, context, drawn)[""].form)
            high = str(low + self._rng.choice((5, 9, 10, 10, 15, 20, 20, 25, 30)))
            drawn[name] = {"": Spoken(high, high)}
        elif base == "lab_value":
            label = self.draw("lab" + number, context, drawn)[""].form.strip('"')
            drawn[name] = {"": self._lab_value(label)}
        elif base in MAKERS:
            drawn[name] = MAKERS[base](self._rng)
        elif base in self._makers:
            drawn[name] = self._makers[base]()
        else:
            drawn[name] = {"": self._value(base, drawn)}
        return drawn[name]

    def _value(self, kind: str, drawn: Drawn) -> Spoken:
        others = {s[""].form for n, s in drawn.items() if n.rstrip("0123456789") == kind}
        for _ in range(5):
            value = self.vocabulary.pick(kind, self._rng)
            if quoted(value) not in others:
                break
        return self._said(value)

    def _said(self, value: str) -> Spoken:
        text = value
        roll = self._rng.random()
        if roll < 0.03:
            text = value.upper()
        elif roll < 0.07:
            text = value.title() if value.isascii() else value
        elif roll < 0.09:
            text = value[:1].upper() + value[1:]
        return Spoken(text, quoted(value))

    def _patient(self) -> Styles:
        patient = str(self._rng.choice(self.vocabulary.patients))
        return {"": Spoken(patient, patient)}

    def _vital(self) -> Styles:
        label = self._rng.choice(tuple(VITALS))
        text = self._rng.choice(VITALS[label])
        if self._rng.random() < 0.2:
            text = text.lower()
        again = self._rng.choice(VITALS[label])
        return {"": Spoken(text, quoted(label)), "again": Spoken(again, quoted(label))}

    def _vital_value(self, label: str) -> Spoken:
        low, high = _SAID["range"].get(label, (20, 150))
        return decimal(float(self._rng.randint(low, high)), self._rng)

    def _lab_value(self, label: str) -> Spoken:
        known = self.vocabulary.lab_values.get(label)
        value = self._rng.choice(known) if known else self._rng.randint(1, 300) / 10
        return decimal(round(value, 2), self._rng)

    def _time(self, context: str) -> Spoken:
        weights = TIME_WEIGHTS[context]
        kind = self._rng.choices(tuple(weights), tuple(weights.values()))[0]
        return self.times.draw(kind)

    def pair(self, context: str) -> Drawn:
        """Two order words and two times that are sensibly compared: ``ex``, ``tg`` are the
        base, ``ex2``, ``tg2`` what is compared with it. In one of eight, two time stamps."""
        rng = self._rng
        if rng.random() < 0.12:
            empty = dict.fromkeys(("", "adv", "late"), NOTHING)
            times = [self.times.draw("stamp") for _ in range(2)]
            return {"ex": empty, "ex2": empty, "tg": {"": times[0]}, "tg2": {"": times[1]}}
        base, other = rng.choices(
            (("second_last", "last"), ("first", "last"), ("first", "second"), ("last", "first"),
             ("second", "third"), ("first", "first"), ("last", "last")),
            (30, 30, 20, 5, 2, 4, 4),
        )[0]  # fmt: skip
        first = self._time_of_pair(context, base != other)
        second = first
        if base == other or rng.random() < 0.2:
            while second.form == first.form:
                second = self._time_of_pair(context, base != other)
        return {
            "ex": exact(base, rng),
            "ex2": exact(other, rng),
            "tg": {"": first},
            "tg2": {"": second},
        }

    def _time_of_pair(self, context: str, may_be_empty: bool) -> Spoken:
        if self._rng.random() < 0.6:
            kind = "icu" if context == "icu" and self._rng.random() < 0.8 else "visit"
            return self.times.draw(kind)
        while True:
            spoken = self._time(context)
            if spoken.form or may_be_empty:
                return spoken

    def new_pair(self) -> Drawn:
        """Two times, a later and an earlier one, for what is new in the later."""
        rng = self._rng
        roll = rng.random()
        if roll < 0.78:
            (later, earlier, _) = rng.choices(_NEW_PAIRS, [w for *_, w in _NEW_PAIRS])[0]
            now, then = self.times.draw(later[0]), self.times.draw(earlier[0])
        else:
            then, now = self.times.visit("first"), self.times.visit(rng.choice(("last", "current")))
            if roll > 0.92:
                then, now = self.times.visit("last"), self.times.visit("current")
        return {"tg": {"": then}, "tg2": {"": now}}

    def _one_visit(self) -> Styles:
        return {"": self.times.visit(self._rng.choice(("first", "last", "last", "current")))}

    def _study(self) -> Styles:
        known = self.vocabulary.studies
        study = self._rng.choice(known) if known else self._rng.randint(50_000_000, 59_999_999)
        return {"": Spoken(str(study), str(study))}

    def _year(self) -> Styles:
        year = str(self.times.year())
        return {"": Spoken(year, quoted(year))}


def canonical(name: str) -> str:
    """The short kind of a slot's name: ``time_filter_exact2:adv`` is ``ex2``."""
    plain = name.split(":")[0]
    base = plain.rstrip("0123456789")
    digits = plain[len(base) :]
    short: str = _SAID["alias"].get(base, base)
    return short + ("" if digits == "1" else digits)
