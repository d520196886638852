"""Questions over tables and chest X-rays of one EHR, each with an answer that was found by running
it (EHRSQL, Lee et al. 2022; EHRXQA, Bae et al. 2023), and questions that have none."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import PatientScope, Row
from ehrqa_cli.logical_form import Combine, Form, Select, compile_sql, parse, scope_of
from ehrqa_cli.sets.making.attempts import Attempts
from ehrqa_cli.sets.making.files import Plain
from ehrqa_cli.sets.making.shares import SPLITS, Answers, Turns, fraction, split_at, splits_among
from ehrqa_cli.sets.own.anchor import AnchoredGenerator, AnchoredImages
from ehrqa_cli.sets.own.people import People
from ehrqa_cli.sets.own.periods import Now
from ehrqa_cli.sets.own.sheet import Labels, Unsheeted, answer_sheet
from ehrqa_cli.sets.own.working import Working, is_empty
from ehrqa_cli.sets.pairs.fill import Generator
from ehrqa_cli.sets.pairs.image_wording import ImageTemplate
from ehrqa_cli.sets.pairs.pair import Pair
from ehrqa_cli.sets.pairs.paraphrase import Paraphrases
from ehrqa_cli.sets.pairs.spoil import Spoiler
from ehrqa_cli.sets.pairs.templates import Template, slotted
from ehrqa_cli.sets.pairs.vocabulary import Vocabulary
from ehrqa_cli.sets.pairs.wording import parse_wording

UNANSWERABLE = 0.1  # of a set, as in EHRSQL-2024's training split
_TRIES = 48
_EVEN = 32  # tries in which the answers of a template are kept even
_LOOSE = {False: 0.1, True: 0.85}
_NUMBER = re.compile(r"\d{5,}")
_PATIENT, _STUDY = re.compile(r"\bpatient (\d+)"), re.compile(r"\bstudy (\d+)")
_PRESENT = re.compile(r"(visit|icu) current|(admission|icustay) .*current")
_PICTURE = re.compile(
    r"\bimag(e|ing)\b|x-?ray|\bcxr\b|radiograph|\b(chest )?films?\b|\bc\.?t\b|\bmri\b", re.I
)
_PARAPHRASED = 0.5  # of the questions of a template that has paraphrases
_TEMPLATED = 0.5  # of the unanswerable: written as such; the others are near misses

Check = Callable[[int, str, tuple[Row, ...]], str | None]
"""Of an attempt's number, NeuralSQL and its rows: what is wrong with them, or None."""


@dataclass(frozen=True)
class Sources:
    """What questions are made from; ``labels`` is None where there are no images. ``splits`` says
    whose questions go where, if the patients were divided before; ``paraphrases`` are wordings
    beside the templates' own."""

    vocabulary: Vocabulary
    working: Working
    labels: Labels | None = None
    splits: Mapping[int, str] | None = None
    paraphrases: Paraphrases = field(default_factory=Paraphrases)


@dataclass(frozen=True)
class QuestionKind:
    """A template of one family, and how to make a pair of it."""

    family: str
    text: str
    make: Callable[[float], Pair]


