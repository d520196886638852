"""What the name of a laboratory item says: the analyte and the specimen.

Read are names as hospitals write them ("Bilirubin, Total", "Glucose, CSF") and LOINC's long names
("Calcium.ionized [Moles/volume] in Arterial blood", as in OMOP).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ehrqa_cli.concepts.names import fold, key, lists, table
from ehrqa_cli.contracts.concepts import Item

BLOOD, GAS, OTHER = "blood", "gas", "fluid"
# Words of a label that do not change what is measured.
_NOISE = frozenset(
    ("automated", "auto", "manual", "calculated", "calc", "measured", "functional", "quantitative",
     "qualitative", "level", "value", "test", "result", "random", "soft", "old", "new", "x", "1000",
     "screen", "number", "interpreted")
)  # fmt: skip
_LOINC = re.compile(r"^(?P<what>.+?)\s*\[(?P<property>[^\]]+)\]\s*(?P<rest>.*)$")
_SYSTEM = re.compile(r"\s(?:in|of|from|-)\s(?=[A-Za-z0-9])")
_METHOD = re.compile(r"\s(?:by|per)\s.*$")
_PAREN = re.compile(r"\(([^()]*)\)")
_PER_CELLS = re.compile(r"\s*/\s*100 \w+")
_CHALLENGE = re.compile(r"\s*--.*$")


@dataclass(frozen=True)
class Analyte:
    """A record of analytes.tsv; see its head."""

    name: str
    phrases: tuple[str, ...]
    fluids: tuple[str, ...]
    made: str = ""
    parts: tuple[str, ...] = ()

    @property
    def home(self) -> str:
        """The specimen that is meant where none is named."""
        return self.fluids[0] if self.fluids else BLOOD


@lru_cache(maxsize=1)
def analytes() -> dict[str, Analyte]:
    """All analytes and panels by name."""
    found = {}
    for name, phrases, _, fluids, made in table("analytes.tsv", 5):
        how, _, parts = made.partition(":")
        found[name] = Analyte(
            name, (name, *lists(phrases)), lists(fluids) or (BLOOD,), how, lists(parts)
        )
    return found


@lru_cache(maxsize=1)
def fluid_phrases() -> dict[str, tuple[str, ...]]:
    """What people call each specimen: {"csf": ("csf", "spinal fluid", ...)}."""
    return {name: lists(phrases) for name, phrases, _ in table("fluids.tsv", 3)}


def read(item: Item) -> tuple[str, str, str]:
    """The analyte's name ("" if unknown), the specimen ("" if nothing tells it) and the rest of the
    name, without the specimen."""
    fluid = _specimen(item)
    parts = list(_components(item.name))
    for forms in (_forms, _inside):
        for what, said in parts:
            system = said or fluid
            for name in forms(what):
                found = known(name, system)
                if found:
                    return found, system, fold(what)
    if _LOINC.match(item.name):
        what, said = parts[-1]
        return "", said or fluid, fold(what)
    what, said = _without_fluid(item.name)
    return "", said or fluid, f"absolute {what}" if "#" in item.name else what


def _specimen(item: Item) -> str:
    fluid = _fluid_names().get(fold(item.specimen), OTHER) if item.specimen.strip() else ""
    if fluid in ("", BLOOD) and "gas" in fold(item.category).split():
        return GAS
    return fluid


def _components(name: str) -> Iterator[tuple[str, str]]:
    """The parts of ``name`` that can be the analyte, the whole first, with the specimen said."""
    found = _LOINC.match(name)
    if found:
        yield from _loinc(found["what"], found["property"], found["rest"])
        return
    yield name, ""
    for place in reversed(list(_SYSTEM.finditer(name))):
        fluid = _fluid_names().get(fold(_METHOD.sub("", name[place.end() :])))
        if fluid:
            yield name[: place.start()], fluid
    plain, fluid = _without_fluid(name)
    if fluid:
        yield plain, fluid
    if _METHOD.search(name):
        yield from _components(_METHOD.sub("", name))


def _loinc(what: str, property_: str, rest: str) -> Iterator[tuple[str, str]]:
    rest = _CHALLENGE.sub("", rest)
    method = _METHOD.search(" " + rest)
    system = _METHOD.sub("", " " + rest).strip().removeprefix("in ").removeprefix("of ")
    fluid = _fluid_names().get(fold(system), OTHER if system else "")
    if method:
        yield f"{what} {method[0]}", fluid
    kind = property_.lower()
    if "partial pressure" in kind:
        yield f"{what} partial pressure", fluid
    if kind.startswith("#") or "entitic volume" in kind:
        yield f"absolute {what} count", fluid
        yield f"{what} {kind}", fluid
        yield f"{what} count", fluid
    yield what, fluid


def _forms(name: str) -> Iterator[str]:
    """``name``, then with less and less of it."""
    if "#" in name:
        yield f"absolute {name.replace('#', ' ')} count"
        return
    yield name
    bare = _PER_CELLS.sub("", _PAREN.sub(" ", name))
    if bare != name:
        yield bare
    words = [word for word in fold(bare).split() if word not in _NOISE]
    yield " ".join(words)
    if len(words) > 1 and words[-1] in ("percent", "%"):
        yield " ".join(words[:-1])


def _inside(name: str) -> list[str]:
    """The short form that ends ``name``: "(CEA)"."""
    inside = _PAREN.findall(name) if name.endswith(")") and "," not in name else []
    return [words for words in inside[-1:] if len(fold(words).split()) == 1]


def _without_fluid(name: str) -> tuple[str, str]:
    """The folded ``name`` without words of a specimen, and the specimen; "" for none."""
    plain = fold(name)
    for words, fluid in _fluid_words():
        shorter = re.sub(rf"(?<!\S){re.escape(words)}(?!\S)", " ", plain)
        if shorter != plain and shorter.strip():
            return " ".join(shorter.split()), fluid
    return plain, ""


def identity(item: Item) -> tuple[str, ...]:
    """Equal for two items of one analyte that are the same test."""
    found = _LOINC.match(item.name)
    if found:
        analyte, fluid, rest = read(item)
        return analyte or rest, fluid, found["property"].lower()
    return fold(item.name), fold(item.specimen), fold(item.category)


def known(name: str, fluid: str = "") -> str:
    """The analyte that is called ``name`` in that specimen, or in any; "" for none."""
    labels = _labels()
    words = key(name)
    if "absolute" in words and ("", words) not in labels:
        words -= {"count"}
    found = labels.get((fluid, words), "") if fluid else ""
    if not found and fluid == GAS:
        found = labels.get((BLOOD, words), "")
    return found or labels.get(("", words), "")


@lru_cache(maxsize=1)
def _labels() -> dict[tuple[str, frozenset[str]], str]:
    """Analytes by (specimen or "", words of a name). A name or phrase goes before a label."""
    found: dict[tuple[str, frozenset[str]], str] = {}
    records = [record for record in table("analytes.tsv", 5) if not record[4].startswith("all")]
    for column in (0, 1, 2):
        for record in records:
            for entry in lists(record[column]):
                fluid, colon, label = entry.partition(":")
                place = (fluid, key(label)) if colon else ("", key(entry))
                found.setdefault(place, record[0])
    return found


@lru_cache(maxsize=1)
def specific_labels() -> frozenset[str]:
    """Labels that name their analyte within one specimen only: "blood" in urine."""
    entries = (entry for record in table("analytes.tsv", 5) for entry in lists(record[2]))
    return frozenset(fold(entry.partition(":")[2]) for entry in entries if ":" in entry)


@lru_cache(maxsize=1)
def _fluid_names() -> dict[str, str]:
    return {
        fold(words): name
        for name, phrases, labels in table("fluids.tsv", 3)
        for words in (name, *lists(phrases), *lists(labels))
    }


@lru_cache(maxsize=1)
def _fluid_words() -> tuple[tuple[str, str], ...]:
    names = [
        (words, name)
        for name, phrases, _ in table("fluids.tsv", 3)
        for words in (name, *lists(phrases))
        if len(words) > 2
    ]
    return tuple(sorted(names, key=lambda entry: -len(entry[0])))
