"""Question templates from templates/*.toml: a form with slots, and the wordings that mean it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ehrqa_cli.sets.pairs.slots import canonical
from ehrqa_cli.sets.pairs.wording import Node, Phrases, parse_wording

FOLDER = Path(__file__).parent / "templates"
_FORM_SLOT = re.compile(r"[\[{]([a-z_0-9:]+)[\]}]")
_ICU_KINDS = re.compile(r"\b(vital|intake|output|icustay)\b")


@dataclass(frozen=True)
class Template:
    """One template. ``pieces`` of the form alternate text and canonical slot names (True)."""

    text: str
    family: str
    pieces: tuple[tuple[str, bool], ...]
    wordings: tuple[Node, ...]
    words: dict[str, str] = field(default_factory=dict, hash=False)
    context: str = "visit"
    weight: float = 1.0

    @property
    def slots(self) -> tuple[str, ...]:
        """Canonical names of the form's slots, in order."""
        return tuple(text for text, is_slot in self.pieces if is_slot)


@dataclass(frozen=True)
class Library:
    """All templates by family, and the phrases they share."""

    families: dict[str, tuple[Template, ...]]
    phrases: Phrases


def split_form(form: str) -> tuple[tuple[str, bool], ...]:
    """Text and canonical slot names of a form, in order."""
    pieces: list[tuple[str, bool]] = []
    at = 0
    for match in _FORM_SLOT.finditer(form):
        if match.start() > at:
            pieces.append((form[at : match.start()], False))
        style = match[1].partition(":")[2]
        pieces.append((canonical(match[1]) + (f":{style}" if style else ""), True))
        at = match.end()
    if at < len(form):
        pieces.append((form[at:], False))
    return tuple(pieces)


@lru_cache(maxsize=1)
def load_library() -> Library:
    """Read every file of the templates folder; a file's name is the family of its templates."""
    shared_phrases: dict[str, str] = {}
    families: dict[str, list[Template]] = {}
    for path in sorted(FOLDER.rglob("*.toml")):
        with path.open("rb") as file:
            data = tomllib.load(file)
        shared_phrases.update(data.get("phrases", {}))
        family = path.stem
        shared = {entry["name"]: entry["wordings"] for entry in data.get("shared", ())}
        for entry in data.get("template", ()):
            families.setdefault(family, []).append(_template(entry, family, shared))
    phrases = Phrases(shared_phrases)
    return Library({name: tuple(found) for name, found in families.items()}, phrases)


def _template(entry: dict[str, Any], family: str, shared: dict[str, list[str]]) -> Template:
    wordings = list(entry.get("wordings", ()))
    for name in entry.get("use", ()):
        wordings.extend(shared[name])
    form = str(entry["form"])
    return Template(
        text=str(entry["text"]),
        family=family,
        pieces=split_form(form),
        wordings=tuple(parse_wording(slotted(wording)) for wording in wordings),
        words={name: slotted(text) for name, text in entry.get("words", {}).items()},
        context=str(entry.get("context") or _context(form)),
        weight=float(entry.get("weight", 1.0)),
    )


def made_template(wording: str, form: str, context: str) -> Template:
    """A template of the composer: one wording, made on the spot."""
    form = " ".join(form.split())
    name = "composition: " + re.sub(r"[\[{][^\]}]+[\]}]", "_", form)
    return Template(name, "compose", split_form(form), (parse_wording(wording),), {}, context)


def slotted(wording: str) -> str:
    """EHRXQA writes ``${object}`` for the slots that images fill."""
    return wording.replace("${", "{")


def _context(form: str) -> str:
    if form == "abstain":
        return "visit"
    if "{p}" not in form and "{patient_id}" not in form:
        return "group"
    return "icu" if _ICU_KINDS.search(form) else "visit"
