"""Findings as FUNC_VQA sentences: the smallest questions, joined by SQL.

As EHRXQA annotates (Bae et al. 2023, C.3.2), logical and set operations belong to the SQL, and a
sentence is the smallest unit, in the words of MIMIC-CXR-VQA's templates.
"""

from __future__ import annotations

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, CATEGORIES, OBJECTS
from ehrqa_cli.logical_form.form import ABNORMALITY, Arg, Items, Lit

ABNORMAL = "abnormality"
_PLURALS = {
    "anatomicalfinding": "anatomical findings",
    "device": "devices",
    "disease": "diseases",
    "technicalassessment": "technical assessments",
    "tubesandlines": "tubes/lines",
    ABNORMAL: "abnormalities",
}
# What is measured of an image, by the kind of event that this is.
MEASURES = {
    "heart": "What is the cardiothoracic ratio?",
    "mediastinum": "What is the mediastinum to thorax ratio?",
}
_JOINED = {"and": " AND ", "or": " OR ", "not": " AND NOT "}


def call(sentence: str, study: str) -> str:
    """FUNC_VQA of a sentence and an expression for the study."""
    return f"FUNC_VQA('{sentence}', {study})"


def is_there(finding: str, place: str | None) -> str:
    """The yes/no sentence of one finding (attribute, category, ABNORMAL) at a place."""
    where = f" in the {place}" if place else ""
    if finding == ABNORMAL and place:
        return f"Is the {place} abnormal?"
    if finding in _PLURALS:
        return f"Are there any {_PLURALS[finding]}{where}?"
    return f"Is there {finding}{where}?"


def list_names(finding: str, place: str | None, *, absent: bool = False) -> str:
    """The sentence that lists the attributes of a category, present or absent."""
    what = _PLURALS[finding]
    if absent:
        return f"List all {what} that are absent from the {place or 'image'}."
    return f"List all {what} in the {place}." if place else f"List all {what}."


def list_places(finding: str, *, absent: bool = False) -> str:
    """The sentence that lists the objects with a finding, or without it."""
    if absent:
        return f"List all anatomical locations without any {_PLURALS.get(finding, finding)}."
    any_ = "any " if finding in _PLURALS else ""
    return f"List all anatomical locations related to {any_}{_PLURALS.get(finding, finding)}."


def is_class(finding: str) -> bool:
    """Does the name stand for several attributes?"""
    return finding in _PLURALS


def names_of(items: Items | None) -> tuple[list[str], str]:
    """The findings of a form and how they are joined (and, or, not)."""
    if items is None:
        raise FormError("a finding is missing", "ask the question in other words")
    if items == ABNORMALITY:
        return [ABNORMAL], "and"
    names = [_known(arg, (*ATTRIBUTES, *CATEGORIES)) for arg in items.args]
    return names, _one(items)


def places_of(items: Items | None) -> tuple[list[str | None], str]:
    """The places of a form, or [None], and how they are joined."""
    if items is None:
        return [None], "and"
    return [_known(arg, tuple(OBJECTS)) for arg in items.args], _one(items)


def condition(items: Items | None, places: Items | None, study: str) -> str:
    """SQL that is 1 where a study has these findings at these places, else 0."""
    names, op = names_of(items)
    spots, place_op = places_of(places)
    each = [
        _join(op, [call(is_there(name, spot), study) + " = 1" for name in names]) for spot in spots
    ]
    return _join(place_op, each)


def on_both_sides(items: Items | None, study: str) -> str:
    """SQL that is 1 where a study has these findings on the left and on the right."""
    names, op = names_of(items)
    each = []
    for name in names:
        places = call(list_places(name), study)
        each.append(f"( {places} LIKE 'left %' AND {places} LIKE 'right %' )")
    return _join(op, each)


def _join(op: str, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"( {_JOINED[op].join(parts)} )"


def _one(items: Items) -> str:
    ops = set(items.ops)
    if len(ops) > 1:
        raise FormError(
            "findings are joined in several ways", "ask about them in questions of their own"
        )
    return ops.pop() if ops else "and"


def _known(arg: Arg, known: tuple[str, ...]) -> str:
    if not isinstance(arg, Lit):
        raise FormError("this form still has references", "bind it to a question's links first")
    name = str(arg.value)
    if name not in known:
        raise FormError(
            f"“{name}” is not in the vocabulary of chest X-rays", "use one of its findings"
        )
    return name
