"""Slots that are filled by chance alone: numbers, spans of time, ages, words for an operation.

Each maker gives the words by style ("" is the plain one); the same state of chance, the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from ehrqa_cli.sets.data import table
from ehrqa_cli.sets.pairs.times import NOTHING, Spoken, Styles, duration, quoted

Maker = Callable[[Random], Styles]
_SAID = table("pairs/words/slots")


def _say(name: str, rng: Random, *values: object, **named: object) -> str:
    """One of the ways to say it, with the values in it."""
    return str(rng.choice(_SAID[name])).format(*values, **named)


def decimal(value: float, rng: Random) -> Spoken:
    """A number; a whole one perhaps without its point."""
    if value == int(value) and rng.random() < 0.35:
        return Spoken(str(int(value)), str(int(value)))
    return Spoken(str(value), str(value))


def exact(order: str, rng: Random) -> Styles:
    """The styles of one order word: an adjective, an adverb, and one after the verb."""
    styles = _SAID["exact"][order]
    return {style: Spoken(rng.choice(texts), order) for style, texts in styles.items()}


def _exact(rng: Random) -> Styles:
    orders, weights = ("first", "last", "second", "second_last", "third"), (44, 44, 6, 5, 1)
    return exact(rng.choices(orders, weights)[0], rng)


def _within(rng: Random) -> Styles:
    roll = rng.random()
    lasting = _duration(rng)[""]
    months = Spoken(f"within {lasting.text}", f"within {lasting.form}")
    styles = {"dur": months, "time": _same_time(rng)}
    if roll < 0.3:
        plain = Spoken(_say("within_visit", rng), "samevisit")
    elif roll < 0.55:
        plain = Spoken(_say("within_month", rng), "samemonth")
    elif roll < 0.65:
        plain = Spoken(_say("within_day", rng), "sameday")
    elif roll < 0.95:
        word = _say("within", rng)
        plain = Spoken(f"{word} {lasting.text}", months.form) if roll > 0.93 else months
    else:
        plain = NOTHING
    return {"": plain, **styles}


def _same_time(rng: Random) -> Spoken:
    roll = rng.random()
    if roll < 0.6:
        return Spoken(_say("same_time", rng), "sametime")
    if roll < 0.75:
        return Spoken(_say("within_visit", rng), "samevisit")
    if roll < 0.85:
        return Spoken(_say("within_day", rng), "sameday")
    return Spoken(_say("within_month", rng), "samemonth")


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
    text = _SAID["numbers"][n] if rng.random() < 0.68 else str(n)
    return {"": Spoken(text, str(n))}


def _n_times(rng: Random) -> Styles:
    n = rng.choices((2, 3, 4, 5), (70, 18, 7, 5))[0]
    word = _SAID["numbers"][n] if rng.random() < 0.7 else str(n)
    once = {2: "twice", 3: "three times"}.get(n, f"{word} times")
    if rng.random() < 0.5:
        return {"": Spoken(_say("exactly", rng, word, once=once), f"times {n}")}
    text = _say("at_least", rng, word, once=once)
    if n == 2 and rng.random() < 0.25:
        text = _say("over_once", rng)
    return {"": Spoken(text, f"times_atleast {n}")}


def _age_group(rng: Random) -> Styles:
    decade = rng.choices((20, 30, 40, 50, 60, 70, 80), (20, 20, 20, 20, 20, 1, 1))[0]
    if decade == 60:
        text = _say("age_60", rng)
        return {"": Spoken(text, '"60+"'), "in": Spoken(text, '"60+"')}
    form = quoted(f"{decade}-{decade + 9}")
    return {"": Spoken(f"{decade}s", form), "in": Spoken(f"their {decade}s", form)}


def _age_from(rng: Random) -> Styles:
    age = rng.choice((18, 21, 40, 50, 55, 60, 65, 65, 70, 75, 80, 85))
    return {"": Spoken(_say("age_from", rng, age), f'"{age}+"')}


def _age_range(rng: Random) -> Styles:
    low = rng.choice((18, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70))
    high = low + rng.choice((4, 5, 9, 10, 10, 14, 15, 19, 20, 20, 25, 30))
    return {"": Spoken(_say("age_range", rng, low, high), f'"{low}-{high}"')}


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
    head = rng.choice(tuple(_SAID["agg"]))
    return {"": Spoken(rng.choice(_SAID["agg"][head]), head)}


def _unit(rng: Random) -> Styles:
    unit = rng.choices(tuple(_SAID["unit"]), (4, 4, 3))[0]
    styles = {"": _SAID["unit"], "late": _SAID["unit_late"]}
    return {style: Spoken(rng.choice(words[unit]), unit) for style, words in styles.items()}


def _comparison_of_two(rng: Random) -> Styles:
    form, changed = ("greater", "risen") if rng.random() < 0.5 else ("less", "fallen")
    return {"": Spoken(_say(form, rng), form), "risen": Spoken(_say(changed, rng), form)}


def _n_more(rng: Random) -> Styles:
    n = rng.choice((1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 10, 10, 12, 15, 20, 25, 30, 50, 100))
    text = _SAID["numbers"][n] if n <= 10 and rng.random() < 0.45 else str(n)
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


def _either(one: str, other: str) -> Maker:
    """One of two words of the form, in one of its wordings."""

    def made(rng: Random) -> Styles:
        form = one if rng.random() < 0.5 else other
        return {"": Spoken(_say(form, rng), form)}

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
    "cmp": _either("over", "under"),
    "op": _comparison_of_two,
    "sort": _either("highest", "lowest"),
    "gender": _gender,
    "agefrom": _age_from,
    "agerange": _age_range,
    "agelow": _one_of(18, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70),
    "n_more": _n_more,
    "volume": _volume,
    "dur": _duration,
    "num": lambda rng: {"": decimal(float(rng.randint(1, 300)), rng)},
}
