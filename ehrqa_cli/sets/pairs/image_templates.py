"""The 168 image and 75 image+table templates with their forms and many wordings.

A wording is a clause ("is there <A> in the <O>"), put in a frame ("On <S>, <Q>?") around a way
of naming the study ("pt <P>'s <E> CXR <G>"). The banks are data, in image_phrases.toml; the
templates are those of EHRXQA (Bae et al. 2023, arXiv:2310.18652). Where words decide part of
the form (newly seen or resolved, most recent, women, the same hospital visit) a template has
variants, each with that part fixed.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from ehrqa_cli.sets.pairs.image_wording import (
    ImageTemplate,
    Words,
    Writer,
    expand,
    framed,
    phrase_banks,
    tidy,
    with_orders,
)

# A finding as a template says it, and as a form does.
_FINDINGS = {
    "attribute_object": ("<A> in the <O>", "<A> at <O>"),
    "category_object": ("any <C> in the <O>", "<C> at <O>"),
    "abnormality_object": ("any abnormality in the <O>", "abnormality at <O>"),
    "attribute": ("<A>", "<A>"),
    "category": ("any <C>", "<C>"),
    "abnormality": ("any abnormality", "abnormality"),
}
# A finding without its place: with "any", without, and as a plural.
_BARE = {
    "attribute": ("<A>", "<A>", "<A>"),
    "category": ("any <C>", "<C>", "<C>"),
    "abnormality": ("any abnormality", "abnormality", "abnormalities"),
}
# The findings asked about with any diagnosis at all, and of groups.
_FEW_FINDINGS = ("attribute_object", "category_object", "attribute")
_COMPARISONS = ("still_present", "still_absent", "new", "resolved")


@functools.cache
def image_templates(seed: int = 0, wordings: int = 15) -> tuple[ImageTemplate, ...]:
    """All 243 templates, each with ``wordings`` phrasings, and a third as many a variant.

    The same seed gives the same wordings; more of them are other draws from the same banks.
    """
    bank = phrase_banks()
    writer = Writer(random.Random(seed), wordings)
    return (
        *_single(bank, writer),
        *_compare(bank, writer),
        *_many(bank, writer),
        *_relations(bank, writer),
        *_groups(bank, writer),
    )


# ------------------------------------------------------------------------------ one study


def _single(bank: dict[str, Any], writer: Writer) -> Iterator[ImageTemplate]:
    study = bank["study"]
    exact = ("Given the <E> study of patient <P> <G>, ", "<E> study patient <P> <G>", "exact")
    given = ("Given the study {study_id}, ", "study {study_id}", "id")
    for lead, target, names in (exact, given):
        for core in bank["single"]:
            text = expand(lead, {}) + " " + expand(core["text"], {})
            orders = with_orders(bank, study[names]) if names == "exact" else ()
            yield writer.template(
                "image",
                expand(core["form"], {"S": target}),
                text,
                _single_makers(bank, core, study[names]),
                (
                    (
                        expand(core["form"], {"S": target.replace("<E>", order)}),
                        _single_makers(bank, core, named),
                    )
                    for order, named in orders
                ),
            )


def _single_makers(
    bank: dict[str, Any], core: dict[str, Any], study: Sequence[str]
) -> list[tuple[str, Words]]:
    words: Words = {"S": study}
    return [
        item
        for kind in ("ask", "show", "order", "note")
        for item in framed(bank["frames"][kind], core.get(kind, ()), words)
    ]


# ------------------------------------------------------------------------------ two studies


def _compare(bank: dict[str, Any], writer: Writer) -> Iterator[ImageTemplate]:
    study, reference = bank["study"], bank["reference"]
    exact = (
        "Given the <E> study of patient <P> <G>, ",
        "<E> study patient <P> <G>",
        study["exact"],
    )
    given = ("Given the {study_id1} study, ", "study {study_id1}", study["id1"])
    pairs = (
        (exact, "<E2> study of patient <P> <G2>", "( <E2> study patient <P> <G2> )", "exact"),
        (exact, "previous study", "previous", "previous"),
        (given, "{study_id2} study", "( study {study_id2} )", "id2"),
        (given, "previous study", "previous", "previous"),
    )
    for (lead, target, named), other, than, reference_names in pairs:
        words: Words = {"S": named, "R": reference[reference_names]}
        for text, head, kind, place in _comparisons():
            finding = _BARE[kind][1] + (" at <O>" if place else "")
            form = f"{head} finding {finding} <CMP> of ( {target} ) than {than}"
            full = expand(f"{lead} {text} compared to the {other}?", {})
            spoken = _compare_words(kind, place, words)
            makers = {
                which: _compare_makers(bank, head, which, spoken)
                for which in ("any", *_COMPARISONS)
            }
            variants = [(expand(form, {"CMP": which}), makers[which]) for which in _COMPARISONS]
            yield writer.template("image", expand(form, {}), full, makers["any"], variants)


def _comparisons() -> Iterator[tuple[str, str, str, bool]]:
    """(clause, head, kind of finding, with a place) of the 12 questions, in their words."""
    for place in (True, False):
        where = " in the <O>" if place else ""
        for kind in ("category", "attribute", "abnormality"):
            said = {"category": "are there any <C> that are", "attribute": "is <A>"}
            clause = said.get(kind, "are there any abnormality that are")
            yield f"{clause} <CMP>{where}", "exists", kind, place
        for kind, noun in (("category", "<C>"), ("abnormality", "abnormality")):
            yield f"list all {noun} that are <CMP>{where}", "name", kind, place
    for kind, noun in (("attribute", "<A>"), ("category", "any <C>")):
        clause = f"list all anatomical locations related to {noun} that are <CMP>"
        yield clause, "place", kind, False


def _compare_words(kind: str, place: bool, words: Words) -> Words:
    one, bare, several = _BARE[kind]
    where = "in the <O>" if place else ""
    return {**words, "F": one, "F0": bare, "FS": several, "LOC": where}


def _compare_makers(
    bank: dict[str, Any], head: str, comparison: str, words: Words
) -> list[tuple[str, Words]]:
    clauses, frames = bank["compare"][head], bank["frames"]
    return [
        *framed(frames["compare_ask"], clauses[comparison], words),
        *framed(frames["compare_order"], clauses.get(f"{comparison}_order", ()), words),
    ]


# ------------------------------------------------------------------------------ many studies


def _finding_words(bank: dict[str, Any], kind: str) -> Words:
    showing = bank["showing"]
    return {
        "F": bank["finding"][kind],
        "X": showing["one"],
        "XS": showing["many"],
        "XT": showing["tail"],
    }


def _many(bank: dict[str, Any], writer: Writer) -> Iterator[ImageTemplate]:
    for core in bank["many"]:
        for kind, (said, formed) in _FINDINGS.items():
            words = _finding_words(bank, kind)
            makers = _made(core["wordings"], words)
            form = core["form"]
            text = tidy(expand(core["text"], {"F": said}))
            variants = (
                (expand(form, {"F": formed, "E": order}), _made(core[order], words))
                for order in ("first", "last")
                if order in core
            )
            yield writer.template("image", expand(form, {"F": formed}), text, makers, variants)


# ------------------------------------------------------------------------------ images and tables


def _relations(bank: dict[str, Any], writer: Writer) -> Iterator[ImageTemplate]:
    for name, event in bank["event"].items():
        kinds = tuple(_FINDINGS) if event["slot"] else _FEW_FINDINGS
        for kind in kinds:
            yield _together(bank, writer, name, kind)
    for relation in ("xray_after", "event_after"):
        for name, event in bank["event"].items():
            if not event["slot"]:
                continue
            for kind in _FINDINGS:
                yield _after(bank, writer, relation, (name, kind))


def _event_words(bank: dict[str, Any], name: str, kind: str) -> Words:
    event = bank["event"][name]
    spoken = {word.upper(): event[word] for word in ("perfect", "gerund", "bare", "noun")}
    return {**_finding_words(bank, kind), **spoken}


def _event_form(bank: dict[str, Any], name: str) -> str:
    event = bank["event"][name]
    return f"{event['kind']} {event['slot']}".strip()


def _together(bank: dict[str, Any], writer: Writer, name: str, kind: str) -> ImageTemplate:
    said, formed = _FINDINGS[kind]
    words = _event_words(bank, name, kind)
    done = bank["event"][name]["perfect"][0]
    text = (
        f"Has_verb patient <P> {done} <G> and also had a chest X-ray study indicating {said} "
        "within the same period?"
    )
    form = f"exists {_event_form(bank, name)} patient <P> with ( study showing ( {formed} ) ) "
    relation = bank["relation"]["together"]
    same = expand(form + "samevisit <G>", {}), _made(relation["samevisit"], words)
    makers = _made(relation["wordings"], words)
    full = expand(form + "sameperiod <G>", {})
    return writer.template("image+table", full, expand(text, {}), makers, [same])


def _after(
    bank: dict[str, Any], writer: Writer, relation: str, which: tuple[str, str]
) -> ImageTemplate:
    name, kind = which
    said, formed = _FINDINGS[kind]
    event, study = _event_form(bank, name), f"study showing ( {formed} )"
    first = bank["event"][name]
    if relation == "xray_after":
        done = {"proc": "having received {procedure_name} procedure"}.get(name, first["gerund"][0])
        mark = "?" if name == "dx" else " ?"
        text = f"had a chest X-ray study indicating {said} <W> after {done} <G>{mark}"
        form = f"exists {study} patient <P> after ( {event} ) <W> <G>"
    else:
        said = f"having had a chest X-ray study indicating {said}"
        text = f"{first['perfect'][0]} <W> after {said} <G> ?"
        form = f"exists {event} patient <P> after ( {study} ) <W> <G>"
    makers = _made(bank["relation"][relation]["wordings"], _event_words(bank, name, kind))
    full = expand(f"Has_verb patient <P> {text}", {})
    return writer.template("image+table", expand(form, {}), full, makers)


def _groups(bank: dict[str, Any], writer: Writer) -> Iterator[ImageTemplate]:
    for who, sex in (("patients", ""), ("{gender} patients", "{gender}")):
        for group in bank["group"].values():
            for kind in _FEW_FINDINGS:
                said, formed = _FINDINGS[kind]
                text = tidy(expand(group["text"], {"F": said, "WHO": who}))
                form = expand(group["form"], {"F": formed, "SEX": sex})
                makers = _group_makers(bank, group, kind, "slot" if sex else "any")
                variants = (
                    (
                        expand(group["form"], {"F": formed, "SEX": fixed}),
                        _group_makers(bank, group, kind, fixed),
                    )
                    for fixed in ("female", "male")
                    if sex
                )
                yield writer.template("image+table", form, text, makers, variants)


def _group_makers(
    bank: dict[str, Any], group: dict[str, Any], kind: str, who: str
) -> list[tuple[str, Words]]:
    words = {**_finding_words(bank, kind), "WHO": bank["gender"][who]}
    return _made(group["wordings"], words)


def _made(patterns: Sequence[str], words: Words) -> list[tuple[str, Words]]:
    return [(pattern, words) for pattern in patterns]
