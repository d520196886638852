"""The names that people may use for the values of one database, and which value each means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.text2sql.linking.aliases import HEAD, aliases, words
from ehrqa_cli.text2sql.linking.synonyms import Concept, concepts
from ehrqa_cli.words.lists import everyday_words

# a name of the type written first is meant where nothing in the question decides
KINDS = (
    "drug", "lab", "dx", "proc", "vital", "specimen", "mtest", "organism", "intake", "output",
    "careunit", "dischloc", "admloc", "admtype", "insurance", "marital", "language", "route",
)  # fmt: skip
# known to be a drug or a lab: its absence from the database is worth saying
_REPORTED = frozenset({"drug", "lab"})
# What a curated line's type may be in a database: what is infused in the ICU is an intake.
_ALSO = {"drug": ("drug", "intake")}
# One thing has several names: diagnoses and procedures are coded by ICD-9 or ICD-10, and what comes
# out is charted by its way.
_CODED = frozenset({"dx", "proc", "output"})
_CERTAIN, _PER_PENALTY, _ALONE, _LEAST, _CHOSEN = 0.99, 0.01, 0.95, 0.85, 0.8


@dataclass(frozen=True)
class Name:
    """A value that a phrase may mean; ``penalty`` counts what the phrase leaves out of it.

    ``loose``: one of those that only begin alike ("coronary bypass of ...").
    """

    value: str
    penalty: int
    loose: bool = False


@dataclass(frozen=True)
class Meaning:
    """The value meant. ``chosen``: by rule among values that fit as well."""

    value: str
    quality: float
    penalty: int
    chosen: bool = False


class Names:
    """Phrases (words joined by a space) to what they may mean, by type.

    Of several values the plainest is meant (least penalty). Among equally plain diagnoses or
    procedures, which are mostly the ICD-9 and the ICD-10 title of one thing, the rule is: no
    "other ...", then the shorter title, then the one that says "unspecified", then the order of
    the curated list; quality says that others fit as well. Of anything else no one is chosen.
    """

    def __init__(self, index: ValueIndex, everyday: Iterable[tuple[str, str, str]] = ()) -> None:
        self._names: dict[str, dict[str, list[Name]]] = {}
        self.missing: dict[str, str] = {}
        self._listed: dict[tuple[str, str], list[str]] = {}
        self._strings = {kind: index.strings.get(kind, ()) for kind in KINDS}
        heads: list[tuple[str, str, str]] = []
        for kind in KINDS:
            for value in self._strings[kind]:
                for alias, penalty in aliases(kind, value):
                    if penalty == HEAD:
                        heads.append((kind, alias, value))
                    else:
                        self._add(kind, alias, value, penalty)
        self._curate()
        for kind, name, value in everyday:
            self._add(kind, " ".join(words(name)), value, 0)
        self._add_heads(heads)

    def __iter__(self) -> Iterator[str]:
        yield from self._names
        yield from self.missing

    def __contains__(self, phrase: str) -> bool:
        return phrase in self._names or phrase in self.missing

    def kinds(self, phrase: str) -> dict[str, list[Name]]:
        """The values that ``phrase`` may mean, by type."""
        return self._names.get(phrase, {})

    def meaning(self, kind: str, phrase: str) -> Meaning | None:
        """What ``phrase`` means as a ``kind``; None where several are meant as well."""
        names = self.plainest(kind, phrase)
        if not names:
            return None
        penalty = names[0].penalty
        if len(names) == 1:
            alone = len(self._names[phrase][kind]) == 1 and penalty < HEAD
            least = _ALONE if alone else _LEAST
            quality = max(least, _CERTAIN - _PER_PENALTY * penalty)
            return Meaning(names[0].value, round(quality, 3), penalty)
        if kind not in _CODED or any(name.loose for name in names):
            return None
        order = sorted(range(len(names)), key=lambda place: (_plainness(names[place].value), place))
        return Meaning(names[order[0]].value, _CHOSEN, penalty, chosen=True)

    def listed(self, kind: str, phrase: str) -> list[str]:
        """What the lists give for a phrase, though it be the whole name of one: "hypokalemia" is
        also the ICD-9 title "hypopotassemia"."""
        return self._listed.get((kind, phrase), [])

    def plainest(self, kind: str, phrase: str) -> list[Name]:
        """The values of least penalty, in the order they were added."""
        names = self._names.get(phrase, {}).get(kind, [])
        least = min((name.penalty for name in names), default=0)
        return [name for name in names if name.penalty == least]

    def _add(self, kind: str, alias: str, value: str, penalty: int, loose: bool = False) -> None:
        names = self._names.setdefault(alias, {}).setdefault(kind, [])
        if all(name.value != value for name in names):
            names.append(Name(value, penalty, loose))

    def _add_heads(self, heads: list[tuple[str, str, str]]) -> None:
        """The first words of a title, where only one title of the database begins so."""
        found: dict[tuple[str, str], set[str]] = {}
        for kind, alias, value in heads:
            found.setdefault((kind, alias), set()).add(value)
        for (kind, alias), values in found.items():
            if len(values) == 1 and alias not in self._names:
                self._add(kind, alias, values.pop(), HEAD)

    def _curate(self) -> None:
        resolved = [
            (kind, concept, self._values(kind, concept))
            for concept in concepts()
            for kind in _ALSO.get(concept.kind, (concept.kind,))
        ]
        known: dict[Concept, bool] = {}
        for kind, concept, values in resolved:
            known[concept] = known.get(concept, False) or bool(values)
            for phrase in concept.phrases:
                self._listed.setdefault((kind, phrase), []).extend(name.value for name in values)
            for phrase in concept.phrases:
                if len(self.plainest(kind, phrase)) == 1:
                    continue  # the database has a plain name of its own
                worst = max((name.penalty for name in values), default=0)
                for name in values:
                    self._add(kind, phrase, name.value, worst, name.loose)
        for concept, found in known.items():
            if not found and concept.kind in _REPORTED:
                own = (concept.targets[0][0],) if concept.kind == "drug" else ()
                for phrase in (*concept.phrases, *own):
                    if phrase not in self._names and phrase not in everyday_words():
                        self.missing.setdefault(phrase, concept.kind)

    def _values(self, kind: str, concept: Concept) -> list[Name]:
        """The values of the first alternative that this database has."""
        for group in concept.targets:
            values: dict[str, Name] = {}
            for target in group:
                for name in self._target(kind, target):
                    values.setdefault(name.value, name)
            if values:
                return list(values.values())
        return []

    def _target(self, kind: str, target: str) -> Iterable[Name]:
        if not target.endswith("*"):
            return self.plainest(kind, target)
        start = target[:-1].rstrip()
        strings = self._strings[kind]
        return [Name(v, 0, True) for v in strings if " ".join(words(v)).startswith(start)]


def _plainness(title: str) -> tuple[bool, int, bool]:
    found = words(title)
    return (found[:1] == ["other"], len(found), "unspecified" not in found)
