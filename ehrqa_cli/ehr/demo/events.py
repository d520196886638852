"""What happens to the demo EHR's patients during a visit, as rows of the EHR's tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ehrqa_cli.ehr.demo.people import AS_OF, Dice, Person, Stay, Visit, minute
from ehrqa_cli.ehr.demo.vocabulary import Drug, Fluid, Lab, Vital, Vocabulary

Row = tuple[object, ...]
_HALF_LIFE_DAYS = 2.0  # of the distance between an abnormal value and the normal one
_DAILY = ("blood count", "chemistry", "minerals")
_ONCE = ("liver", "coagulation", "urine", "differential")
_SELDOM = {"thyroid": 0.2, "lipids": 0.2, "anemia": 0.15, "diabetes": 0.15, "heart": 0.2}
_HOURS_BETWEEN_VITALS = 4


def text(when: datetime | None) -> str | None:
    """A time as the database writes it."""
    return None if when is None else when.isoformat(" ", "seconds")


def _ids(person: Person, visit: Visit) -> tuple[int, int]:
    return person.subject_id, visit.hadm_id


def diagnoses(dice: Dice, words: Vocabulary, person: Person, visit: Visit) -> Iterator[Row]:
    """The main diagnosis, its companions and the long-standing conditions."""
    main, *also = (f"icd10|{code}" for code in visit.story.dx)
    found = [main, *(code for code in also if dice.chance(0.4))]
    found += [code for code in person.chronic if code not in found]
    for code in found:
        if code in words.diagnoses:
            yield (*_ids(person, visit), code, text(visit.start))


def procedures(dice: Dice, words: Vocabulary, person: Person, visit: Visit) -> Iterator[Row]:
    """Procedures of the first days, more of them in intensive care."""
    intensive = any(s.stay_id for s in visit.stays)
    for i, code in enumerate(visit.story.procedures):
        likely = (0.75 if i == 0 else 0.35) * (1.0 if intensive or i == 0 else 0.4)
        at = minute(visit.start + timedelta(hours=dice.between(2, 60)))
        if dice.chance(likely) and at < visit.until and f"icd10|{code}" in words.procedures:
            yield (*_ids(person, visit), f"icd10|{code}", text(at))


def _value(dice: Dice, lab: Lab, start: float | None, days: float) -> float:
    middle, spread = (lab.low + lab.high) / 2, (lab.high - lab.low) / 5
    if start is None:
        drawn = dice.bell(middle, spread)
    else:
        left = 0.5 ** (days / _HALF_LIFE_DAYS)
        off = (start - middle) * left
        drawn = middle + off + dice.bell(0.0, spread / 2 + 0.08 * abs(off))
    floor = -30.0 if lab.low < 0 else 0.0
    ceiling = 100.0 if lab.unit == "%" else drawn
    return round(max(floor, min(drawn, ceiling)), lab.decimals)


def _panels(dice: Dice, visit: Visit, words: Vocabulary, day: int) -> set[str]:
    of_story = dict.fromkeys(words.labs[label].panel for label in visit.story.labs)
    if day == 0:
        return {*_DAILY, *_ONCE, *of_story, *(p for p, s in _SELDOM.items() if dice.chance(s))}
    often = {p for p in of_story if dice.chance(0.5)}
    return {*often, *(p for p in _DAILY if dice.chance(0.8))}


def labs(dice: Dice, words: Vocabulary, person: Person, visit: Visit) -> Iterator[Row]:
    """Blood is taken on arrival and every morning."""
    days = max(1, (visit.until - visit.start).days + 1)
    for day in range(days):
        at = visit.start + timedelta(minutes=40)
        if day:
            morning = (visit.start + timedelta(days=day)).replace(hour=5, minute=0)
            at = morning + timedelta(minutes=dice.whole(0, 90))
        at = minute(at)
        if at <= visit.start or at >= visit.until:
            continue
        panels = _panels(dice, visit, words, day)
        for lab in words.labs.values():
            if lab.panel in panels:
                value = _value(dice, lab, visit.story.labs.get(lab.label), float(day))
                flag = None if lab.low <= value <= lab.high else "abnormal"
                facts = lab.itemid, text(at), value, lab.unit, lab.low, lab.high, flag
                yield (*_ids(person, visit), *facts)


def _ordered(dice: Dice, words: Vocabulary, person: Person, visit: Visit) -> list[Drug]:
    names = [n for n in visit.story.drugs if dice.chance(0.75)]
    names += [n for n in words.everyone if dice.chance(0.45)]
    for code in person.chronic:
        options = words.chronic[code][1]
        if options:
            names.append(options[person.subject_id % len(options)])
    return [words.drugs[name] for name in dict.fromkeys(names)]


def prescriptions(dice: Dice, words: Vocabulary, person: Person, visit: Visit) -> Iterator[Row]:
    """Orders for the reason of the visit, for everyone in hospital, and for old conditions."""
    length = visit.until - visit.start
    for drug in _ordered(dice, words, person, visit):
        begin = visit.start + timedelta(hours=dice.between(1, 14))
        for _ in range(1 if dice.chance(0.75) else 2):
            begin = begin.replace(minute=0, second=0, microsecond=0)
            end = min(begin + length * dice.between(0.2, 1.0), visit.until)
            if begin >= visit.until or begin < visit.start:
                break
            stop = minute(end).replace(minute=0)
            running = visit.end is None and dice.chance(0.7)
            shown = None if running or stop <= begin else text(stop)
            how = f"{dice.pick(drug.doses)}", drug.unit, dice.pick(drug.routes)
            yield (*_ids(person, visit), text(begin), shown, drug.name, *how)
            begin = end + timedelta(hours=dice.between(4, 30))


def _vital_value(dice: Dice, vital: Vital, shift: float | None, progress: float) -> float:
    usual = vital.usual if shift is None else shift + (vital.usual - shift) * progress
    value = dice.bell(usual, vital.spread)
    most = 100.0 if vital.unit == "%" else value
    return round(max(1.0, min(value, most)), vital.decimals)


def chart(dice: Dice, words: Vocabulary, person: Person, visit: Visit) -> Iterator[Row]:
    """Vital signs every four hours of intensive care, weight daily, height once."""
    body = Dice(person.subject_id, "body")
    height = round(body.bell(176 if person.gender == "m" else 163, 7), 0)
    weight = body.bell(27, 5) * (height / 100) ** 2
    for stay in visit.stays:
        if stay.stay_id is None:
            continue
        end, at = stay.end or AS_OF, minute(stay.start + timedelta(minutes=dice.whole(5, 55)))
        step, whole = 0, (end - stay.start).total_seconds()
        while at < end:
            progress = (at - stay.start).total_seconds() / whole
            for vital in words.vitals:
                if vital.label == "height (cm)":
                    value = height if step == 0 else None
                elif vital.label == "daily weight":
                    value = round(weight * dice.bell(1.0, 0.01), 1) if step % 6 == 0 else None
                else:
                    shift = visit.story.vitals.get(vital.label)
                    value = _vital_value(dice, vital, shift, progress)
                if value is not None:
                    facts = stay.stay_id, vital.itemid, text(at), value, vital.unit
                    yield (*_ids(person, visit), *facts)
            step += 1
            at += timedelta(hours=_HOURS_BETWEEN_VITALS)


def _volumes(
    dice: Dice, fluids: tuple[Fluid, ...], stay: Stay, share: float, hours: tuple[int, int]
) -> Iterator[tuple[str | None, Fluid, float]]:
    chosen = [f for i, f in enumerate(fluids) if i == 0 or dice.chance(share)]
    for fluid in chosen:
        at = minute(stay.start + timedelta(hours=dice.between(0.5, 8)))
        while at < (stay.end or AS_OF):
            yield text(at), fluid, round(dice.between(fluid.least, fluid.most) / 5) * 5.0
            at = minute(at + timedelta(hours=dice.between(*hours)))


def intake(dice: Dice, words: Vocabulary, person: Person, visit: Visit) -> Iterator[Row]:
    """Fluids and drips given in intensive care."""
    for stay in visit.stays:
        if stay.stay_id is not None:
            for at, fluid, volume in _volumes(dice, words.intake, stay, 0.35, (6, 20)):
                given = volume, "ml", volume, "ml"  # the whole of every bag
                yield (*_ids(person, visit), stay.stay_id, at, fluid.itemid, *given)


def output(dice: Dice, words: Vocabulary, person: Person, visit: Visit) -> Iterator[Row]:
    """Urine and drains in intensive care."""
    for stay in visit.stays:
        if stay.stay_id is not None:
            for at, fluid, volume in _volumes(dice, words.output, stay, 0.2, (2, 8)):
                yield (*_ids(person, visit), stay.stay_id, at, fluid.itemid, volume, "ml")


def microbiology(dice: Dice, words: Vocabulary, person: Person, visit: Visit) -> Iterator[Row]:
    """Cultures of the first days."""
    for name in visit.story.cultures:
        culture = words.cultures[name]
        for _ in range(dice.whole(0, 2)):
            at = minute(visit.start + timedelta(hours=dice.between(1, 72)))
            grown = dice.pick(culture.organisms)
            if at < visit.until:
                organism = None if grown == "-" else grown
                facts = text(at), culture.specimen, culture.test, organism
                yield (*_ids(person, visit), *facts)


def icustays(person: Person, visit: Visit) -> Iterator[Row]:
    """Stays in intensive care."""
    for stay in visit.stays:
        if stay.stay_id is not None:
            span = text(stay.start), text(stay.end)
            yield (*_ids(person, visit), stay.stay_id, stay.unit, stay.unit, *span)


def transfers(person: Person, visit: Visit) -> Iterator[Row]:
    """Every change of unit, and the discharge."""
    for i, stay in enumerate(visit.stays):
        kind = "ed" if stay.unit == "emergency department" else "admit" if i == 0 else "transfer"
        number = visit.hadm_id * 10 + i
        span = text(stay.start), text(stay.end)
        yield (*_ids(person, visit), number, kind, stay.unit, *span)
    if visit.end is not None:
        number = visit.hadm_id * 10 + len(visit.stays)
        yield (*_ids(person, visit), number, "discharge", None, text(visit.end), None)
