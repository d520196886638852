"""Laboratory tests: one concept for each analyte and specimen, and panels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ehrqa_cli.concepts import measured
from ehrqa_cli.concepts.lab_names import (
    BLOOD,
    GAS,
    Analyte,
    analytes,
    fluid_phrases,
    read,
    specific_labels,
)
from ehrqa_cli.concepts.names import fold, unique
from ehrqa_cli.contracts.concepts import Concept, Item
from ehrqa_cli.words.lists import everyday_words

SOURCE = "concepts/data/analytes.tsv"
_MARKS = 6  # of an analyte's phrases are joined with the specimen's
Sorted = dict[str, dict[str, list[Item]]]  # analyte: specimen: items


def resolve(items: Sequence[Item]) -> list[Concept]:
    """The laboratory tests of a record, and those that are known and do not occur there."""
    known, own = _sort(items)
    concepts = [
        concept
        for analyte in analytes().values()
        if analyte.made != "all"
        for concept in _of_analyte(analyte, known)
    ]
    claimed = {phrase for concept in concepts for phrase in concept.phrases}
    for name, places in own.items():
        fluids = sorted(places, key=lambda fluid: -sum(item.rows for item in places[fluid]))
        phrases = (name,) if len(name) > 1 else (f"{name} level",)
        concepts += _of_analyte(Analyte(name, phrases, tuple(fluids[:1])), {name: places})
    concepts = [_with_labels(concept, claimed) for concept in concepts]
    return concepts + [_panel(panel, known) for panel in analytes().values() if panel.made == "all"]


def meant(items: Sequence[Item]) -> tuple[Item, ...]:
    """Of the items of a concept that stands ``alone``: the first, and those with its label, specimen
    and category."""
    if not items:
        return ()
    first = items[0]
    same = (fold(first.name), fold(first.specimen), fold(first.category))
    return tuple(
        item
        for item in items
        if (fold(item.name), fold(item.specimen), fold(item.category)) == same
    )


def _sort(items: Sequence[Item]) -> tuple[Sorted, Sorted]:
    """Items by analyte and specimen: those of known analytes, and the others by their own names."""
    known: Sorted = defaultdict(lambda: defaultdict(list))
    own: Sorted = defaultdict(lambda: defaultdict(list))
    for item in items:
        if item.table != "labevents" or measured.takes(item):
            continue
        name, fluid, rest = read(item)
        if name:
            known[name][fluid or analytes()[name].home].append(item)
        else:
            own[rest][fluid or BLOOD].append(item)
    return known, own


def _of_analyte(analyte: Analyte, known: Sorted) -> list[Concept]:
    places = known.get(analyte.name, {})
    if analyte.made == "any":
        return [_union(analyte, known)]
    if analyte.made == "or":
        places = _or(places, known.get(analyte.parts[0], {}))
    blood = _blood_items(analyte, places)
    present = [BLOOD] * bool(blood) + [
        fluid for fluid in places if fluid not in (BLOOD, GAS) and places[fluid]
    ]
    home = BLOOD if analyte.home == GAS else analyte.home
    bare = [home] if home in present else present or [home]
    concepts = []
    for fluid in dict.fromkeys([home, *present, *(f for f in analyte.fluids if f != GAS)]):
        members = blood if fluid == BLOOD else _in_order(places.get(fluid, ()))
        only_gas = fluid == BLOOD and _is_gas(members, places, analyte)
        marks = (BLOOD, GAS) if only_gas else (fluid,)
        concepts.append(_concept(analyte, fluid, members, marks, bare=fluid in bare))
        if fluid == BLOOD and not only_gas and (places.get(GAS) or GAS in analyte.fluids):
            gas = _in_order(places.get(GAS, ()))
            concepts.append(_concept(analyte, GAS, gas, (GAS,), bare=False))
    return concepts


def _or(places: dict[str, list[Item]], other: dict[str, list[Item]]) -> dict[str, list[Item]]:
    """``places``, and those of ``other`` where it has nothing; a blood gas is blood."""
    has_blood = places.get(BLOOD) or places.get(GAS)
    taken = set(places) | ({BLOOD, GAS} if has_blood else set())
    return {**{fluid: items for fluid, items in other.items() if fluid not in taken}, **places}


def _is_gas(members: Sequence[Item], places: dict[str, list[Item]], analyte: Analyte) -> bool:
    return not places.get(BLOOD) if members else analyte.home == GAS


def _blood_items(analyte: Analyte, places: dict[str, list[Item]]) -> tuple[Item, ...]:
    """Items of blood: the blood gas last, but where it is the usual place of the analyte."""
    blood, gas = places.get(BLOOD, ()), places.get(GAS, ())
    if analyte.home == GAS:
        return _in_order((*blood, *gas))
    return _in_order(blood) + _in_order(gas)


def _in_order(items: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(sorted(items, key=lambda item: (-item.rows, str(item.code))))


def _concept(
    analyte: Analyte, fluid: str, items: tuple[Item, ...], marks: tuple[str, ...], *, bare: bool
) -> Concept:
    phrases: list[str] = []
    if bare:
        phrases += [form for phrase in analyte.phrases for form in (phrase, _level(phrase))]
    for mark in marks:
        phrases += _marked(analyte, mark)
    words = fluid_phrases()[fluid][0]
    name = analyte.name if bare else f"{analyte.name}, {words}"
    return Concept(
        "lab", name, unique(phrases), items, f"{analyte.name} in {words}", SOURCE, alone=True
    )


def _marked(analyte: Analyte, fluid: str) -> list[str]:
    """Phrases that name the specimen: "csf glucose", "glucose in csf"."""
    few = analyte.phrases[:1] if len(analyte.fluids) == 1 and fluid == BLOOD else analyte.phrases
    said = {word for words in fluid_phrases().values() for word in words}
    made = []
    for phrase in few[:_MARKS]:
        if any(fold(word) in said for word in phrase.split()):
            continue
        for words in fluid_phrases()[fluid]:
            made += [f"{words} {phrase}", f"{phrase} in {words}"]
    return made


def _level(phrase: str) -> str:
    return (
        phrase if phrase.split()[-1] in ("level", "count", "screen", "test") else f"{phrase} level"
    )


def _union(analyte: Analyte, known: Sorted) -> Concept:
    members = list(_blood_items(analyte, known.get(analyte.name, {})))
    for part in analyte.parts:
        concepts = _of_analyte(analytes()[part], known)
        members += meant(concepts[0].items)
    return _joined(analyte, members)


def _panel(panel: Analyte, known: Sorted) -> Concept:
    members: list[Item] = []
    for part in panel.parts:
        concepts = _of_analyte(analytes()[part], known)
        fluid = BLOOD if panel.home == GAS else panel.home
        for concept in concepts:
            if concept.about == f"{part} in {fluid_phrases()[fluid][0]}":
                members += meant(concept.items)
            elif analytes()[part].made == "any":
                members += concept.items
    return _joined(panel, members)


def _joined(analyte: Analyte, members: Iterable[Item]) -> Concept:
    about = f"{', '.join(analyte.parts)}"
    return Concept(
        "lab",
        analyte.name,
        unique([form for phrase in analyte.phrases for form in (phrase, _level(phrase))]),
        tuple(dict.fromkeys(members)),
        about,
        SOURCE,
    )


def _is_odd(label: str) -> bool:
    """Is it a name within one specimen only ("blood" in urine), or a word that asks?"""
    return label in specific_labels() or label in everyday_words()


def _with_labels(concept: Concept, claimed: set[str]) -> Concept:
    """``concept`` with the names of its items as phrases, where nothing else is called so."""
    labels = [
        label
        for item in concept.items
        if len(label := fold(item.name)) > 1 and label not in claimed and not _is_odd(label)
    ]
    if not labels:
        return concept
    phrases = unique([*concept.phrases, *labels])
    return Concept(
        concept.kind, concept.name, phrases, concept.items, concept.about, concept.source,
        alone=concept.alone,
    )  # fmt: skip
