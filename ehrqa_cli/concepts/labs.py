"""Laboratory tests: one concept for each analyte and specimen, and panels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from ehrqa_cli.concepts import measured
from ehrqa_cli.concepts.lab_names import (
    BLOOD,
    GAS,
    Analyte,
    analytes,
    fluid_phrases,
    identity,
    read,
    specific_labels,
)
from ehrqa_cli.concepts.names import fold, key, unique
from ehrqa_cli.contracts.concepts import Concept, Item
from ehrqa_cli.words.lists import everyday_words

SOURCE = "concepts/data/analytes.tsv"
_MARKS, _FEW = 6, 3  # of an analyte's phrases are joined with a specimen's; few where it has none
Sorted = dict[str, dict[str, list[Item]]]  # analyte: specimen: items


def resolve(items: Sequence[Item]) -> list[Concept]:
    """The laboratory tests of a record, and those that are known and do not occur there."""
    known, own = _sort(items)
    single = [analyte for analyte in analytes().values() if analyte.made != "all"]
    panels = [analyte for analyte in analytes().values() if analyte.made == "all"]
    for name, places in own.items():
        fluids = sorted(places, key=lambda fluid: -sum(item.rows for item in places[fluid]))
        phrases = (name,) if len(name) > 1 else (f"{name} level",)
        single.append(Analyte(name, phrases, tuple(fluids[:1])))
        known[name] = places
    concepts = [concept for one in single for concept in _of_analyte(one, known).values()]
    return _with_labels(concepts) + [_panel(panel, known) for panel in panels]


def meant(items: Sequence[Item]) -> tuple[Item, ...]:
    """Of the items of a concept that stands ``alone``: the first, and those that share its label,
    specimen and category, or in LOINC's names its property ("[Mass/volume]") and specimen."""
    return tuple(item for item in items if identity(item) == identity(items[0]))


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
        elif rest:
            own[rest][fluid or BLOOD].append(item)
    return known, own


def _of_analyte(analyte: Analyte, known: Sorted) -> dict[str, Concept]:
    """The concepts of an analyte by specimen, its home first."""
    places = known.get(analyte.name, {})
    if analyte.made == "any":
        return {analyte.home: _union(analyte, known)}
    if analyte.made == "or":
        places = _or(analyte, places, known.get(analyte.parts[0], {}))
    blood = _blood_items(analyte, places)
    present = [BLOOD] * bool(blood) + [
        fluid for fluid in places if fluid not in (BLOOD, GAS) and places[fluid]
    ]
    home = BLOOD if analyte.home == GAS else analyte.home
    bare = [home] if home in present else present or [home]
    concepts = {}
    for fluid in dict.fromkeys([home, *present, *(f for f in analyte.fluids if f != GAS)]):
        members = blood if fluid == BLOOD else _in_order(places.get(fluid, ()))
        only_gas = fluid == BLOOD and _is_gas(members, places, analyte)
        marks = (BLOOD, GAS) if only_gas else (fluid,)
        concepts[fluid] = _concept(analyte, fluid, members, marks, bare=fluid in bare)
        if fluid == BLOOD and not only_gas and (places.get(GAS) or GAS in analyte.fluids):
            gas = _in_order(places.get(GAS, ()))
            concepts[GAS] = _concept(analyte, GAS, gas, (GAS,), bare=False)
    return concepts


def _or(
    analyte: Analyte, places: dict[str, list[Item]], other: dict[str, list[Item]]
) -> dict[str, list[Item]]:
    """``places``, and those of ``other`` where it has nothing; a blood gas is blood."""
    barred = set(places) | ({BLOOD, GAS} if places.get(BLOOD) or places.get(GAS) else set())
    blood = {BLOOD, GAS} if {BLOOD, GAS} & set(analyte.fluids) else set()
    wanted = (set(analyte.fluids) | blood) - barred
    return {**{fluid: items for fluid, items in other.items() if fluid in wanted}, **places}


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
        phrases += _marked(analyte, mark, _MARKS if items else _FEW)
    words = fluid_phrases()[fluid][0]
    name = analyte.name if bare else f"{analyte.name}, {words}"
    return Concept(
        "lab", name, unique(phrases), items, f"{analyte.name} in {words}", SOURCE, alone=True
    )


def _marked(analyte: Analyte, fluid: str, most: int) -> list[str]:
    """Phrases that name the specimen: "csf glucose", "glucose in csf"."""
    few = analyte.phrases[:1] if len(analyte.fluids) == 1 and fluid == BLOOD else analyte.phrases
    said = {word for words in fluid_phrases().values() for word in words}
    made = []
    for phrase in few[:most]:
        if said.isdisjoint(fold(phrase).split()):
            for words in fluid_phrases()[fluid]:
                made += [f"{words} {phrase}", f"{phrase} in {words}"]
    plain = {fold(own) for own in analyte.phrases}
    return [form for form in made if fold(form) in plain or fold(form) not in _plain_phrases()]


@lru_cache(maxsize=1)
def _plain_phrases() -> frozenset[str]:
    return frozenset(fold(phrase) for one in analytes().values() for phrase in one.phrases)


def _level(phrase: str) -> str:
    return (
        phrase if phrase.split()[-1] in ("level", "count", "screen", "test") else f"{phrase} level"
    )


def _union(analyte: Analyte, known: Sorted) -> Concept:
    members = list(_blood_items(analyte, known.get(analyte.name, {})))
    for part in analyte.parts:
        members += meant(next(iter(_of_analyte(analytes()[part], known).values())).items)
    return _joined(analyte, members)


def _panel(panel: Analyte, known: Sorted) -> Concept:
    home = BLOOD if panel.home == GAS else panel.home
    members: list[Item] = []
    for part in panel.parts:
        concept = _of_analyte(analytes()[part], known).get(home)
        if concept:
            members += meant(concept.items) if concept.alone else concept.items
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
        several=True,
    )


def _with_labels(concepts: list[Concept]) -> list[Concept]:
    """``concepts`` with the names of their items as phrases, each with the one that fits it best.

    Left out are names that hold within one specimen only ("blood" in urine), and words that ask.
    """
    claimed = {phrase for concept in concepts for phrase in concept.phrases}
    claimed |= specific_labels() | everyday_words()
    best: dict[str, tuple[tuple[int, int, int], int]] = {}
    for place, concept in enumerate(concepts):
        for item in concept.items:
            label = fold(item.name)
            if len(label) > 1 and label not in claimed:
                alike = len(key(label) & key(concept.name))
                fit = (-alike, len(concept.items), -item.rows)
                best[label] = min(best.get(label, (fit, place)), (fit, place))
    found = list(concepts)
    for label, (_, place) in best.items():
        found[place] = replace(found[place], phrases=(*found[place].phrases, label))
    return found
