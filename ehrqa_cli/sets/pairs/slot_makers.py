"""Slots that are filled by chance alone: numbers, spans of time, ages, words for an operation.

Each maker gives the words by style ("" is the plain one); the same state of chance, the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from ehrqa_cli.sets.pairs.slot_words import (
    AGG,
    EXACT,
    HIGHEST,
    LOWEST,
    NUMBERS,
    OVER,
    SAME_TIME,
    UNDER,
    UNIT,
    UNIT_LATE,
    WITHIN_DAY,
    WITHIN_MONTH,
    WITHIN_VISIT,
)
from ehrqa_cli.sets.pairs.times import NOTHING, Spoken, duration, quoted

Styles = dict[str, Spoken]
Maker = Callable[[Random], Styles]


def decimal(value: float, rng: Random) -> Spoken:
    """A number; a whole one perhaps without its point."""
    if value == int(value) and rng.random() < 0.35:
        return Spoken(str(int(value)), str(int(value)))
    return Spoken(str(value), str(value))


def exact(order: str, rng: Random) -> Styles:
    """The styles of one order word: an adjective, an adverb, and one after the verb."""
    return {style: Spoken(rng.choice(texts), order) for style, texts in EXACT[order].items()}


def _exact(rng: Random) -> Styles:
    orders, weights = ("first", "last", "second", "second_last", "third"), (44, 44, 6, 5, 1)
    return exact(rng.choices(orders, weights)[0], rng)


def _within(rng: Random) -> Styles:
    roll = rng.random()
    lasting = _duration(rng)[""]
    months = Spoken(f"within {lasting.text}", f"within {lasting.form}")
    styles = {"dur": months, "time": _same_time(rng)}
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


def _same_time(rng: Random) -> Spoken:
    roll = rng.random()
    if roll < 0.6:
        return Spoken(rng.choice(SAME_TIME), "sametime")
    if roll < 0.75:
        return Spoken(rng.choice(WITHIN_VISIT), "samevisit")
    if roll < 0.85:
        return Spoken(rng.choice(WITHIN_DAY), "sameday")
    return Spoken(rng.choice(WITHIN_MONTH), "samemonth")


def _duration(rng: Random) -> Styles:
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


def _rank(rng: Random) -> Styles:
    n = rng.choices((3, 4, 5, 2, 10, 6, 7, 8, 9), (30, 26, 26, 3, 8, 2, 2, 2, 1))[0]
    text = NUMBERS[n] if rng.random() < 0.68 else str(n)
    return {"": Spoken(text, str(n))}


def _n_times(rng: Random) -> Styles:
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


def _age_group(rng: Random) -> Styles:
    decade = rng.choices((20, 30, 40, 50, 60, 70, 80), (20, 20, 20, 20, 20, 1, 1))[0]
    if decade == 60:
        text = rng.choice(
            ("60 or above", "60 or above", "60 or above", "60 or above", "60 and above",
             "60 or older", "60 and over")
        )  # fmt: skip
        return {"": Spoken(text, '"60+"'), "in": Spoken(text, '"60+"')}
    form = quoted(f"{decade}-{decade + 9}")
    return {"": Spoken(f"{decade}s", form), "in": Spoken(f"their {decade}s", form)}


def _age_from(rng: Random) -> Styles:
    age = rng.choice((18, 21, 40, 50, 55, 60, 65, 65, 70, 75, 80, 85))
    text = rng.choice(
        ("{} or older", "{} and older", "{} or above", "{} and over", "{}+", "{} or over",
         "{} years or older", "{} years and older", "{} years old and above")
    )  # fmt: skip
    return {"": Spoken(text.format(age), f'"{age}+"')}


def _age_range(rng: Random) -> Styles:
    low = rng.choice((18, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70))
    high = low + rng.choice((4, 5, 9, 10, 10, 14, 15, 19, 20, 20, 25, 30))
    text = rng.choice(
        ("aged {} to {}", "aged {}-{}", "between the ages of {} and {}", "ages {} to {}",
         "ages {}-{}", "aged between {} and {}", "in the age range {}-{}", "{}-{} years old",
         "{} to {} years old", "between {} and {} years old", "{} to {} years of age")
    )  # fmt: skip
    return {"": Spoken(text.format(low, high), f'"{low}-{high}"')}


def _survival(rng: Random) -> Styles:
    n, unit = rng.choices(
        ((3, "month"), (6, "month"), (1, "year"), (2, "year"), (5, "year"), (1, "month"),
         (12, "month"), (30, "day"), (90, "day"), (9, "month")),
        (28, 28, 24, 4, 4, 4, 2, 3, 2, 1),
    )[0]  # fmt: skip
    form = quoted(f"{n} {unit}")
    long = f"{n} {unit}{'s' if n > 1 else ''}"
    return {"": Spoken(f"{n}-{unit}" if rng.random() < 0.75 else f"{n} {unit}", form),
            "long": Spoken(long, form)}  # fmt: skip


def _aggregate(rng: Random) -> Styles:
    head = rng.choice(tuple(AGG))
    return {"": Spoken(rng.choice(AGG[head]), head)}


def _unit(rng: Random) -> Styles:
    unit = rng.choices(tuple(UNIT), (4, 4, 3))[0]
    return {
        "": Spoken(rng.choice(UNIT[unit]), unit),
        "late": Spoken(rng.choice(UNIT_LATE[unit]), unit),
    }


def _comparison_of_two(rng: Random) -> Styles:
    greater = rng.random() < 0.5
    form = "greater" if greater else "less"
    words = ("greater", "greater", "higher", "larger", "bigger") if greater else (
        "less", "less", "lower", "smaller")  # fmt: skip
    risen = ("risen", "increased", "gone up") if greater else ("fallen", "decreased", "dropped")
    return {
        "": Spoken(rng.choice(words), form),
        "risen": Spoken(rng.choice(risen), form),
    }


def _n_more(rng: Random) -> Styles:
    n = rng.choice((1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 10, 10, 12, 15, 20, 25, 30, 50, 100))
    text = NUMBERS[n] if n <= 10 and rng.random() < 0.45 else str(n)
    return {"": Spoken(text, str(n))}


def _volume(rng: Random) -> Styles:
    n = rng.choice((50, 100, 200, 250, 500, 750, 1000, 1000, 1500, 2000, 3000, 5000))
    text = f"{n:,}" if rng.random() < 0.1 else str(n)
    return {"": Spoken(text, str(n))}


def _gender(rng: Random) -> Styles:
    gender = rng.choice(("female", "male"))
    noun = "women" if gender == "female" else "men"
    return {"": Spoken(gender, gender), "noun": Spoken(noun, gender)}


def _one_of(*said: object) -> Maker:
    """One of these, which the form writes as the question does."""

    def made(rng: Random) -> Styles:
        text = str(rng.choice(said))
        return {"": Spoken(text, text)}

    return made


def _either(one: str, its: tuple[str, ...], other: str, others: tuple[str, ...]) -> Maker:
    """One of two words of the form, in one of its wordings."""

    def made(rng: Random) -> Styles:
        form, words = (one, its) if rng.random() < 0.5 else (other, others)
        return {"": Spoken(rng.choice(words), form)}

    return made


_LIMIT = _one_of(18, 25, 30, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85)
MAKERS: Mapping[str, Maker] = {
    "ex": _exact,
    "tw": _within,
    "n_rank": _rank,
    "n_times": _n_times,
    "aged": _age_group,
    "older": _LIMIT,
    "younger": _LIMIT,
    "surv": _survival,
    "per": _one_of("days", "hours"),
    "agg": _aggregate,
    "unit": _unit,
    "cmp": _either("over", OVER, "under", UNDER),
    "op": _comparison_of_two,
    "sort": _either("highest", HIGHEST, "lowest", LOWEST),
    "gender": _gender,
    "agefrom": _age_from,
    "agerange": _age_range,
    "agelow": _one_of(18, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70),
    "n_more": _n_more,
    "volume": _volume,
    "dur": _duration,
    "num": lambda rng: {"": decimal(float(rng.randint(1, 300)), rng)},
}
