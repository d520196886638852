"""The only place that decides to abstain.

Each check is a pure function from what a step found to a Reason or None, so that each signal is
available on its own: the papers compare them (maximum token entropy and beam score in EHRSQL,
Lee et al. 2022; words of the question in Yang et al. 2024). One weighted score, the risk, joins
those that are numbers; its threshold is chosen on validation data (evaluate.thresholds).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli.concepts.told import to_choose
from ehrqa_cli.contracts.images import VqaReason
from ehrqa_cli.contracts.notes import NoteAnswer
from ehrqa_cli.contracts.types import Link, LinkedQuestion, Query, Result, Row, Scope
from ehrqa_cli.engine.risk import Thresholds, too_risky

# Kinds of Reason, in the order in which they can come up.
KINDS = (
    "unknown_patient",
    "unlinked_value",
    "model_declined",
    "no_form",
    "out_of_scope",
    "images",
    "images_words",
    "images_missing",
    "images_general",
    "not_recorded",
    "no_notes",
    "not_in_notes",
    "unsure_notes",
    "sources_differ",
    "mixed_patient",
    "mixed_note",
    "mixed_table",
    "mixed_units",
    "unused_value",
    "low_confidence",
    "execution_error",
    "empty_result",
    "ambiguous_name",
)
# A form that leaves one of these unused answers another question, however sure the model is.
_MUST_USE = frozenset(
    {"pat", "study", "year", "ym", "ymd", "md", "mon", "stamp", "num", "dur", "agegrp"}
    | {"quarter", "dow", "adm", "stay"}
    | {"drug", "lab", "dx", "proc", "specimen", "mtest", "organism", "intake", "output"}
    | {"careunit", "admloc", "language", "vital", "marital", "insurance"}
)
_VAGUE = {
    "vague_dur": "could be minutes or months. Write the unit out.",
    "vague_date": "has no exact beginning and end. Name the dates.",
}
_SHOWN = 6  # of the items that a name fits
_ANY_ICU, _OF_ICU = "any intensive care unit", {"icustay", "icu", "samestay"}
# Names from here on are exact, or curated synonyms with one meaning in this database.
_PLAIN = 0.95
# Kinds of VqaReason that are no "cannot tell".
_OF_IMAGES = {
    "general": "images_general",
    "not_understood": "images_words",
    "ambiguous": "images_words",
    "no_image": "images_missing",
    "unreadable": "images_missing",
    "unknown_study": "images_missing",
}
_NOUNS = {
    "pat": "patient", "study": "study", "drug": "drug", "lab": "lab test", "dx": "diagnosis",
    "proc": "procedure", "num": "number", "dur": "duration", "year": "date", "ym": "date",
    "ymd": "date", "md": "date", "stamp": "time", "agegrp": "age group", "specimen": "specimen",
    "intake": "intake", "output": "output", "careunit": "care unit", "language": "language",
    "admloc": "admission location", "marital": "marital status", "insurance": "insurance",
    "mtest": "microbiology test", "vital": "vital sign",
    "quarter": "date", "dow": "day of the week", "adm": "hospital visit", "stay": "ICU stay",
}  # fmt: skip


# Doubts whether the question was read rightly: a person who sees the reading can tell.
_OF_READING = frozenset({"low_confidence", "unused_value"})


@dataclass(frozen=True)
class Reason:
    """Why an answer is withheld: one of KINDS, and a sentence for people. ``certain``: it is no
    doubt, the question contradicts the record."""

    kind: str
    sentence: str
    certain: bool = False

    @property
    def doubt(self) -> bool:
        """Is it only a doubt whether the question was read rightly?"""
        return self.kind in _OF_READING and not self.certain


def of_links(linked: LinkedQuestion) -> Reason | None:
    """Before the model runs: does what the question names exist in this database?"""
    for kind, text in linked.unknown:
        if kind == "pat":
            return Reason(
                "unknown_patient", f"There is no patient {text} in this database. Check the id."
            )
    for kind, text in linked.unknown:
        if kind in _VAGUE:
            return Reason("ambiguous_name", f"“{text}” {_VAGUE[kind]}")
        if kind == "ambiguous":
            return _of_meanings(text, linked)
        if kind == "unit":
            told = f"“{text}” cannot be turned into the unit that is recorded here. Use that one."
            return Reason("ambiguous_name", told)
        noun = _NOUNS.get(kind, "value")
        return Reason(
            "unlinked_value",
            f"The {noun} “{text}” does not occur in this database. Check its spelling.",
        )
    return None


def _of_meanings(mention: str, linked: LinkedQuestion) -> Reason:
    """A name that means several things here, each told with how much of it there is."""
    for link in linked.ambiguous:
        if link.value == mention:
            said = linked.question[link.start : link.end]
            told = f"“{said}” may be: {to_choose(link.concepts)}. Say which."
            return Reason("ambiguous_name", told)
    return Reason("ambiguous_name", f"“{mention}” fits several names here. Say which one.")


def of_queries(queries: Iterable[Query]) -> Reason | None:
    """Did the model write anything at all?"""
    first = next(iter(queries), None)
    if first is None or first.logical_form == "abstain":
        return Reason(
            "model_declined", "I find no query that answers this question. Ask in other words."
        )
    if not first.logical_form and not first.neuralsql:
        return no_form("it is empty")
    return None


def no_form(detail: str) -> Reason:
    """What the model wrote cannot be read."""
    return Reason("no_form", f"What the model wrote is not a valid query: {detail}")


def of_scope(scope: Scope, why: str, images: bool = False) -> Reason | None:
    """Tables can always be read, ``images`` where the session has a reader of them."""
    if scope is Scope.TABLE or (images and scope is not Scope.NOTE):
        return None
    what = {"image": "images", "image+table": "images", "note": "notes"}[scope.value]
    return Reason("out_of_scope", f"This asks about {what} ({why}); no reader for them is set up.")


def not_recorded(lacking: str) -> Reason | None:
    """What a query asks for that these data do not hold: its answer, 0 or none, would be wrong."""
    return Reason("not_recorded", f"This database does not record {lacking}.") if lacking else None


def without_notes(here: bool, patient: int | None) -> Reason:
    """No notes can be read: of the one ``patient`` there are none; or none is named, or all are
    missing."""
    if not here:
        told = "There are no notes beside this database; `ehrqa notes import` takes them in."
    elif patient is None:
        told = "Notes are read for one patient at a time. Name one by id, or with --patient."
    else:
        told = f"There are no notes of patient {patient} here."
    return Reason("no_notes", told)


def of_note_answer(answer: NoteAnswer, with_choices: bool, least: float = 0.0) -> Reason | None:
    """The reader of notes declines, or is less sure of its answer than ``least`` (`least_sure`).

    An answer without a measured probability is given only where nothing is asked of it (0).
    """
    if (answer.choice if with_choices else answer.text) is None:
        told = answer.reason or "the notes do not say it"
        return Reason("not_in_notes", f"{told[:1].upper()}{told[1:]}.")
    if least and answer.confidence is None:
        return Reason(
            "unsure_notes",
            "How often this reader of notes is right was not measured, so that its answer is not "
            "given; the nearest lines are cited. --goal penalty=0 shows it.",
        )
    if least and answer.confidence is not None and answer.confidence < least:
        return Reason(
            "unsure_notes",
            f"The notes may say it, but an answer is right with {answer.confidence:.2f}, where "
            f"{least:.2f} is asked (--goal); the nearest lines are cited.",
        )
    return None


def of_sense(flaw: str | None) -> Reason | None:
    """A query that says nothing is a misread question (logical_form.flaw)."""
    return Reason("no_form", f"The query found for it tells nothing: {flaw}.") if flaw else None


def of_images(reason: VqaReason) -> Reason:
    """The reader of images declines: it cannot see this, was not understood, or has no image."""
    return Reason(_OF_IMAGES.get(reason.kind, "images"), reason.sentence)


def of_namesakes(mention: str, fitting: Sequence[str], noun: str, turned: bool = False) -> Reason:
    """A name that fits several items, on which of them the answer depends. ``turned``: it is the
    whole name of one, for which there is nothing, and the others would give something."""
    shown = "; ".join(fitting[:_SHOWN]) + (" ..." if len(fitting) > _SHOWN else "")
    if turned:
        shown = "; ".join(fitting[1 : _SHOWN + 1])
        told = f"There is nothing under exactly “{fitting[0]}”, but under {shown}. Name one."
        return Reason("ambiguous_name", told)
    return Reason(
        "ambiguous_name",
        f"“{mention}” fits {len(fitting)} {noun} here: {shown}. Name one, in quotes.",
    )


def of_units(name: str | None) -> Reason | None:
    """A reckoning over amounts in several units."""
    if name is None:
        return None
    told = f"{name} is recorded in several units here. Name one drug, or ask for the fluid intake."
    return Reason("ambiguous_name", told[:1].upper() + told[1:])


def of_other_words(mention: str, value: str) -> Reason:
    """Nothing under the one title that a name was taken for."""
    return Reason(
        "ambiguous_name",
        f"There is nothing under “{value}”, but “{mention}” may be recorded under other titles. "
        "Name one as the record does.",
    )


def of_shared(label: str, several: int) -> Reason:
    """A result under a label that is that of several items, and not of the commonest."""
    return Reason(
        "ambiguous_name",
        f"“{label}” is the name of {several} lab items here, of different specimens perhaps, and "
        "this patient's results are not all of the commonest. The record does not say which is "
        "which.",
    )


def said_otherwise(linked: LinkedQuestion, used: set[int], form: str) -> set[int]:
    """Numbers of links that the form says without naming them: any ICU, in its stays there; and a
    name that stands in brackets after another one of its kind, which is used."""
    found, links = set[int](), linked.links
    for number, link in enumerate(links, 1):
        if link.types == ("careunit",) and link.value == _ANY_ICU and _OF_ICU & {*form.split()}:
            found.add(number)
        for other in ({number - 1, number + 1} & used) - {0}:
            first, second = sorted((link, links[other - 1]), key=lambda x: x.start)
            between = linked.question[first.end : second.start]
            if between.strip() == "(" and set(first.types) & set(second.types):
                found.add(number)
    return found


def of_unused_links(links: tuple[Link, ...], used: set[int]) -> Reason | None:
    """A value, number or date of the question that the query leaves out."""
    for number, link in enumerate(links, 1):
        if number in used or _repeated(link, links, used):
            continue
        if _must_use(link) or _one_of_several(link, links, used):
            return Reason(
                "unused_value",
                f"The query found for it does not use “{link.value}” of the question.",
            )
    return None


def of_unused_literals(links: tuple[Link, ...], sql: str) -> Reason | None:
    """The same for a model that writes SQL: patients and numbers must occur in its text."""
    for link in links:
        if {"pat", "num"}.intersection(link.types):
            text = str(link.value)
            if not re.search(rf"(?<![\w.]){re.escape(text)}(?![\w])", sql):
                return Reason(
                    "unused_value", f"The query found for it does not use “{text}” of the question."
                )
    return None


def _must_use(link: Link) -> bool:
    # A text that could be several kinds of thing, or was only nearly matched, may be plain words.
    return set(link.types) <= _MUST_USE and link.quality >= _PLAIN


def _one_of_several(link: Link, links: tuple[Link, ...], used: set[int]) -> bool:
    """Is another value of its types used? Then it is a half of what was asked, or a group."""
    return any(set(links[n - 1].types) & set(link.types) for n in used if 1 <= n <= len(links))


def _repeated(link: Link, links: tuple[Link, ...], used: set[int]) -> bool:
    return any(links[n - 1].value == link.value for n in used if 1 <= n <= len(links))


def of_scores(scores: Mapping[str, float], thresholds: Thresholds) -> Reason | None:
    """The measured signals together: is the risk above the threshold?"""
    if not too_risky(scores, thresholds):
        return None
    return Reason(
        "low_confidence",
        "I am not sure enough that I read the question rightly. Ask in other words.",
    )


def of_result(result: Result) -> Reason | None:
    """An empty result is no answer. A count of 0 or a "no" (0) is one."""
    if all(cell is None for row in result.rows for cell in row):
        return Reason("empty_result", "The query runs, but the database holds no data for it.")
    return None


def link_scores(links: tuple[Link, ...], used: set[int]) -> dict[str, float]:
    """What the form leaves unused, and the doubt about the values that it uses, overall and by
    how they were found: a curated other name is far surer than a near spelling."""
    chosen = [links[n - 1] for n in sorted(used) if 1 <= n <= len(links)]

    def doubt(*how: str) -> float:
        return 1.0 - min((x.quality for x in chosen if not how or x.how in how), default=1.0)

    return {
        "unused_links": float(len(links) - len(used)),
        "link_doubt": doubt(),
        "alias_doubt": doubt("synonym"),
        "spelling_doubt": doubt("fuzzy"),
    }


def kind_scores(kinds: Mapping[str, float]) -> dict[str, float]:
    """From the log-probabilities of what sort of question it is: ``p_unanswerable``, and its
    log-odds ``unanswerable_logit``, which tell 0.999 from 0.9999."""
    p = min(max(1.0 - math.exp(kinds["answerable"]), 1e-6), 1.0 - 1e-6)
    return {"p_unanswerable": p, "unanswerable_logit": math.log(p / (1.0 - p))}


def result_scores(result: Result) -> dict[str, float]:
    """``empty_result``: 1 where nothing is known; ``null_share``: of the cells."""
    cells = [cell for row in result.rows for cell in row]
    missing = sum(cell is None for cell in cells)
    return {
        "empty_result": float(missing == len(cells)),
        "null_share": missing / len(cells) if cells else 0.0,
    }


def same_rows(a: Iterable[Row], b: Iterable[Row]) -> bool:
    """Whether two answers are the same: sets of rows, numbers to three decimals."""
    return {tuple(map(_plain, row)) for row in a} == {tuple(map(_plain, row)) for row in b}


def _plain(cell: object) -> object:
    if isinstance(cell, str):
        return cell.lower()
    return round(float(cell), 3) if isinstance(cell, int | float) else cell


def execution_error(message: str) -> Reason:
    """The query the model wrote does not run."""
    return Reason("execution_error", f"The query found for it does not run: {message}")
