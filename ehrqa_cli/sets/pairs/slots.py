"""What the slots of a template can hold: words for the question, a fragment for the form.

A slot name is ``kind``, perhaps with a number that tells two of a kind apart (``drug2``) and a
style after a colon (``ex:adv``): the style changes the words, never the fragment.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from ehrqa_cli.sets.pairs.slot_words import (
    AGG,
    ALIASES,
    EXACT,
    HIGHEST,
    LOWEST,
    NUMBERS,
    OVER,
    RANGES,
    SAME_TIME,
    TIME_WEIGHTS,
    UNDER,
    UNIT,
    UNIT_LATE,
    VITALS,
    WITHIN_DAY,
    WITHIN_MONTH,
    WITHIN_VISIT,
)
from ehrqa_cli.sets.pairs.times import NOTHING, Spoken, TimeSampler, duration, quoted
from ehrqa_cli.sets.pairs.vocabulary import Vocabulary

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
        self._makers: dict[str, Callable[[str], Mapping[str, Spoken]]] = {
            "p": self._patient,
            "vital": self._vital,
            "ex": self._exact,
            "tw": self._within,
            "n_rank": self._rank,
            "n_times": self._n_times,
            "aged": self._age_group,
            "older": self._age_limit,
            "younger": self._age_limit,
            "surv": self._survival,
            "per": self._unit_count,
            "agg": self._aggregate,
            "unit": self._unit,
            "cmp": self._comparison,
            "op": self._comparison_of_two,
            "sort": self._sort,
            "gender": self._gender,
            "agefrom": self._age_from,
            "agerange": self._age_range,
            "agelow": self._age_low,
            "n_more": self._n_more,
            "volume": self._volume,
            "tvisit": self._one_visit,
            "dur": self._duration,
            "num": self._number,
            "year": self._year,
            "study_id": self._study,
        }

    def draw(
        self, name: str, context: str, drawn: dict[str, dict[str, Spoken]]
    ) -> dict[str, Spoken]:
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
        elif base in self._makers:
            drawn[name] = dict(self._makers[base](base))
        else:
            drawn[name] = {"": self._value(base, drawn)}
        return drawn[name]

    def _value(self, kind: str, drawn: Mapping[str, Mapping[str, Spoken]]) -> Spoken:
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

    def _patient(self, _name: str) -> Mapping[str, Spoken]:
        patient = str(self._rng.choice(self.vocabulary.patients))
        return {"": Spoken(patient, patient)}

    def _vital(self, _name: str) -> Mapping[str, Spoken]:
        label = self._rng.choice(tuple(VITALS))
        text = self._rng.choice(VITALS[label])
        if self._rng.random() < 0.2:
            text = text.lower()
        again = self._rng.choice(VITALS[label])
        return {"": Spoken(text, quoted(label)), "again": Spoken(again, quoted(label))}

    def _vital_value(self, label: str) -> Spoken:
        low, high = RANGES.get(label, (20, 150))
        return self._decimal(float(self._rng.randint(low, high)))

    def _lab_value(self, label: str) -> Spoken:
        known = self.vocabulary.lab_values.get(label)
        value = self._rng.choice(known) if known else self._rng.randint(1, 300) / 10
        return self._decimal(round(value, 2))

    def _decimal(self, value: float) -> Spoken:
        if value == int(value) and self._rng.random() < 0.35:
            return Spoken(str(int(value)), str(int(value)))
        return Spoken(str(value), str(value))

    def _time(self, context: str) -> Spoken:
        weights = TIME_WEIGHTS[context]
        kind = self._rng.choices(tuple(weights), tuple(weights.values()))[0]
        return self.times.draw(kind)

    def _exact(self, name: str) -> Mapping[str, Spoken]:
        orders, weights = ("first", "last", "second", "second_last", "third"), (44, 44, 6, 5, 1)
        return self.exact(self._rng.choices(orders, weights)[0])

    def exact(self, order: str) -> dict[str, Spoken]:
        """The styles of one order word: an adjective, an adverb, and one after the verb."""
        return {
            style: Spoken(self._rng.choice(texts), order) for style, texts in EXACT[order].items()
        }

    def pair(self, context: str) -> dict[str, dict[str, Spoken]]:
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
            "ex": self.exact(base),
            "ex2": self.exact(other),
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

    def new_pair(self) -> dict[str, dict[str, Spoken]]:
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

    def _within(self, _name: str) -> Mapping[str, Spoken]:
        rng = self._rng
        roll = rng.random()
        lasting = self._duration("dur")[""]
        months = Spoken(f"within {lasting.text}", f"within {lasting.form}")
        styles = {"dur": months, "time": self._same_time()}
        if roll < 0.3:
            plain = Spoken(rng.choice(WITHIN_VISIT), "samevisit")
        elif roll < 0.55:
            plain = Spoken(rng.choice(WITHIN_MONTH), "samemonth")
        elif roll < 0.65:
            plain = Spoken(rng.choice(WITHIN_DAY), "sameday")
        elif roll < 0.95:
            word = rng.choice(("within", "within", "within", "in the space of", "in under"))
            plain = Spoken(f"{word} {lasting.text}", months.form) if roll > 0.93 else months
        else:
            plain = NOTHING
        return {"": plain, **styles}

    def _same_time(self) -> Spoken:
        rng = self._rng
        roll = rng.random()
        if roll < 0.6:
            return Spoken(rng.choice(SAME_TIME), "sametime")
        if roll < 0.75:
            return Spoken(rng.choice(WITHIN_VISIT), "samevisit")
        if roll < 0.85:
            return Spoken(rng.choice(WITHIN_DAY), "sameday")
        return Spoken(rng.choice(WITHIN_MONTH), "samemonth")

    def _duration(self, _name: str) -> Mapping[str, Spoken]:
        rng = self._rng
        roll = rng.random()
        if roll < 0.55:
            spoken = duration(2, "month", rng)
        elif roll < 0.7:
            spoken = duration(rng.randint(1, 12), "month", rng)
        elif roll < 0.88:
            spoken = duration(rng.choice((1, 2, 3, 5, 7, 10, 14, 30, 60, 90)), "day", rng)
        elif roll < 0.94:
            spoken = duration(rng.randint(1, 8), "week", rng)
        elif roll < 0.97:
            spoken = duration(rng.choice((6, 12, 24, 48, 72)), "hour", rng)
        else:
            spoken = duration(rng.randint(1, 5), "year", rng)
        return {"": spoken}

    def _rank(self, _name: str) -> Mapping[str, Spoken]:
        rng = self._rng
        n = rng.choices((3, 4, 5, 2, 10, 6, 7, 8, 9), (30, 26, 26, 3, 8, 2, 2, 2, 1))[0]
        text = NUMBERS[n] if rng.random() < 0.68 else str(n)
        return {"": Spoken(text, str(n))}

    def _n_times(self, _name: str) -> Mapping[str, Spoken]:
        rng = self._rng
        n = rng.choices((2, 3, 4, 5), (70, 18, 7, 5))[0]
        word = NUMBERS[n] if rng.random() < 0.7 else str(n)
        once = {2: "twice", 3: "three times"}.get(n, f"{word} times")
        if rng.random() < 0.5:
            text = rng.choice((f"{word} times", f"{word} times", once, f"exactly {word} times"))
            return {"": Spoken(text, f"times {n}")}
        text = rng.choice(
            (f"{word} or more times", f"{word} or more times", f"at least {word} times",
             f"at least {once}", f"{word} times or more", f"no fewer than {word} times",
             f"a minimum of {word} times")
        )  # fmt: skip
        if n == 2 and rng.random() < 0.25:
            text = rng.choice(("more than once", "repeatedly, at least twice", "more than once"))
        return {"": Spoken(text, f"times_atleast {n}")}

    def _age_group(self, _name: str) -> Mapping[str, Spoken]:
        decade = self._rng.choices((20, 30, 40, 50, 60, 70, 80), (20, 20, 20, 20, 20, 1, 1))[0]
        if decade == 60:
            text = self._rng.choice(
                ("60 or above", "60 or above", "60 or above", "60 or above", "60 and above",
                 "60 or older", "60 and over")
            )  # fmt: skip
            return {"": Spoken(text, '"60+"'), "in": Spoken(text, '"60+"')}
        form = quoted(f"{decade}-{decade + 9}")
        return {"": Spoken(f"{decade}s", form), "in": Spoken(f"their {decade}s", form)}

    def _age_limit(self, _name: str) -> Mapping[str, Spoken]:
        age = str(self._rng.choice((18, 25, 30, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85)))
        return {"": Spoken(age, age)}

    def _age_from(self, _name: str) -> Mapping[str, Spoken]:
        age = self._rng.choice((18, 21, 40, 50, 55, 60, 65, 65, 70, 75, 80, 85))
        text = self._rng.choice(
            ("{} or older", "{} and older", "{} or above", "{} and over", "{}+", "{} or over",
             "{} years or older", "{} years and older", "{} years old and above")
        )  # fmt: skip
        return {"": Spoken(text.format(age), f'"{age}+"')}

    def _age_range(self, _name: str) -> Mapping[str, Spoken]:
        low = self._rng.choice((18, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70))
        high = low + self._rng.choice((4, 5, 9, 10, 10, 14, 15, 19, 20, 20, 25, 30))
        text = self._rng.choice(
            ("aged {} to {}", "aged {}-{}", "between the ages of {} and {}", "ages {} to {}",
             "ages {}-{}", "aged between {} and {}", "in the age range {}-{}", "{}-{} years old",
             "{} to {} years old", "between {} and {} years old", "{} to {} years of age")
        )  # fmt: skip
        return {"": Spoken(text.format(low, high), f'"{low}-{high}"')}

    def _age_low(self, _name: str) -> Mapping[str, Spoken]:
        age = str(self._rng.choice((18, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70)))
        return {"": Spoken(age, age)}

    def _n_more(self, _name: str) -> Mapping[str, Spoken]:
        rng = self._rng
        n = rng.choice((1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 10, 10, 12, 15, 20, 25, 30, 50, 100))
        text = NUMBERS[n] if n <= 10 and rng.random() < 0.45 else str(n)
        return {"": Spoken(text, str(n))}

    def _volume(self, _name: str) -> Mapping[str, Spoken]:
        n = self._rng.choice((50, 100, 200, 250, 500, 750, 1000, 1000, 1500, 2000, 3000, 5000))
        text = f"{n:,}" if self._rng.random() < 0.1 else str(n)
        return {"": Spoken(text, str(n))}

    def _one_visit(self, _name: str) -> Mapping[str, Spoken]:
        return {"": self.times.visit(self._rng.choice(("first", "last", "last", "current")))}

    def _survival(self, _name: str) -> Mapping[str, Spoken]:
        rng = self._rng
        n, unit = rng.choices(
            ((3, "month"), (6, "month"), (1, "year"), (2, "year"), (5, "year"), (1, "month"),
             (12, "month"), (30, "day"), (90, "day"), (9, "month")),
            (28, 28, 24, 4, 4, 4, 2, 3, 2, 1),
        )[0]  # fmt: skip
        form = quoted(f"{n} {unit}")
        long = f"{n} {unit}{'s' if n > 1 else ''}"
        return {"": Spoken(f"{n}-{unit}" if rng.random() < 0.75 else f"{n} {unit}", form),
                "long": Spoken(long, form)}  # fmt: skip

    def _unit_count(self, _name: str) -> Mapping[str, Spoken]:
        unit = self._rng.choice(("days", "hours"))
        return {"": Spoken(unit, unit)}

    def _aggregate(self, _name: str) -> Mapping[str, Spoken]:
        head = self._rng.choice(tuple(AGG))
        return {"": Spoken(self._rng.choice(AGG[head]), head)}

    def _unit(self, _name: str) -> Mapping[str, Spoken]:
        unit = self._rng.choices(tuple(UNIT), (4, 4, 3))[0]
        return {
            "": Spoken(self._rng.choice(UNIT[unit]), unit),
            "late": Spoken(self._rng.choice(UNIT_LATE[unit]), unit),
        }

    def _comparison(self, _name: str) -> Mapping[str, Spoken]:
        if self._rng.random() < 0.5:
            return {"": Spoken(self._rng.choice(OVER), "over")}
        return {"": Spoken(self._rng.choice(UNDER), "under")}

    def _comparison_of_two(self, _name: str) -> Mapping[str, Spoken]:
        greater = self._rng.random() < 0.5
        form = "greater" if greater else "less"
        words = ("greater", "greater", "higher", "larger", "bigger") if greater else (
            "less", "less", "lower", "smaller")  # fmt: skip
        risen = ("risen", "increased", "gone up") if greater else ("fallen", "decreased", "dropped")
        return {
            "": Spoken(self._rng.choice(words), form),
            "risen": Spoken(self._rng.choice(risen), form),
        }

    def _sort(self, _name: str) -> Mapping[str, Spoken]:
        if self._rng.random() < 0.5:
            return {"": Spoken(self._rng.choice(HIGHEST), "highest")}
        return {"": Spoken(self._rng.choice(LOWEST), "lowest")}

    def _gender(self, _name: str) -> Mapping[str, Spoken]:
        gender = self._rng.choice(("female", "male"))
        noun = "women" if gender == "female" else "men"
        return {"": Spoken(gender, gender), "noun": Spoken(noun, gender)}

    def _number(self, _name: str) -> Mapping[str, Spoken]:
        return {"": self._decimal(float(self._rng.randint(1, 300)))}

    def _study(self, _name: str) -> Mapping[str, Spoken]:
        known = self.vocabulary.studies
        study = self._rng.choice(known) if known else self._rng.randint(50_000_000, 59_999_999)
        return {"": Spoken(str(study), str(study))}

    def _year(self, _name: str) -> Mapping[str, Spoken]:
        year = str(self.times.year())
        return {"": Spoken(year, quoted(year))}


def canonical(name: str) -> str:
    """The short kind of a slot's name: ``time_filter_exact2:adv`` is ``ex2``."""
    plain = name.split(":")[0]
    base = plain.rstrip("0123456789")
    digits = plain[len(base) :]
    short = ALIASES.get(base, base)
    return short + ("" if digits == "1" else digits)
