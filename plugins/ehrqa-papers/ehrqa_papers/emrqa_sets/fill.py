"""Questions of one note: types filled from its facts, with evidence lines and answer entities.

Pampari et al. 2018, section 4.3: slots take annotated entities, cleaned so that the question reads
well; the answer is the whole line of the annotation, with the entity that is asked for where one
is; mentions of one thing (co-reference) are asked about together.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ehrqa_papers.emrqa_sets.facts import AnnotatedNote, Fact, Lines, Mention
from ehrqa_papers.emrqa_sets.templates import NUMBER, Type, filled, types

Plain = dict[str, Any]
SINGLE, COMPLEX, EMPTY = "single", "complex", "empty"
_FAR = 2  # lines between slot and answer up to which they are one piece of evidence
_LEADING = re.compile(
    r"^(?:(?:(?:his|her|their) own|the patient's|patient's|the|a|an|his|her|their|its|this|that|"
    r"these|those|any|some)\s+)+",
    re.I,
)
_PRONOUNS = frozenset({
    "it", "this", "that", "these", "those", "they", "them", "he", "she", "him", "her", "his",
    "which", "who", "one", "both", "all", "any", "the", "patient", "such",
})  # fmt: skip
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LONGEST = 8  # words of an entity that still reads well in a question


@dataclass(frozen=True)
class Gold:
    """One answer: lines ``first`` to ``last`` of the note, and the entities in them."""

    first: int
    last: int
    entities: tuple[Mention, ...]


def clean(text: str) -> str | None:
    """An annotated entity as a question may name it: lower case, without an article or a
    possessive before it; None where it names nothing ("it") or would not read well."""
    words = _LEADING.sub("", " ".join(text.lower().split())).strip(" ,.;:")
    if not words or words in _PRONOUNS or len(words.split()) > _LONGEST:
        return None
    if words.count("(") != words.count(")") or "|" in words or not re.search(r"[a-z\d]", words):
        return None
    return words


def questions(note: AnnotatedNote, seed: int, most: int) -> Iterator[Plain]:
    """Every question of a note, types in their order: records with the wordings, the form, and
    the answers; ``answers`` is None where the annotations give none, or over ``most`` lines."""
    same = _same(note.chains)
    for one in types():
        if one.title != note.title:
            continue
        if one.labels:
            yield from _labelled(one, note)
        elif not one.facts:
            yield _record(one, {}, None)
        else:
            yield from _of_type(one, note, same, (seed, most))


def _labelled(one: Type, note: AnnotatedNote) -> Iterator[Plain]:
    for asked, label in sorted(note.labels.items()):
        values = dict.fromkeys(one.slots, asked)
        answer = {"text": label, "evidence": "", "evidence_start": None, "answer_start": None,
                  "answer_entity_type": "class"}  # fmt: skip
        yield _record(one, values, [answer])


def _of_type(
    one: Type,
    note: AnnotatedNote,
    same: Callable[[Mention], str | None],
    how: tuple[int, int],
) -> Iterator[Plain]:
    seed, most = how
    lines = Lines(note.text)
    for values, facts in _by_slots(one, note.facts, same):
        golds: dict[tuple[Any, ...], Gold] = {}
        number = _threshold(one, facts, random.Random(f"{seed} {note.note_id} {one.key}"))
        if one.above and number is None:
            continue
        for fact in facts:
            if number is not None and not _exceeds(fact, one.above, number):
                continue
            gold = _gold(one, fact)
            if gold is not None:
                mark = (gold.first, gold.last, tuple(m.text.lower() for m in gold.entities))
                golds.setdefault(mark, gold)
        shown = values if number is None else {**values, NUMBER: str(number)}
        ordered = sorted(golds.values(), key=lambda g: (g.first, g.last, _tokens(g)))
        pieces = {(g.first, g.last) for g in ordered}
        answers = [_answer(g, lines) for g in ordered] if 0 < len(pieces) <= most else None
        record = _record(one, shown, answers)
        if len(pieces) > most:
            record["too_many"] = len(pieces)
        yield record


def _by_slots(
    one: Type, facts: Sequence[Fact], same: Callable[[Mention], str | None]
) -> Iterator[tuple[dict[str, str], list[Fact]]]:
    """The facts of the type's kinds by what its slots would name, in the order of the note."""
    names: dict[tuple[str, ...], dict[str, str]] = {}
    found: dict[tuple[str, ...], list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.kind not in one.facts or any(slot not in fact.roles for slot in one.slots):
            continue
        named = {slot: clean(fact.roles[slot].text) for slot in one.slots}
        keys = tuple(same(fact.roles[slot]) or f"={named[slot] or ''}" for slot in one.slots)
        if any(key == "=" for key in keys):
            continue
        found[keys].append(fact)
        shown = {slot: name for slot, name in named.items() if name}
        if len(shown) == len(one.slots):
            names.setdefault(keys, shown)
    for keys, own in found.items():
        if keys in names:  # else it is called "it" throughout
            yield names[keys], own


def _same(chains: Sequence[Sequence[Mention]]) -> Callable[[Mention], str | None]:
    """The number of the chain that a mention stands in."""
    places: dict[tuple[int, int, str], str] = {}
    for number, chain in enumerate(chains):
        for mention in chain:
            places.setdefault((mention.first, mention.token, mention.text), f"#{number}")
    return lambda m: places.get((m.first, m.token, m.text)) if m.placed else None


def _gold(one: Type, fact: Fact) -> Gold | None:
    if any(role not in fact.roles for role in one.answer):
        return None
    entities = tuple(fact.roles[role] for role in one.answer)
    asked = [fact.roles[slot] for slot in one.slots if fact.roles[slot].placed]
    # Without an entity the line of what is asked about answers, or that of the annotation.
    shown = [m for m in (*entities, *asked) if m.placed] or [
        m for m in fact.roles.values() if m.placed
    ]
    if not shown:
        return None
    first, last = min(m.first for m in shown), max(m.last for m in shown)
    own = [m for m in entities if m.placed]
    if own and last - first > _FAR:
        first, last = min(m.first for m in own), max(m.last for m in own)
    return Gold(first, last, entities)


def _tokens(gold: Gold) -> tuple[int, ...]:
    return tuple(m.token for m in gold.entities)


def _threshold(one: Type, facts: Sequence[Fact], rng: random.Random) -> int | None:
    """A whole number that at least one of the values exceeds."""
    if not one.above:
        return None
    found = sorted({v for fact in facts if (v := _value(fact, one.above)) is not None})
    if not found:
        return None
    drawn = rng.choice(found)
    below = int(drawn) - 1 if drawn == int(drawn) else int(drawn)
    return below // 10 * 10 if below >= 50 else below


def _exceeds(fact: Fact, role: str | None, number: int) -> bool:
    value = _value(fact, role or "")
    return value is not None and value > number


def _value(fact: Fact, role: str) -> float | None:
    """The first number of a value that is more than its name: the 7.9 of "A1c 7.9"."""
    text = fact.roles[role].text if role in fact.roles else ""
    found = _NUMBER.search(re.sub(r"(?i)\b(?:hb|hgb)?a1c\b|\d+/\d+/\d+", " ", text))
    return float(found[0]) if found else None


def _answer(gold: Gold, lines: Lines) -> Plain:
    texts = [m.text for m in gold.entities]
    kind = (EMPTY, SINGLE)[len(texts)] if len(texts) < 2 else COMPLEX
    first = gold.entities[0] if gold.entities else None
    return {
        "text": texts[0] if len(texts) == 1 else texts if texts else "",
        "evidence": lines.between(gold.first, gold.last),
        "evidence_start": lines.start(gold.first),
        "answer_start": [first.first + 1, first.token] if first and first.placed else None,
        "answer_entity_type": kind,
    }


def _record(one: Type, values: Mapping[str, str], answers: list[Plain] | None) -> Plain:
    shown = dict(values)
    return {
        "question": [filled(wording, shown) for wording in one.wordings],
        "template": list(one.wordings),
        "form": filled(one.form, shown),
        "form_template": one.form,
        "answers": answers,
    }
