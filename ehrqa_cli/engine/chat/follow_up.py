"""A follow-up made whole: the parts it names put in the place of those of the question before.

Only spans that one thing can stand for are changed, and the linker reads the result again: a value
must be linked where it was put, to a type that fits. What this cannot do safely is left as it was
typed, or needs the whole question. Nothing here decides what an answer is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.engine.chat import elliptic, phrases, reword
from ehrqa_cli.engine.chat.elliptic import Follow
from ehrqa_cli.engine.chat.phrases import NOT_VALUES, Part, Parts
from ehrqa_cli.engine.parts import Linker
from ehrqa_cli.text2sql.linking.tokens import fold

WHOLE = "please ask the whole question"
_ALIKE = ({"lab", "vital"}, {"intake", "output"})
_END = re.compile(r"[\s?.!]*$")


class NeedsWhole(Exception):
    """The follow-up cannot be completed; the text says why."""


@dataclass(frozen=True)
class Before:
    """The question that a follow-up follows: its text as asked, and the patient given with it;
    ``of_notes``: notes answered it."""

    text: str
    patient_id: int | None
    of_notes: bool = False


@dataclass(frozen=True)
class Whole:
    """The whole question, and the patient to give with it where the text names none."""

    text: str
    patient_id: int | None


@dataclass(frozen=True)
class Edit:
    """``text`` in the place of ``[start, end)``."""

    start: int
    end: int
    text: str


def complete(
    typed: str,
    before: Before,
    linker: Linker,
    *,
    patient_id: int | None = None,
    as_of: Callable[[], str],
) -> Whole | None:
    """``typed`` as a whole question; None where it is a question of its own.

    ``patient_id`` is whom the conversation is about. Raises NeedsWhole.
    """
    follow = elliptic.read(typed, linker.link(typed))
    if not _is_follow_up(follow):
        return None
    linked = linker.link(before.text, patient_id=before.patient_id)
    try:
        whole = _Job(follow, before, linked, linker, as_of).whole(patient_id)
        if whole == Whole(before.text, before.patient_id):
            raise NeedsWhole("it would be the same question again")
    except NeedsWhole:
        # Without a word such as "and", it was more likely a question of its own.
        if follow.lead == elliptic.NONE or follow.asking:
            return None
        raise
    return whole


def _is_follow_up(follow: Follow) -> bool:
    if follow.said == 0:
        return follow.pronoun and follow.lead != elliptic.NONE
    if follow.sentence or (follow.asking and follow.patient):
        return False
    if follow.lead == elliptic.NONE:
        # "last creatinine of 10014729" is whole; "last potassium" follows, as does "what was the
        # first?", but not "what was her last potassium?".
        if follow.asking and (follow.value or follow.attribute):
            return False
        return follow.said <= 2 and not (follow.patient and follow.value)
    return True


class _Job:
    """One follow-up and the question before it."""

    def __init__(
        self,
        follow: Follow,
        before: Before,
        linked: LinkedQuestion,
        linker: Linker,
        as_of: Callable[[], str],
    ) -> None:
        self.follow, self.before, self.linked = follow, before, linked
        self.linker, self.as_of = linker, as_of
        self.folded = fold(before.text)
        self.links = [link for link in linked.links if link.how != "option"]
        self.parts: Parts = phrases.find(self.folded, self.links)
        self.edits: list[Edit] = []
        self.tail: list[str] = []
        self.patient_id = before.patient_id

    def whole(self, patient_id: int | None) -> Whole:
        """All that the follow-up says, done to the question before. Raises NeedsWhole."""
        follow = self.follow
        if follow.attribute and not self.parts.attributes and (one := self._person(patient_id)):
            return Whole(f"what is the {follow.attribute} of patient {one}?", None)
        self._patient(patient_id)
        if follow.step:
            self._step()
        if follow.visit is not None:
            self._visit()
        if follow.time:
            self._time()
        if follow.order:
            self._order()
        if follow.female is not None:
            self._sex(follow.female)
        if follow.age:
            self._one("agegrp", follow.age, "patients", " aged {}")
        if follow.top:
            self._one("num", follow.top)
        for name, here in (("attribute", self.parts.attributes), ("listed", self.parts.lists)):
            if word := getattr(follow, name):
                self._swap(here, word, name)
        text = self._value() if follow.value else self._text(self.edits)
        if follow.head:
            text = self._head(text)
        return Whole(text, self.patient_id)

    def _text(self, edits: Sequence[Edit]) -> str:
        text = self.before.text
        end = _END.search(text)
        assert end is not None
        edits = [*edits, *(Edit(end.start(), end.start(), f" {x}") for x in self.tail)]
        for edit in sorted(edits, key=lambda e: e.start, reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text

    def _patient(self, patient_id: int | None) -> None:
        named = [link for link in self.links if "pat" in link.types]
        unknown = [name for kind, name in self.linked.unknown if kind == "pat"]
        new = self.follow.patient
        if not new and self.follow.pronoun and patient_id is not None:
            if not named and self.patient_id is None:
                raise NeedsWhole("the question before was not about one patient")
            new = str(patient_id)
        if not new:
            return
        if len(named) + len(unknown) > 1:
            raise NeedsWhole("the question before is about several patients")
        if named:
            start, end = named[0].start, named[0].end
            prefix = "#" if self.before.text[start] == "#" else ""
            self.edits.append(Edit(start, end, prefix + new))
        elif unknown and (at := self.folded.find(unknown[0])) >= 0:
            self.edits.append(Edit(at, at + len(unknown[0]), new))
        elif self.patient_id is not None:
            self.patient_id = int(new)
        else:
            raise NeedsWhole("the question before was not about one patient")

    def _person(self, patient_id: int | None) -> str:
        """Whom an attribute alone is asked of: who is named, else the conversation's patient."""
        if self.follow.said > 1 + bool(self.follow.patient):
            return ""
        return self.follow.patient or ("" if patient_id is None else str(patient_id))

    def _step(self) -> None:
        """One before or after: of the time, the stay, or the event's own order."""
        unit, step = self.follow.unit, self.follow.step
        if unit in ("year", "month", "day"):
            if len(self.parts.times) > 1:
                raise NeedsWhole("the question before has several times")
            if not self.parts.times:
                if step != phrases.BEFORE or unit == "day":
                    raise NeedsWhole("the question before has no time")
                self.tail.append(f"last {unit}")
                return
            part = self.parts.times[0]
            moved = reword.moved_time(part, self.links, unit, step, self.as_of())
            if moved is None:
                raise NeedsWhole(f"“{part.text.strip()}” has no {unit} to count from")
            self.edits.append(Edit(part.start, part.end, moved))
            return
        orders: list[Part] = []
        if not unit:
            orders = [p for p in self.parts.orders if phrases.is_ordinal(p.text)]
        orders = orders or list(self._stays())
        if len(orders) != 1:
            several = "several" if orders else "no"
            raise NeedsWhole(f"the question before has {several} first, last or the like")
        order = phrases.stepped(orders[0].text, step)
        if order is None:
            where = "before" if step == phrases.BEFORE else "after"
            raise NeedsWhole(f"there is no word for the one {where} “{orders[0].text}”")
        self.edits.append(Edit(orders[0].start, orders[0].end, order))

    def _visit(self) -> None:
        visit = self.follow.visit
        assert visit is not None
        here = self.parts.visits
        if len(here) > 1:
            raise NeedsWhole("the question before has several stays")
        where = visit.where or (here[0].where if here else "") or "hospital"
        order = visit.order or "current"
        text = f"on the {order} {where} visit"
        if not here:
            self.tail.append(text)
        elif not self.folded[here[0].start : here[0].order_start].strip(" the"):
            # A stay that is what the question is about ("how long was the last ICU stay").
            self.edits.append(Edit(here[0].order_start, here[0].order_end, order))
        else:
            self.edits.append(Edit(here[0].start, here[0].end, text))

    def _time(self) -> None:
        here = self.parts.times
        if len(here) > 1:
            raise NeedsWhole("the question before has several times")
        text = self.follow.time
        dates = [x for x in self.links if set(x.types) & phrases.DATES]
        if self.follow.bare_date:
            kept = [x for x in dates if here and here[0].start <= x.start < here[0].end]
            if len(kept) == 1 and here[0].end == kept[0].end:
                self.edits.append(Edit(kept[0].start, kept[0].end, text))
                return
            text = f"{reword.preposition(text, self.linker)} {text}"
        if here:
            self.edits.append(Edit(here[0].start, here[0].end, text))
        else:
            self.tail.append(text)

    def _stays(self) -> tuple[Part, ...]:
        """The order words of the stays."""
        stays = self.parts.visits
        return tuple(Part(v.order_start, v.order_end, v.order) for v in stays if v.order)

    def _order(self) -> None:
        orders = self.parts.orders
        stays = self._stays()
        if len(stays) == 1 and (not orders or self.follow.staying):
            orders = stays
        if len(orders) != 1:
            several = "several" if orders else "no"
            raise NeedsWhole(f"the question before has {several} first, last or the like")
        self.edits.append(Edit(orders[0].start, orders[0].end, self.follow.order))

    def _sex(self, female: bool) -> None:
        here = self.parts.sexes
        if len(here) == 1:
            word = phrases.sex_like(here[0].text, female)
            self.edits.append(Edit(here[0].start, here[0].end, word))
            return
        found = [m.start() for m in re.finditer(r"\bpatients\b", self.folded)]
        if here or len(found) != 1:
            raise NeedsWhole("the question before is not about one group of patients")
        self.edits.append(Edit(found[0], found[0], "female " if female else "male "))

    def _one(self, kind: str, text: str, beside: str = "", form: str = "") -> None:
        """Replace the one link of this kind, or put it after the word ``beside``."""
        here = [x for x in self.links if x.types == (kind,)]
        found = list(re.finditer(rf"\b{beside}\b", self.folded)) if beside else []
        if len(here) == 1:
            self.edits.append(Edit(here[0].start, here[0].end, text))
        elif not here and len(found) == 1:
            self.edits.append(Edit(found[0].end(), found[0].end(), form.format(text)))
        else:
            raise NeedsWhole("the question before has no such number")

    def _swap(self, here: tuple[Part, ...], word: str, name: str) -> None:
        fits = name == "attribute" or not reword.VERB.search(self.folded)
        if len(here) != 1 or not fits:
            raise NeedsWhole(f"the question before does not say where “{word}” belongs")
        self.edits.append(Edit(here[0].start, here[0].end, word))

    def _value(self) -> str:
        """The text with the named value in the place of the one it fits."""
        value, candidates = self.follow.value, []
        for link in self.links:
            if set(link.types) <= NOT_VALUES:
                continue
            edit = Edit(link.start, link.end, value)
            text = self._text([*self.edits, edit])
            start = link.start + sum(
                len(e.text) - (e.end - e.start) for e in self.edits if e.end <= link.start
            )
            linked = self.linker.link(text, patient_id=self.patient_id)
            if _fits(link, linked, start, start + len(value)):
                candidates.append(text)
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise NeedsWhole(f"“{value}” could stand in {len(candidates)} places of it")
        raise NeedsWhole(f"“{value}” does not fit the question before")

    def _head(self, text: str) -> str:
        made = reword.counted(text) if self.follow.head == "count" else reword.timed(text)
        if made is None:
            raise NeedsWhole("the question before cannot be turned round")
        return made


def _fits(old: Link, linked: LinkedQuestion, start: int, end: int) -> bool:
    """Is all of ``[start, end)`` one value of the kind that stood there?"""
    kinds = set(old.types)
    for alike in _ALIKE:
        if kinds & alike:
            kinds |= alike
    # A quotation mark, bracket or sign may be left outside.
    return any(
        start <= link.start <= start + 1 and end - 2 <= link.end and set(link.types) & kinds
        for link in linked.links
    )
