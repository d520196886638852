"""What the slots of a template can hold: words for the question, a fragment for the form.

A slot name is ``kind``, perhaps with a number that tells two of a kind apart (``drug2``) and a
style after a colon (``ex:adv``): the style changes the words, never the fragment.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from ehrqa_cli.build.times import NOTHING, Spoken, TimeSampler, duration, quoted
from ehrqa_cli.build.vocabulary import Vocabulary

# Long names are those of EHRXQA's and EHRSQL's templates; the short ones save typing.
ALIASES = {
    "patient_id": "p",
    "drug_name": "drug",
    "lab_name": "lab",
    "diagnosis_name": "dx",
    "procedure_name": "proc",
    "intake_name": "intake",
    "input_name": "intake",
    "output_name": "output",
    "culture_name": "specimen",
    "spec_name": "specimen",
    "test_name": "mtest",
    "vital_name": "vital",
    "drug_route": "route",
    "admission_route": "admloc",
    "abbreviation": "abbrev",
    "time_filter_global": "tg",
    "time_filter_exact": "ex",
    "time_filter_within": "tw",
    "agg_function": "agg",
    "unit_average": "unit",
    "unit_count": "per",
    "comparison": "cmp",
    "n_survival_period": "surv",
    "age_group": "aged",
}
VITALS = {
    "heart rate": ("heart rate", "heart rate", "heart rate", "pulse", "pulse rate", "HR"),
    "respiratory rate": ("respiratory rate", "respiratory rate", "respiration rate",
                         "breathing rate", "respiration"),
    "temperature celsius": ("temperature", "body temperature", "temperature celsius",
                            "temperature", "temp"),
    "o2 saturation pulseoxymetry": ("SpO2", "SpO2", "SpO2", "oxygen saturation", "o2 saturation",
                                    "o2 saturation pulseoxymetry", "O2 sat", "SaO2"),
    "arterial blood pressure systolic": ("systolic blood pressure", "systolic blood pressure",
                                         "arterial blood pressure systolic", "SBP",
                                         "systolic pressure", "systolic BP"),
    "arterial blood pressure diastolic": ("diastolic blood pressure", "diastolic blood pressure",
                                          "arterial blood pressure diastolic", "DBP",
                                          "diastolic pressure", "diastolic BP"),
    "arterial blood pressure mean": ("mean blood pressure", "mean blood pressure", "MAP",
                                     "arterial blood pressure mean", "mean arterial pressure",
                                     "mean arterial blood pressure"),
}  # fmt: skip
_RANGES = {
    "heart rate": (50, 140), "respiratory rate": (8, 36), "temperature celsius": (34, 41),
    "o2 saturation pulseoxymetry": (80, 100), "arterial blood pressure systolic": (70, 190),
    "arterial blood pressure diastolic": (35, 110), "arterial blood pressure mean": (45, 130),
}  # fmt: skip
_EXACT = {
    "first": {
        "": ("first", "first", "first", "first", "first", "earliest", "initial", "very first"),
        "adv": ("first", "first", "first", "initially"),
        "late": ("for the first time", "the first time", "for the very first time"),
    },
    "last": {
        "": ("last", "last", "last", "last", "last", "most recent", "latest", "final",
             "very last"),
        "adv": ("last", "last", "last", "most recently"),
        "late": ("for the last time", "the last time", "most recently"),
    },
    "second": {
        "": ("second", "second", "2nd"),
        "adv": ("second",),
        "late": ("for the second time", "the second time"),
    },
    "second_last": {
        "": ("second to last", "second to last", "second-to-last", "penultimate",
             "next to last"),
        "adv": ("second to last",),
        "late": ("for the second to last time", "the second to last time"),
    },
    "third": {"": ("third",), "adv": ("third",), "late": ("for the third time",)},
}  # fmt: skip
_AGG = {
    "avg": ("average", "average", "average", "mean"),
    "max": ("maximum", "maximum", "maximum", "highest", "peak", "max", "largest"),
    "min": ("minimum", "minimum", "minimum", "lowest", "smallest", "min"),
}
_UNIT = {
    "per_day": ("daily", "daily", "daily", "per-day", "day-by-day"),
    "per_month": ("monthly", "monthly", "monthly", "per-month", "month-by-month"),
    "per_year": ("yearly", "yearly", "annual", "per-year", "year-by-year"),
}
_UNIT_LATE = {
    "per_day": ("per day", "each day", "by day", "for each day", "for every day", "a day"),
    "per_month": ("per month", "each month", "by month", "for each month", "a month"),
    "per_year": ("per year", "each year", "by year", "for each year", "a year"),
}
_OVER = ("greater than", "greater than", "greater than", "higher than", "above", "over",
         "more than", "in excess of", "exceeding")  # fmt: skip
_UNDER = ("less than", "less than", "less than", "lower than", "below", "under", "smaller than")
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WITHIN_VISIT = (
    "within the same hospital visit", "during the same hospital visit",
    "in the same hospital visit", "in the same hospital encounter",
    "during the same hospital encounter", "within the same hospital stay",
    "in the same hospital stay", "within the same hospital encounter",
    "during the same admission", "in the same admission", "during the same hospitalization",
    "during the same visit", "in the same encounter", "within the same hospital admission",
)  # fmt: skip
_WITHIN_DAY = ("on the same day", "within the same day", "during the same day", "in the same day",
               "that same day")  # fmt: skip
_WITHIN_MONTH = ("within the same month", "in the same month", "during the same month",
                 "within the same month", "in the same month", "in the same calendar month",
                 "the same month")  # fmt: skip
_SAME_TIME = ("at the same time", "at the same time", "simultaneously", "at the same moment",
              "concurrently", "together at the same time")  # fmt: skip
# Which time filters each context draws, with weights; see TimeSampler.
TIME_WEIGHTS: dict[str, dict[str, int]] = {
    "visit": {
        "none": 14, "visit": 22, "in_year": 7, "since_year": 7, "in_month": 9, "since_month": 9,
        "in_day": 4, "since_day": 4, "since_ago": 12, "this_year": 6, "last_year": 6,
        "this_month": 4, "last_month": 5, "today": 3, "yesterday": 3, "at_month": 8, "at_md": 4,
        "at_day": 5, "before": 1, "until_ago": 1, "rare_visit": 1,
    },
    "icu": {
        "none": 13, "icu": 24, "visit": 8, "in_year": 4, "since_year": 4, "in_month": 7,
        "since_month": 7, "in_day": 9, "since_day": 9, "since_ago": 12, "this_year": 4,
        "last_year": 4, "this_month": 4, "last_month": 5, "today": 4, "yesterday": 4,
        "at_month": 5, "at_md": 8, "at_day": 9, "before": 1, "until_ago": 1,
    },
    "group": {
        "none": 18, "in_year": 20, "since_year": 20, "since_ago": 14, "this_year": 14,
        "last_year": 14, "in_month": 3, "since_month": 3, "this_month": 2, "last_month": 2,
        "in_day": 1, "since_day": 1, "before": 1, "at_month": 2, "today": 1, "yesterday": 1,
    },
    "stay": {
        "visit": 70, "none": 10, "in_year": 3, "this_year": 2, "last_year": 2, "rare_visit": 2,
    },
    "admission": {
        "none": 16, "in_year": 16, "since_year": 16, "since_ago": 14, "this_year": 10,
        "last_year": 10, "in_month": 4, "since_month": 4, "this_month": 2, "last_month": 2,
        "before": 1,
    },
}  # fmt: skip
TIME_WEIGHTS["group_icu"] = TIME_WEIGHTS["group"]
TIME_WEIGHTS["new"] = TIME_WEIGHTS["visit"]
TIME_WEIGHTS["admission_rare"] = TIME_WEIGHTS["admission"] | {"none": 130}
TIME_WEIGHTS["admission_visit"] = TIME_WEIGHTS["admission"] | {"visit": 22}
_NEW_PAIRS = (
    (("today",), ("yesterday",), 8), (("this_month",), ("last_month",), 3),
    (("this_year",), ("last_year",), 2),
)  # fmt: skip


class SlotSampler:
    """Draws one value for every slot of a question; the same slot is drawn once."""

    def __init__(self, vocabulary: Vocabulary, rng: random.Random) -> None:
        self._vocabulary = vocabulary
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
        if base == "tg":
            drawn[name] = {"": self._time(context)}
        elif base == "vital_value":
            label = self.draw("vital", context, drawn)[""].form.strip('"')
            drawn[name] = {"": self._vital_value(label)}
        elif base == "lab_value":
            label = self.draw("lab", context, drawn)[""].form.strip('"')
            drawn[name] = {"": self._lab_value(label)}
        elif base in self._makers:
            drawn[name] = dict(self._makers[base](base))
        else:
            drawn[name] = {"": self._value(base, drawn)}
        return drawn[name]

    def _value(self, kind: str, drawn: Mapping[str, Mapping[str, Spoken]]) -> Spoken:
        others = {s[""].form for n, s in drawn.items() if n.rstrip("0123456789") == kind}
        for _ in range(5):
            value = self._vocabulary.pick(kind, self._rng)
            if quoted(value) not in others:
                break
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
        patient = str(self._rng.choice(self._vocabulary.patients))
        return {"": Spoken(patient, patient)}

    def _vital(self, _name: str) -> Mapping[str, Spoken]:
        label = self._rng.choice(tuple(VITALS))
        text = self._rng.choice(VITALS[label])
        if self._rng.random() < 0.2:
            text = text.lower()
        return {"": Spoken(text, quoted(label))}

    def _vital_value(self, label: str) -> Spoken:
        low, high = _RANGES.get(label, (20, 150))
        return self._decimal(float(self._rng.randint(low, high)))

    def _lab_value(self, label: str) -> Spoken:
        known = self._vocabulary.lab_values.get(label)
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
            style: Spoken(self._rng.choice(texts), order) for style, texts in _EXACT[order].items()
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
            plain = Spoken(rng.choice(_WITHIN_VISIT), "samevisit")
        elif roll < 0.55:
            plain = Spoken(rng.choice(_WITHIN_MONTH), "samemonth")
        elif roll < 0.65:
            plain = Spoken(rng.choice(_WITHIN_DAY), "sameday")
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
            return Spoken(rng.choice(_SAME_TIME), "sametime")
        if roll < 0.75:
            return Spoken(rng.choice(_WITHIN_VISIT), "samevisit")
        if roll < 0.85:
            return Spoken(rng.choice(_WITHIN_DAY), "sameday")
        return Spoken(rng.choice(_WITHIN_MONTH), "samemonth")

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
        text = _NUMBERS[n] if rng.random() < 0.68 else str(n)
        return {"": Spoken(text, str(n))}

    def _n_times(self, _name: str) -> Mapping[str, Spoken]:
        rng = self._rng
        n = rng.choices((2, 3, 4, 5), (70, 18, 7, 5))[0]
        word = _NUMBERS[n] if rng.random() < 0.7 else str(n)
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
        head = self._rng.choice(tuple(_AGG))
        return {"": Spoken(self._rng.choice(_AGG[head]), head)}

    def _unit(self, _name: str) -> Mapping[str, Spoken]:
        unit = self._rng.choices(tuple(_UNIT), (4, 4, 3))[0]
        return {
            "": Spoken(self._rng.choice(_UNIT[unit]), unit),
            "late": Spoken(self._rng.choice(_UNIT_LATE[unit]), unit),
        }

    def _comparison(self, _name: str) -> Mapping[str, Spoken]:
        if self._rng.random() < 0.5:
            return {"": Spoken(self._rng.choice(_OVER), "over")}
        return {"": Spoken(self._rng.choice(_UNDER), "under")}

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
            words = ("maximum", "maximum", "highest", "largest", "peak", "greatest", "max")
            return {"": Spoken(self._rng.choice(words), "highest")}
        words = ("minimum", "minimum", "lowest", "smallest", "min", "lowest")
        return {"": Spoken(self._rng.choice(words), "lowest")}

    def _gender(self, _name: str) -> Mapping[str, Spoken]:
        gender = self._rng.choice(("female", "male"))
        noun = "women" if gender == "female" else "men"
        return {"": Spoken(gender, gender), "noun": Spoken(noun, gender)}

    def _number(self, _name: str) -> Mapping[str, Spoken]:
        return {"": self._decimal(float(self._rng.randint(1, 300)))}

    def _study(self, _name: str) -> Mapping[str, Spoken]:
        known = self._vocabulary.studies
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
