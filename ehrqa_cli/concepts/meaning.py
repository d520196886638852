"""What the words of a question mean in one record: phrases, the concepts they name, their items.

Made once a database by the resolvers of this room (docs/concepts.md) and kept, by its fingerprint,
in a private cache. Only the concepts that a question names are looked at afterwards.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.concepts.catalog import KIND_OF, read_items
from ehrqa_cli.contracts.concepts import Concept, Item
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.ehr.value_index import stems

if TYPE_CHECKING:
    from ehrqa_cli.concepts.own import OwnFile

# Each has resolve(items) -> concepts. Where two give one kind the same phrase, the first means it
# if it holds all of the other's items; else the phrase has two meanings.
RESOLVERS = ("drugs", "diagnoses", "labs", "measured", "micro", "procedures", "places")
_FORMAT = 2
_HERE = Path(__file__).parent
_WORD = re.compile(r"[^\W_]+")
_GENITIVE = re.compile(r"(?<=\w)['\u2019]s\b")
LONGEST = 12  # words of a phrase
_PLURAL_LETTERS = 4


class Meanings:
    """The concepts of one record."""

    def __init__(self, items: Sequence[Item], concepts: Iterable[Concept]) -> None:
        places = {item: place for place, item in enumerate(items)}
        self._items = list(items)
        self._made = [_plain(c, [places[item] for item in c.items]) for c in concepts]
        self._phrases: dict[str, list[int]] = {}
        for number, made in enumerate(self._made):
            for phrase in dict.fromkeys(map(folded, made[2])):
                self._phrases.setdefault(phrase, []).append(number)

    @classmethod
    def load(cls, path: Path) -> Meanings:
        """Those that `save` wrote. Raises OSError, ValueError, KeyError or TypeError."""
        data = json.loads(path.read_text(encoding="utf-8"))
        self = cls([], [])
        self._items = [Item(*fields) for fields in data["items"]]
        self._made, self._phrases = data["concepts"], data["phrases"]
        return self

    def save(self, path: Path) -> None:
        """Write them into a file that only its owner may read. Raises OSError."""
        data = {
            "items": [astuple(item) for item in self._items],
            "concepts": self._made,
            "phrases": self._phrases,
        }
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file)
        os.replace(name, path)

    def _concept(self, number: int) -> Concept:
        kind, name, phrases, _, about, source, alone, several, places = self._made[number]
        items = tuple(self._items[place] for place in places)
        return Concept(kind, name, tuple(phrases), items, about, source, alone, several)

    def named(self, phrase: str) -> list[Concept]:
        """Every concept that has this phrase, in any case, punctuation and number."""
        words = folded(phrase)
        for reading in (words, *_singulars(words)):
            if reading in self._phrases:
                return [self._concept(number) for number in self._phrases[reading]]
        return []

    def knows(self, words: str) -> bool:
        """Whether words that are folded already are a phrase of some concept."""
        return any(reading in self._phrases for reading in (words, *_singulars(words)))

    @cached_property
    def by_phrase(self) -> Mapping[str, Sequence[Concept]]:
        """The concepts by phrase, made as they are looked at."""
        return _ByPhrase(self)

    def of_kind(self, kind: str) -> list[Item]:
        """Every item of a kind."""
        return self._of_kind.get(kind, [])

    @cached_property
    def _of_kind(self) -> dict[str, list[Item]]:
        found: dict[str, list[Item]] = {}
        for item in self._items:
            found.setdefault(_kind(item), []).append(item)
        return found

    def has(self, kind: str) -> bool:
        """Whether the record has anything of this kind."""
        return kind in self._of_kind

    def of_name(self, kind: str, name: str) -> Concept:
        """The items of one name, which are meant by it and nothing else."""
        wanted = name.lower()
        found = self._by_name.get((kind, wanted), [])
        return Concept(kind, name, (), tuple(found), source="this record")

    def of_words(self, kind: str, words: Iterable[str], name: str) -> Concept:
        """The items whose names hold all of these stems."""
        wanted = set(words)
        found = [i for i in self.of_kind(kind) if wanted <= set(stems(i.name))]
        return Concept(kind, name, (), _most_first(found), source="its words")

    def find(self, phrase: str, kind: str | None = None) -> list[Concept]:
        """What a phrase means, those with items first; where it is no phrase of ours, the items
        that hold its words."""
        found = self.named(phrase)
        if not found:
            kinds = dict.fromkeys(KIND_OF.values())
            found = [c for k in kinds if (c := self.of_words(k, stems(phrase), phrase)).items]
        found = [c for c in found if kind in (None, c.kind)]
        return sorted(found, key=lambda concept: not concept.items)

    def items(self, words: str) -> list[Item]:
        """Everything whose name holds all of the words, the commonest first."""
        wanted = set(stems(words))
        return list(_most_first([i for i in self._items if wanted <= set(stems(i.name))]))

    def with_own(self, files: Iterable[OwnFile]) -> Meanings:
        """These with a user's own over them. Raises UsageError for a change of a concept that there
        is not."""
        from ehrqa_cli.concepts.own import apply

        owns = [own for file in files for own in file.concepts]
        if not owns:
            return self
        every = map(self._concept, range(len(self._made)))
        return Meanings(self._items, apply(every, owns, self._items))

    def phrases(self) -> Iterator[str]:
        """Every phrase of a concept."""
        return iter(self._phrases)

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[Item]]:
        found: dict[tuple[str, str], list[Item]] = {}
        for item in self._items:
            found.setdefault((_kind(item), item.name.lower()), []).append(item)
        return found


def _plain(concept: Concept, places: list[int]) -> list[Any]:
    """A concept as the cache has it, with the places of its items."""
    c = concept
    return [c.kind, c.name, c.phrases, (), c.about, c.source, c.alone, c.several, places]


class _ByPhrase(Mapping[str, Sequence[Concept]]):
    def __init__(self, meanings: Meanings) -> None:
        self._meanings = meanings

    def __getitem__(self, phrase: str) -> Sequence[Concept]:
        found = self._meanings.named(phrase)
        if not found:
            raise KeyError(phrase)
        return found

    def __iter__(self) -> Iterator[str]:
        return self._meanings.phrases()

    def __len__(self) -> int:
        return sum(1 for _ in self._meanings.phrases())


def _kind(item: Item) -> str:
    return KIND_OF.get((item.table, item.column), "")


def _most_first(items: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(sorted(items, key=lambda item: (-item.rows, item.name)))


def folded(text: str) -> str:
    """The words of a text: lower case, joined by single spaces, without a genitive's s."""
    return " ".join(_WORD.findall(_GENITIVE.sub("", text.lower())))


