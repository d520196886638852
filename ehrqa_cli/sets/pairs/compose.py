"""Free compositions of the grammar: who, what, in relation to what, when, how often.

A composition is a template made on the spot: a wording and a form with the same slots. Filters
are written in the one order that the grammar has (docs/logical-form.md).
"""

from __future__ import annotations

import random
from collections.abc import Callable

from ehrqa_cli.sets.data import table
from ehrqa_cli.sets.pairs.events import EVENTS, NAMED, WHO, WHO_WEIGHTS

Made = tuple[str, str, str]
"""A wording, a form with the same slots, and the context of its time filters."""

_SAID = table("pairs/words/compose")


def _filled(wording: str, **parts: str) -> str:
    """A wording with its parts in it."""
    for name, text in parts.items():
        wording = wording.replace(f"%{name}%", text)
    return wording


class Composer:
    """Draws compositions with one random source."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._shapes: tuple[tuple[Callable[[], Made], int], ...] = (
            (self._group, 30),
            (self._top, 16),
            (self._measure_of_group, 9),
            (self._cost_of_group, 6),
            (self._value_of_patient, 12),
            (self._did_patient, 10),
            (self._names_of_patient, 9),
            (self._count_of_patient, 6),
            (self._more_than, 7),
            (self._both, 6),
        )

    def compose(self) -> Made:
        """One composition."""
        shapes, weights = zip(*self._shapes, strict=True)
        made: Made = self._rng.choices(shapes, weights)[0]()
        return made

    def _event(self, number: str = "", *, without: tuple[str, ...] = ()) -> dict[str, str]:
        """A random event's texts and form, with its slots numbered."""
        names = [name for name in EVENTS if name not in without]
        name = self._rng.choices(names, [EVENTS[n].weight for n in names])[0]
        phrase = EVENTS[name]
        texts = ("form", "past", "never", "base", "noun")
        found = {text: getattr(phrase, text).replace("@", number) for text in texts}
        return {**found, "name": name}

    def _who(self) -> tuple[str, str]:
        return self._rng.choices(WHO, WHO_WEIGHTS)[0]

    def _say(self, name: str, **parts: str) -> str:
        return _filled(self._rng.choice(_SAID[name]), **parts)

    def _relation(self, other: dict[str, str]) -> tuple[str, str]:
        """Words to put after the event, and the filter."""
        roll = self._rng.random()
        if roll < 0.58:
            name = "after" if roll < 0.38 else "before"
            return f"[tw] {self._say(name)} {other['noun']}", f"{name} ( {other['form']} ) [tw]"
        if roll < 0.8:
            also, related = self._say("also"), f"with ( {other['form']} )"
            if self._rng.random() < 0.5:
                return f"{also} {other['past']} [tw:time]", f"{related} [tw:time]"
            return f"{also} {other['past']}", related
        return f"{self._say('but')} {other['never']}", f"without ( {other['form']} )"

    def _group(self) -> Made:
        """How many, or which, patients of some kind had this and that."""
        rng = self._rng
        event = self._event()
        who, filters = self._who()
        relation, related = "", ""
        if rng.random() < 0.6:
            relation, related = self._relation(self._event("2", without=(event["name"],)))
        often = (" [n_times]", " [n_times]") if not relation and rng.random() < 0.3 else ("", "")
        counting = rng.random() < 0.62
        words = self._say("count" if counting else "list", who=who, past=event["past"]) + often[0]
        words = self._timed(f"{words} {relation}", questions=True)
        head = "count_patients" if counting else "patients"
        form = f"{head} {event['form']} {filters} {related} [tg]{often[1]}"
        return words, form, "group"

    def _timed(self, words: str, *, questions: bool = False) -> str:
        """The time last, or first (only before words that stand well after a comma)."""
        if self._rng.random() < 0.15 and questions:
            return f"[tg], {words}"
        return f"{words} [tg]"

    def _top(self) -> Made:
        rng = self._rng
        kind = rng.choice(tuple(NAMED))
        things, verbed = NAMED[kind]
        who, filters = self._who()
        other = self._event("2", without=(kind, "icustay"))
        relation, related = self._relation(other)
        if related.startswith("with"):
            who, relation = f"{who} {_who_also(relation)}", ""
        one = rng.random() < 0.15
        rank = "1" if one else "[n_rank]"
        number = "" if one else "(top |)[n_rank]"
        plain = number.replace("(top |)", "")
        parts = {"who": who, "relation": relation, "things": things, "verbed": verbed}
        words = self._timed(self._say("top", number=number, plain=plain, **parts), questions=True)
        return words, f"top {rank} {kind} {filters} {related} [tg]", "group"

    def _measure_of_group(self) -> Made:
        rng = self._rng
        who, filters = self._who()
        measured, form = rng.choice(_SAID["measured_of_group"])
        related = relation = ""
        if rng.random() < 0.45:
            other = self._event("2", without=("lab_value", "vital_value", "lab", "icustay"))
            relation, related = self._relation(other)
            if related.startswith("with"):
                relation = _who_also(relation)
        words = f"<ask> the [agg] {measured} (of|for|among|in) {who} {relation}"
        return self._timed(words, questions=True), f"[agg] {form} {filters} {related} [tg]", "group"

    def _cost_of_group(self) -> Made:
        who, filters = self._who()
        other = self._event("2", without=("icustay", "lab_value", "vital_value"))
        words = self._say("cost", who=who, noun=other["noun"])
        form = f"[agg]_total bill {filters} involving ( {other['form']} ) [tg]"
        return self._timed(words), form, "group"

    def _single_relation(self) -> tuple[str, str]:
        other = self._event("2", without=("icustay",))
        if self._rng.random() < 0.62:
            return f"[tw] after {other['noun']}", f"after ( {other['form']} ) [tw]"
        word = self._rng.choice(("before", "prior to"))
        return f"[tw] {word} {other['noun']}", f"before ( {other['form']} ) [tw]"

    def _value_of_patient(self) -> Made:
        relation, related = self._single_relation()
        measured, form = self._rng.choice(_SAID["measured_of_one"])
        head, words = self._rng.choice(_SAID["value_of_one"])
        of = "" if "<pts>" in words else "(of|for|in) <pt>"
        wording = f"{words} {measured} {of} {relation} [tg]"
        return wording, f"{head} {form} patient {{p}} {related} [tg]", "visit"

    def _did_patient(self) -> Made:
        event = self._event(without=("icustay",))
        relation, related = self._single_relation()
        often = ("", "")
        if self._rng.random() < 0.35:
            relation = related = ""
            often = (" [n_times]", " [n_times]") if self._rng.random() < 0.4 else often
        none = self._rng.random() < 0.15
        lead = "did <pt> never" if none else "(did <pt>|did <pt> ever|<check> <pt> did)"
        words = f"{lead} {event['base']}{often[0]} {relation}"
        head = "none" if none else "exists"
        form = f"{head} {event['form']} patient {{p}} {related} [tg]{often[1]}"
        return self._timed(words, questions=True), form, "visit"

    def _names_of_patient(self) -> Made:
        kind = self._rng.choice(tuple(NAMED))
        things, verbed = NAMED[kind]
        relation, related = self._single_relation()
        extra = ("", "")
        if kind == "rx" and self._rng.random() < 0.4:
            extra = ("(via|by|through) (the |){route} route", "route {route}")
        elif kind == "organism" and self._rng.random() < 0.4:
            extra = ("in (the |){specimen} (culture|specimen)", "of_specimen {specimen}")
        elif kind == "lab" and self._rng.random() < 0.4:
            state = self._rng.choice(("high", "low", "abnormal"))
            extra = (f"that (were|was) {state}", state)
        parts = {"things": things, "verbed": verbed, "extra": extra[0], "relation": relation}
        words = self._say("names", **parts)
        form = f"name {kind} {extra[1]} patient {{p}} {related} [tg]"
        return self._timed(words, questions=True), form, "visit"

    def _count_of_patient(self) -> Made:
        event = self._event(without=("icustay", "from", "type", "to"))
        relation, related = self._single_relation()
        words = self._say("times", base=event["base"], relation=relation)
        form = f"count {event['form']} patient {{p}} {related} [tg]"
        return self._timed(words, questions=True), form, "visit"

    def _more_than(self) -> Made:
        """Numbers of patients compared, or their difference."""
        first, second = self._event(), self._event("2")
        while second["name"] != first["name"]:
            second = self._event("2")
        who, filters = self._who()
        left = f"( count_patients {first['form']} {filters} [tg] )"
        right = f"( count_patients {second['form']} {filters} [tg] )"
        op, words = self._rng.choice(_SAID["compared"])
        words = _filled(words, who=who, a=first["past"], b=second["past"])
        return self._timed(words), f"{left} {op} {right}", "group"

    def _both(self) -> Made:
        """Two yes-or-no questions about one patient, joined."""
        first, second = self._event(without=("icustay",)), self._event("2", without=("icustay",))
        op = self._rng.choice(("and", "and", "or"))
        between = (
            f"(both |){first['base']} and {second['base']}"
            if op == "and"
            else f"(either |){first['base']} or {second['base']}"
        )
        words = f"(did <pt>|<check> <pt> did|did <pt> ever) {between}"
        left = f"( exists {first['form']} patient {{p}} [tg] )"
        right = f"( exists {second['form']} patient {{p}} [tg] )"
        return self._timed(words, questions=True), f"{left} {op} {right}", "visit"


def _who_also(relation: str) -> str:
    """A relation to another event, said of a group behind its name."""
    bare = relation.removeprefix("and also ").removeprefix("and ")
    return f"who {bare}".replace("who but ", "who ").replace("who yet ", "who ")