class Questions(Attempts):
    """The attempts of a set of questions over tables and images."""

    def __init__(self, sources: Sources, size: int, seed: int, check: Check | None = None) -> None:
        self._sources = sources
        self._check = check
        people = People(sources.working, sources.vocabulary)
        self._generator = AnchoredGenerator(sources.vocabulary, people, Now(sources.working.as_of))
        self._spoiler = Spoiler(self._generator)
        self._kinds = {kind.family + ": " + kind.text: kind for kind in self._all_kinds()}
        super().__init__(Turns(tuple(self._kinds), seed, UNANSWERABLE), size, seed)
        self._answers = Answers()
        self._asked: set[bytes] = set()
        patients = sources.vocabulary.patients
        self._splits = splits_among(patients, sources.splits, seed)
        self._there = tuple(s for s in SPLITS if s in self._splits.values()) or SPLITS
        self._owners = self._owners_of_studies()

    @property
    def templates(self) -> Sequence[str]:
        """The names of all templates, as records have them."""
        return tuple(self._kinds)

    def _count(self, name: str, record: Plain) -> None:
        self._asked.update(_marks(record["question"], record["form"]))
        if name:
            self._answers.add(name, record["key"])

    def _new(self, name: str) -> Plain:
        """One attempt: a record, or why the template gave none."""
        self._generator.rng.seed(f"{self._seed} attempt {self._number}")
        why: dict[str, int] = {}
        for turn in range(_TRIES):
            try:
                found = self._declined() if not name else self._answered(name, turn < _EVEN)
            except KeyError as error:  # the vocabulary lacks a kind of value
                found = f"no {error.args[0]}"
            if isinstance(found, dict):
                return {"id": f"q{self._number + 1:06d}", **found, "tries": turn + 1}
            why[found] = why.get(found, 0) + 1
        return {"failed": name or "unanswerable", "why": why}

    def _answered(self, name: str, even: bool) -> Plain | str:
        kind = self._kinds[name]
        pair = kind.make(_LOOSE[self._answers.wants_no(name)])
        if self._is_asked(pair):
            return "asked already"
        try:
            form = parse(pair.form)
            neuralsql = compile_sql(form)
            sql = self._sources.working.bound(neuralsql)
            sheet = answer_sheet(sql) if "FUNC_VQA" in sql else None
        except (EhrqaError, Unsheeted):
            return "no query"
        rows = self._sources.working.rows(sheet or sql)
        if rows is None:
            return "too long or too many rows"
        if is_empty(rows):
            return "no answer"
        key = _key(form, rows)
        if even and not self._answers.fits(name, key):
            return "answer too frequent"
        if not self._sources.working.confirm(sheet or sql, rows):
            return "answer depends on the order of rows"
        if self._check and (wrong := self._check(self._number, neuralsql, rows)):
            return wrong
        scope, whose = scope_of(form)
        patient = self._whose(pair.form) if whose is PatientScope.SINGLE else None
        return {
            "question": pair.question,
            "form": pair.form,
            "neuralsql": neuralsql,
            "sql": None if sheet else sql,
            "answer_sheet": sheet,
            # Rows of a set have no order; how SQLite came by them should make no difference.
            "answer": sorted((list(row) for row in rows), key=_order),
            "key": key,
            "template": kind.text,
            "family": kind.family,
            "modality": scope.value,
            "patient_scope": whose.value,
            "patient_id": patient,
            "split": self._split(patient, f"{name}\x1f{pair.form}"),
        }

    def _declined(self) -> Plain | str:
        """A question without an answer: one written as such, or a near miss of one with one."""
        generator = self._generator
        generator.sampler.focus((), 0.5)
        written = generator.library.families.get("unanswerable", ())
        if written and generator.rng.random() < _TEMPLATED:
            pair = generator.from_template(generator.rng.choice(written))
        else:
            pair = self._spoiler.make()
        if self._is_asked(pair):
            return "asked already"
        pictured = bool(_PICTURE.search(pair.template + " " + pair.question))
        if pictured and self._sources.labels is None:
            return "about images"  # where there are none, that word alone would give it away
        patient = self._named(pair.question)
        return {
            "question": pair.question,
            "form": pair.form,
            **dict.fromkeys(("neuralsql", "sql", "answer_sheet", "answer")),
            "key": "",
            "template": pair.template,
            "family": pair.family,
            "modality": "image" if pictured else "table",
            "patient_scope": "single" if patient else "group",
            "patient_id": patient,
            "split": self._split(patient, pair.question),
        }

    def _split(self, patient: int | None, otherwise: str) -> str:
        if patient is not None and patient in self._splits:
            return self._splits[patient]
        return split_at(fraction(self._seed, "group", otherwise), self._there)

    def _whose(self, form: str) -> int | None:
        """The patient whom a form is about, by id or by a study's."""
        if found := _PATIENT.search(form):
            return int(found[1])
        found = _STUDY.search(form)
        return self._owners.get(int(found[1])) if found else None

    def _named(self, question: str) -> int | None:
        """The patient whom a question names, by id or by a study's."""
        for found in _NUMBER.findall(question):
            number = int(found)
            if number in self._splits:
                return number
            if number in self._owners:
                return self._owners[number]
        return None

    def _is_asked(self, pair: Pair) -> bool:
        return not self._asked.isdisjoint(_marks(pair.question, pair.form))

    def _owners_of_studies(self) -> Mapping[int, int]:
        if not self._sources.labels:
            return {}
        rows = self._sources.working.fetch("SELECT study_id, subject_id FROM tb_cxr")
        return {int(str(study)): int(str(patient)) for study, patient in rows}

    def _all_kinds(self) -> Iterator[QuestionKind]:
        generator = self._generator
        for template in generator.library.families["table"]:
            said = self._sources.paraphrases.of("table", template.text)
            nodes = tuple(parse_wording(slotted(text)) for text in said)
            other = replace(template, wordings=nodes, words={}) if said else None
            make = partial(_of_tables, generator)
            yield QuestionKind(
                "table", template.text, _either(make, template, other, generator.rng)
            )
        if self._sources.labels is None:
            return
        present = self._sources.labels.present()
        for modality in ("image", "image+table"):
            maker = AnchoredImages(modality, generator, present)
            for one in maker.templates:
                said = self._sources.paraphrases.of(modality, one.text)
                instead = replace(one, wordings=said, variants=()) if said else None
                take = partial(_of_images, maker)
                yield QuestionKind(modality, one.text, _either(take, one, instead, generator.rng))


