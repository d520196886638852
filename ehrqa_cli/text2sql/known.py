"""Known questions by what they ask: those whose forms are nearest to a form.

They are authored questions in clean English, one a form, that the shipped parser reads rightly
(``models/encoder/known.json``, made by models/encoder/known.py). They are offered to people whose
question was declined, and shown as examples to a larger model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.logical_form import REFS, Ref, parse
from ehrqa_cli.logical_form.form import Arg, map_args
from ehrqa_cli.logical_form.grammar import SLOTS
from ehrqa_cli.onnx import Folder

FILE = "known.json"
_PLACEHOLDER = re.compile(r"((?:<[a-z_]+>)+)#\d+|<no(?:pat|study)>")


@dataclass(frozen=True)
class Near:
    """A known question: its linked ``text``, its ``form`` with references to another question's
    values, how ``alike`` the forms are (0 to 1), and how many of the other's values are
    ``unused``."""

    text: str
    form: str
    alike: float
    unused: int


class KnownQuestions:
    """Texts and forms. Make one with ``load``."""

    def __init__(self, questions: Sequence[tuple[str, str]]) -> None:
        self._known = [(text, form, lexemes(form)) for text, form in questions]

    @classmethod
    def load(cls, models_root: Path) -> KnownQuestions:
        """Read them under ``models_root``. Raises ModelError for a missing or corrupt file."""
        found = Folder(models_root / "encoder").json(FILE)["questions"]
        return cls([(str(text), str(form)) for text, form in found])

    def nearest(self, form: str, linked: LinkedQuestion, k: int) -> tuple[Near, ...]:
        """The ``k`` whose forms share the most lexemes with ``form`` (Sørensen and Dice) and can be
        filled with the values of ``linked``, nearest first."""
        asked = lexemes(form)
        size = sum(asked.values())
        ours = [link.types for link in linked.links]
        ranked = sorted(
            ((2 * sum((asked & words).values()) / (size + sum(words.values()) or 1), place)
             for place, (_, _, words) in enumerate(self._known)),
            key=lambda found: (-found[0], found[1]),
        )  # fmt: skip
        near: dict[str, Near] = {}
        for alike, place in ranked:
            if len(near) == k or not alike:
                break
            text, other, _ = self._known[place]
            if filled := fill(other, ours):
                near.setdefault(filled[0], Near(text, filled[0], alike, filled[1]))
        return tuple(near.values())


def lexemes(form: str) -> Counter[str]:
    """The lexemes of a form less its references and brackets."""
    return Counter(w for w in form.split() if w[0] not in "#()")


@lru_cache(maxsize=4096)
def wanted(form: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """The references of a form in the order of their numbers, each with the types that fit every
    place where it stands. Raises FormError for what is no form."""
    found: dict[str, frozenset[str]] = {}

    def note(arg: Arg, slot: str) -> Arg:
        if isinstance(arg, Ref):
            types, name = frozenset(SLOTS[slot]), f"#{arg.n}"
            found[name] = found.get(name, types) & types
        return arg

    map_args(parse(form), note)
    return tuple(sorted(found.items(), key=lambda item: int(item[0][1:])))


def fill(form: str, ours: Sequence[Sequence[str]]) -> tuple[str, int] | None:
    """``form`` with our references in place of its own, and how many of ours stay unused.

    Each of its references, in order, takes our first that fits and is not yet taken; one that
    could be several things is left for later while another fits. None when nothing fits, or for
    what is no form of this grammar. ``ours[k - 1]`` are the types of our reference ``#k``.
    """
    try:
        places = wanted(form)
    except FormError:
        return None
    chosen: dict[str, str] = {}
    free = dict(enumerate(map(set, ours[: len(REFS)])))
    for name, types in places:
        fitting = [k for k, have in free.items() if have & types]
        if not fitting:
            return None
        best = min(fitting, key=lambda k: (len(free[k]), k))
        del free[best]
        chosen[name] = REFS[best]
    return " ".join(chosen.get(word, word) for word in form.split()), len(free)


def with_values(text: str, linked: LinkedQuestion) -> str | None:
    """A known question's linked text with this question's own words in place of its values; None
    where it has too few. As in filling its form, those that can be one thing only choose first."""
    left = list(linked.links)
    chosen: dict[int, str] = {}
    found = list(_PLACEHOLDER.finditer(text))
    kinds = [set(re.findall(r"[a-z_]+", match[1] or "")) for match in found]
    for place in sorted(range(len(found)), key=lambda i: (len(kinds[i]), i)):
        link = next((x for x in left if kinds[place].intersection(x.types)), None)
        if link is None:
            return None
        left.remove(link)
        own = linked.question[link.start : link.end]
        chosen[place] = own if own.strip() else str(link.value)
    pieces, at = [], 0
    for place, match in enumerate(found):
        pieces += [text[at : match.start()], chosen[place]]
        at = match.end()
    return "".join([*pieces, text[at:]])
