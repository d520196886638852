"""Which kind of encounter a question speaks of, where a database has several.

The model that writes forms knows hospital visits only. So the question is put into words that it
knows (`plain`), and what its own words say is added to the form afterwards (`with_kinds`): "ED
visits" are admissions of the kind emergency, "visits" those of any kind.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.logical_form import Combine, Form, Select
from ehrqa_cli.logical_form.form import Abstain, Event, Filter, Lit, map_events, map_selects
from ehrqa_cli.logical_form.grammar import FILTERS, HEADS
from ehrqa_cli.logical_form.normalise import with_filter

ANY = "any"
_IN_HOSPITAL = frozenset({"inpatient", "observation"})
_PLACES = frozenset({"careunit", "admloc", "admtype", "dischloc"})
_STAYS = ("admission", "discharge")
_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# Before a kind's name: what is asked about happened in it.
_INSIDE = re.compile(
    r"\b(?:in|during|at|on|within|for|of|from|to|as|while|was|were|been|when)\s+(?:\w+\s+){0,3}$",
    re.I,
)


@dataclass(frozen=True)
class Phrase:
    """Words for some kinds of encounter, and what the model is given to read for them."""

    kinds: tuple[str, ...]
    words: re.Pattern[str]
    plain: str


@dataclass(frozen=True)
class Named:
    """Kinds that a question names, and where; ``inside``: as what something happened in."""

    kinds: tuple[str, ...]
    start: int
    end: int
    plain: str
    inside: bool


def _phrase(said: dict[str, object]) -> Phrase:
    words = str(said["words"])
    for name, text in _DATA["words"].items():
        words = words.replace(f"{{{name}}}", text)
    # "in the same hospital visit" joins events and names no kind of visit.
    pattern = re.compile(rf"(?<!same )(?<!\w)(?:{words})(?!\w)", re.I)
    kinds = said["kinds"]
    assert isinstance(kinds, list)
    return Phrase(tuple(kinds), pattern, str(said["plain"]))


PHRASES = tuple(map(_phrase, _DATA["phrase"]))


def kinds_in(database: Database) -> frozenset[str]:
    """The kinds of encounter that a database has; none where all are admissions to a hospital.

    Raises DatabaseError.
    """
    columns = {t.lower(): {c.lower() for c in cs} for t, cs in database.schema().items()}
    if "encounter" not in columns.get("admissions", ()):
        return frozenset()
    rows = database.execute("SELECT DISTINCT encounter FROM admissions").rows
    found = frozenset(str(row[0]) for row in rows if row[0] is not None)
    return frozenset() if found <= _IN_HOSPITAL else found


def named(linked: LinkedQuestion) -> tuple[Named, ...]:
    """The kinds that the question names, in its order. What is linked to something else than a
    place names none."""
    taken = [(x.start, x.end) for x in linked.links if not _PLACES.issuperset(x.types)]
    found: list[Named] = []
    for phrase in PHRASES:
        for match in phrase.words.finditer(linked.question):
            start, end = match.span()
            if all(end <= a or b <= start for a, b in taken):
                taken.append((start, end))
                plain = match.expand(phrase.plain) if phrase.plain else match[0]
                first = match[0].split()[0].lower()
                verb = first == match[0].lower() and first.endswith("d")  # was admitted
                inside = verb or bool(_INSIDE.search(f"{linked.question[:start]}{first} "))
                found.append(Named(phrase.kinds, start, end, plain, inside))
    return tuple(sorted(found, key=lambda n: n.start))


def plain(question: str, names: Iterable[Named]) -> str:
    """The question in words that the model knows."""
    for one in sorted(names, key=lambda n: -n.start):
        question = question[: one.start] + one.plain + question[one.end :]
    return question


def absent(asked: Iterable[Named], here: AbstractSet[str]) -> str:
    """The kinds that a question names and a database with those ``here`` has none of, in words."""
    none = dict.fromkeys(one.kinds for one in asked if not here & set(one.kinds))
    return ", ".join(f"{' or '.join(kinds)} visits" for kinds in none)


def with_kinds(form: Form, asked: Sequence[Named]) -> Form:
    """The form with the kinds that the question names.

    Raises FormError where it cannot be said which of its events they are of.
    """
    kinds = list(dict.fromkeys(one.kinds for one in asked))
    if not kinds or isinstance(form, Abstain):
        return _marked(form, (ANY,))
    if len(kinds) == 1:
        marked = _marked(form, kinds[0])
        if marked == form and all(one.inside for one in asked):
            marked = _within(form, kinds[0])
        if marked == form:
            raise _unsaid(kinds[0])
        return marked
    parts = [*_parts(form)]
    if len(parts) != len(asked):
        raise _unsaid(kinds[-1])
    return _joined(form, iter(one.kinds for one in asked))


def _unsaid(kinds: tuple[str, ...]) -> FormError:
    told = " or ".join(kinds)
    return FormError(f"it is not clear what was {told}", "ask about one kind of visit")


def _parts(form: Form) -> Iterator[Form]:
    if isinstance(form, Combine):
        yield from _parts(form.left)
        yield from _parts(form.right)
    else:
        yield form


def _joined(form: Form, kinds: Iterator[tuple[str, ...]]) -> Form:
    if isinstance(form, Combine):
        left = _joined(form.left, kinds)
        return replace(form, left=left, right=_joined(form.right, kinds))
    own = next(kinds)
    marked = _marked(form, own)
    if marked == form:
        raise _unsaid(own)
    return marked


def _marked(form: Form, kinds: tuple[str, ...]) -> Form:
    """The kinds at every event that is an encounter or speaks of one."""

    def mark(event: Event) -> Event:
        spoken = event.kind in _STAYS or event.get("visit") is not None
        return _of(event, kinds) if spoken else event

    return _each(map_events(form, mark), kinds, counted=True)


def _within(form: Form, kinds: tuple[str, ...]) -> Form:
    """The kinds at what is asked about."""
    return _each(form, kinds, counted=False)


def _each(form: Form, kinds: tuple[str, ...], counted: bool) -> Form:
    """The kinds at the first event of each select; ``counted``: only where visits are counted."""

    def mark(select: Select) -> Select:
        grouped = select.group is not None and select.group.key == "visits"
        visits = grouped or "admissions" in HEADS[select.head].counts
        if (counted and not visits) or select.event.kind not in FILTERS["encounter"].kinds:
            return select
        return replace(select, event=_of(select.event, kinds))

    return map_selects(form, mark)


def _of(event: Event, kinds: tuple[str, ...]) -> Event:
    if event.get("encounter"):  # a form that was read before
        return event
    return with_filter(event, Filter("encounter", tuple(map(Lit, kinds))))