def _either(
    make: Callable[[Any, float], Pair], own: Any, other: Any, rng: random.Random
) -> Callable[[float], Pair]:
    """A pair of a template, or half of the time of the one that has its paraphrases."""
    if other is None:
        return partial(make, own)
    return lambda loose: make(other if rng.random() < _PARAPHRASED else own, loose)


def _of_tables(generator: AnchoredGenerator, template: Template, loose: float) -> Pair:
    form = "".join(text for text, _ in template.pieces)
    slots = [name.partition(":")[0] for name in template.slots]
    found = _PRESENT.search(form)
    present = "" if not found else "icu" if "icu" in found[0] else "visit"
    generator.sampler.focus(slots, loose, present=present)
    return Generator.from_template(generator, template)


def _of_images(maker: AnchoredImages, template: ImageTemplate, loose: float) -> Pair:
    maker.focus(template.form, loose)
    return maker.from_template(template)


def _marks(question: str, form: str) -> list[bytes]:
    """What no second question may share: the words, and (of one with an answer) the form."""
    texts = ["q " + " ".join(question.lower().split())]
    if form != "abstain":
        texts.append("f " + form)
    return [hashlib.blake2b(text.encode(), digest_size=10).digest() for text in texts]


def _order(row: Sequence[Any]) -> list[tuple[bool, Any]]:
    """Numbers before text."""
    return [(isinstance(cell, str), cell) for cell in row]


def _key(form: Form, rows: tuple[Row, ...]) -> str:
    """What an answer is counted as when answers are kept even."""
    if _is_yes_no(form):
        return "yes" if rows[0][0] else "no"
    cells: list[Any] = sorted(str(row[0]) for row in rows)
    return cells[0] if len(cells) == 1 else f"{len(rows)} rows: {cells[0]}"


def _is_yes_no(form: Form) -> bool:
    if isinstance(form, Select):
        return form.head in ("exists", "none")
    return isinstance(form, Combine) and form.op in ("less", "greater", "equal", "and", "or")
