"""Filling the form of another question with this question's references; its words for people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.logical_form import REFS, Ref, parse
from ehrqa_cli.logical_form.form import Arg, map_args
from ehrqa_cli.logical_form.grammar import SLOTS

_PLACEHOLDER = re.compile(r"((?:<[a-z_]+>)+)#\d+|<no(pat|study)>")
_NOUNS = {
    "pat": "patient id", "study": "study id", "year": "year", "ym": "month", "ymd": "date",
    "md": "day", "stamp": "time", "num": "number", "dur": "duration", "agegrp": "age group",
    "drug": "drug", "lab": "lab test", "dx": "diagnosis", "proc": "procedure",
    "intake": "intake", "output": "output", "vital": "vital sign", "specimen": "specimen",
    "mtest": "microbiology test", "organism": "organism", "careunit": "care unit",
    "route": "route", "admloc": "place of admission", "admtype": "type of admission",
    "dischloc": "place of discharge", "insurance": "insurance", "language": "language",
    "marital": "marital status", "abbrev": "abbreviation", "attr": "finding",
    "obj": "place in the chest", "cat": "kind of finding",
    "mon": "month", "quarter": "quarter", "dow": "day of the week",
    "adm": "admission id", "stay": "ICU stay id",
}  # fmt: skip


def template_text(text: str) -> str:
    """A linked text for people: ``last [lab test] of patient [patient id]``."""

    def noun(match: re.Match[str]) -> str:
        kinds = re.findall(r"[a-z_]+", match[1]) if match[1] else [match[2]]
        return "[" + " or ".join(_NOUNS.get(kind, kind) for kind in kinds[:2]) + "]"

    return _PLACEHOLDER.sub(noun, text)


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