def _singulars(words: str) -> Iterator[str]:
    if len(words) < _PLURAL_LETTERS or not words.endswith("s") or words.endswith("ss"):
        return
    yield words[:-1]
    if words.endswith("ies"):
        yield words[:-3] + "y"
    elif words.endswith("es"):
        yield words[:-2]


def build(items: Sequence[Item]) -> Meanings:
    """The concepts of a record that has these items."""
    found: list[Concept] = []
    for name in RESOLVERS:
        found += import_module(f"ehrqa_cli.concepts.{name}").resolve(items)
    return Meanings(items, found)


def open_meanings(database: Database, own: Iterable[OwnFile] = ()) -> Meanings:
    """The concepts of a database, from the cache where it is there, and ``own`` ones over them.

    Raises DatabaseError, and UsageError for own ones that do not fit.
    """
    return _of_record(database).with_own(own)


def _of_record(database: Database) -> Meanings:
    path = _cache_path(database.fingerprint())
    try:
        return Meanings.load(path)
    except (OSError, ValueError, KeyError, TypeError):
        made = build(read_items(database))
    with suppress(OSError):  # a disk that is full or read-only costs time next time, nothing else
        made.save(path)
    return made


def _cache_path(fingerprint: str) -> Path:
    from platformdirs import user_cache_path

    files = [*_HERE.glob("*.py"), *_HERE.glob("data/*")]
    made_of: list[Any] = [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    text = f"{_FORMAT}:{fingerprint}:{sorted(made_of)}"
    name = hashlib.sha256(text.encode()).hexdigest()[:32]
    return user_cache_path("ehrqa") / "concepts" / f"{name}.json"
