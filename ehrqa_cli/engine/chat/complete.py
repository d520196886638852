"""Completion of the question line: patients, and values as the database spells them.

A sorted list of the beginnings of all words of all values, searched by halving: under 10 ms a key
for a hundred thousand values.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.engine.session import Session

# In the order in which they are offered where all else is equal.
KINDS = {
    "lab": "lab",
    "drug": "drug",
    "dx": "diagnosis",
    "proc": "procedure",
    "vital": "vital sign",
    "intake": "intake",
    "output": "output",
    "mtest": "microbiology test",
    "specimen": "specimen",
    "organism": "organism",
    "careunit": "care unit",
}
PATIENT = "patient"
_WORD = re.compile(r"\S+")
_START = re.compile(r"[^\W_]+")
_WORDS = 6  # of the line that a value may begin with
_LEAST = 2  # characters before anything is offered
_LOOKED_AT = 400  # of the values that begin so
_STARTS = 8  # words of a value that can be completed from
# Words of questions; a value that begins with one is offered from its next word on.
_SAID_TEXT = """
a an and any are at by did do does for from had has have he her his how in is it last many me of on
or patient she that the their them this time to was were what when which with
"""
_SAID = frozenset(_SAID_TEXT.split())


@dataclass(frozen=True)
class Completion:
    """``text`` may stand in place of ``[start, end)`` of the line; ``kind`` is for people."""

    text: str
    kind: str
    start: int
    end: int

    def apply(self, line: str) -> str:
        """The line with it."""
        return line[: self.start] + self.text + line[self.end :]


class Completer:
    """The values of one database by the beginnings of their words."""

    def __init__(self, strings: Mapping[str, Sequence[str]], patients: Iterable[int] = ()) -> None:
        self._values: list[tuple[str, str]] = []
        seen: set[str] = set()
        for kind, told in KINDS.items():
            for text in strings.get(kind, ()):
                if text.lower() not in seen:
                    seen.add(text.lower())
                    self._values.append((text, told))
        entries = [
            (text.lower()[match.start() :], place > 0, number)
            for number, (text, _) in enumerate(self._values)
            for place, match in enumerate(list(_START.finditer(text.lower()))[:_STARTS])
        ]
        entries.sort()
        self._keys = [key for key, _, _ in entries]
        self._entries = [(inside, number) for _, inside, number in entries]
        self._patients = sorted(map(str, set(patients)))

    @classmethod
    def of(cls, session: Session) -> Completer:
        """That of a session's database and notes. Raises what opening them raises."""
        patients: set[int] = set()
        strings: Mapping[str, Sequence[str]] = {}
        if not session.only_notes:
            index = getattr(session.linker, "index", None)
            if index is not None:
                strings = index.strings
                patients |= index.patients
        patients |= _in_notes(session)
        return cls(strings, patients)

    def complete(
        self, line: str, cursor: int | None = None, limit: int = 12
    ) -> tuple[Completion, ...]:
        """What the words before the cursor may become, the longest run of them first."""
        end = len(line) if cursor is None else max(0, min(cursor, len(line)))
        starts = [match.start() for match in _WORD.finditer(line[:end])]
        if not starts or line[end - 1 : end].isspace():
            return ()
        last = line[starts[-1] : end].lstrip("#\"'(")
        if last.isdecimal() and (patients := self.patients(last, limit)):
            begin = end - len(last)
            return tuple(Completion(str(one), PATIENT, begin, end) for one in patients)
        out: dict[str, Completion] = {}
        for start in starts[-_WORDS:]:
            while start < end and not line[start].isalnum():
                start += 1
            for text, kind in self._found(line[start:end], limit):
                out.setdefault(text, Completion(text, kind, start, end))
            if out:  # "acute kid" is not to become "acute chronic kidney disease"
                break
        return tuple(out.values())

    def patients(self, prefix: str = "", limit: int = 50) -> tuple[int, ...]:
        """The patients whose id begins so, those known only from notes too."""
        first = bisect_left(self._patients, prefix)
        found = []
        for patient in self._patients[first : first + limit]:
            if not patient.startswith(prefix):
                break
            found.append(int(patient))
        return tuple(found)

    def _found(self, typed: str, limit: int) -> list[tuple[str, str]]:
        """Values with a word from which on they read as typed: from the first word on before
        others, short before long."""
        wanted = " ".join(typed.lower().split())
        if len(wanted) < _LEAST or wanted.split()[0] in _SAID:
            return []
        ranked: dict[int, bool] = {}
        first = bisect_left(self._keys, wanted)
        for place in range(first, min(first + _LOOKED_AT, len(self._keys))):
            if not self._keys[place].startswith(wanted):
                break
            inside, number = self._entries[place]
            ranked[number] = ranked.get(number, True) and inside
        best = sorted(ranked, key=lambda n: (ranked[n], len(self._values[n][0]), n))
        texts = [self._values[n] for n in best[:limit]]
        return [(text, kind) for text, kind in texts if text.lower() != wanted]


def _in_notes(session: Session) -> set[int]:
    """Patients with notes; none where there are no notes or they cannot be read."""
    if session.db is None:
        return set()
    from ehrqa_cli.notes.store import NoteStore, notes_path

    try:
        if not notes_path(session.db).is_file():
            return set()
        with NoteStore.open(session.db) as store:
            return set(store.patients())
    except EhrqaError:
        return set()  # the notes' own commands say what is wrong with them
