"""EHRNoteQA as a benchmark: an option or words from a patient's notes, with what is cited."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from ehrqa_cli.contracts.benchmarks import (
    Baseline,
    Benchmark,
    BenchmarkItem,
    Execute,
    Figures,
    Measure,
    Measured,
    Reads,
    Record,
)
from ehrqa_cli.contracts.errors import EvaluationError, UsageError
from ehrqa_cli.contracts.notes import NoteSpan
from ehrqa_cli.contracts.types import WITHHELD, Answer, Question, Scope, Status
from ehrqa_cli.evaluate.answering import System
from ehrqa_cli.evaluate.ehrnoteqa.load import NoteQuestion, NoteSet, count_by_level, load_noteqa
from ehrqa_cli.evaluate.ehrnoteqa.score import MULTI_CHOICE, record_of
from ehrqa_cli.evaluate.ehrnoteqa.tables import (
    accuracy_table,
    decline_table,
    evidence_scores,
    evidence_table,
    grades_of,
    judge_table,
    judged,
    mean,
)
from ehrqa_cli.evaluate.note_answers import LONGEST, NoteSystem, answer_of, cited
from ehrqa_cli.evaluate.note_desk import DeskSystem
from ehrqa_cli.evaluate.systems import EHRNOTEQA


class EhrNoteQa(Benchmark):
    """``notes`` is the file of notes where it is not with the questions; ``form`` is multi-choice
    or free-text; ``level`` keeps one of the paper's levels. The judge is asked five times about
    each answer."""

    name: ClassVar[str] = "ehrnoteqa"
    about: ClassVar[str] = "discharge summaries; five choices or free text, evidence"
    needs: ClassVar[str] = "EHRNoteQA.jsonl, or open questions.jsonl and notes.jsonl"
    reads: ClassVar[Reads] = Reads.WORDS
    systems: ClassVar[Mapping[str, str]] = EHRNOTEQA
    judged: ClassVar[bool] = True
    together: ClassVar[str] = "patient_id"
    header: ClassVar[tuple[str, ...]] = (
        *("benchmark", "layout", "format", "dataset_sha256", "notes_sha256", "questions", "level"),
        *("predictor", "judge", "seed", "code"),
    )

    def __init__(
        self, notes: Path | None = None, form: str = MULTI_CHOICE, level: str | None = None
    ) -> None:
        self.notes, self.form, self.level = notes, form, level
        self.data: NoteSet | None = None

    def load(self, data: Path, split: str) -> Sequence[BenchmarkItem]:
        """As the contract says; there is one split under any name."""
        self.data = load_noteqa(data, self.notes)
        kept = [i for i in self.data.items if self.level in (None, i.level)]
        if self.form == MULTI_CHOICE:
            kept = [i for i in kept if i.choices]
        if not kept:
            where = f" of level {self.level}" if self.level else ""
            raise EvaluationError(
                f"{data} has no questions{where} for {self.form}", "leave --level out"
            )
        return [self._item(item) for item in kept]

    def _item(self, item: NoteQuestion) -> BenchmarkItem:
        choices = tuple(item.choices.items()) if self.form == MULTI_CHOICE else ()
        question = Question(item.question, item.id, item.notes[0].patient_id, choices=choices)
        gold = item.answer if self.form == MULTI_CHOICE else item.answer_text
        return BenchmarkItem(question, gold, item.category, item)

    def facts(self) -> Mapping[str, Any]:
        """As the contract says."""
        assert self.data is not None
        return {
            "layout": self.data.layout,
            "format": self.form,
            "dataset_sha256": self.data.sha256,
            "notes_sha256": self.data.notes_sha256,
            "level": self.level,
        }

    def record(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> dict[str, Any]:
        """As the contract says."""
        return record_of(item.more, answer, self.form, self.judge)

    def score(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> Record:
        """As the contract says."""
        return self.record(item, answer, execute)

    def measures(self, records: Sequence[Record]) -> Mapping[str, Measure]:
        """As the contract says: of the questions with an answer; declining one counts as 0."""

        def grade(
            read: Callable[[Record], float | None], defined: Callable[[Record], bool]
        ) -> Measure:
            return lambda r: (float(read(r) or 0.0), float(r["answerable"] and defined(r)))

        def verdict(r: Record) -> float | None:
            said = r.get("verdicts")
            return sum(said) / len(said) if said else None

        heard = any("verdicts" in r for r in records)
        return {
            "accuracy": grade(lambda r: r.get("correct"), lambda r: "correct" in r),
            "exact match": grade(lambda r: r.get("exact"), lambda r: "correct" not in r),
            "F1": grade(lambda r: r.get("f1"), lambda r: "correct" not in r),
            "judge": grade(verdict, lambda _r: heard),
            "declined of unanswerable": lambda r: (
                float(not r["answerable"] and r["status"] in WITHHELD),
                float(not r["answerable"]),
            ),
        }

    def figures(self, found: Measured) -> Figures:
        """As the contract says."""
        records, judge = found.records, self.judge
        scored = [r for r in records if r["answerable"]]
        scores: dict[str, Any] = {
            name: asdict(mean(scored, grade, found.seed))
            for name, grade in grades_of(self.form).items()
        }
        takes = judged(records) if judge else None
        if takes is not None:
            told = {"mean": takes.mean, "deviation": takes.deviation, "takes": list(takes.scores)}
            scores["judge"] = told
        scores["evidence"] = {
            k: {n: asdict(v) for n, v in part.items()} if isinstance(part, dict) else part
            for k, part in evidence_scores(records).items()
        }
        ends = Counter(record["status"] for record in records)
        scores |= {"answered": ends["answered"], "declined": sum(ends[x] for x in WITHHELD)}
        scores["failed"] = ends["failed"]
        tables = (
            accuracy_table(records, self.form, found.seed),
            decline_table(records),
            evidence_table(records),
            judge_table(records, judge.name) if judge else None,
        )
        levels = count_by_level([item.more for item in found.items])
        counts = ", ".join(f"{n} of {name}" for name, n in levels.items())
        shown = tuple(table for table in tables if table is not None)
        return Figures(scores, shown, notes=(counts,))

    def asked(self, system: NoteSystem, workers: int | None = None) -> System:
        """A reader of notes as what is measured."""

        def answers(items: Sequence[BenchmarkItem]) -> Iterable[Answer]:
            system.prepare({n.note_id: n for item in items for n in item.more.notes}.values())
            if isinstance(system, DeskSystem):
                return system.answers([item.question for item in items], workers)
            return (_asked(system, item) for item in items)

        return System("this system", dict(system.provenance()), answers)

    def baseline(self, name: str, items: Sequence[BenchmarkItem], seed: int) -> Baseline:
        """Ways to choose an option without reading; they know nothing of which questions have no
        answer. Raises UsageError."""
        if self.form != MULTI_CHOICE:
            raise UsageError(f"{name} chooses among options", "use it with --format multi-choice")
        asked = [item.more for item in items]
        if name == "most-common":
            letters = _most_common(asked)
        else:
            letters = [_longest(i) for i in asked] if name == "longest" else _drawn(asked, seed)
        pairs = zip(items, letters, strict=True)
        return Baseline([_said(i, i.more.choices[letter], letter) for i, letter in pairs])

    def perfect(self, item: BenchmarkItem, execute: Execute) -> Answer:
        """As the contract says, with the gold lines cited."""
        one: NoteQuestion = item.more
        if not one.answerable:
            return Answer(item.question, Status.ABSTAINED)
        texts = {note.note_id: note.text for note in one.notes}
        spans = []
        for gold in one.evidence:
            end = min(gold.end, gold.start + LONGEST)
            excerpt = texts[gold.note_id][gold.start : end]
            spans.append(NoteSpan(gold.note_id, gold.start, end, excerpt))
        choice = one.answer if self.form == MULTI_CHOICE else None
        return _said(item, one.answer_text or "", choice, spans)

    @classmethod
    def sample(cls, folder: Path) -> tuple[Path, str]:
        """As the contract says."""
        note = {"note_id": "n", "patient_id": "7", "text": "Takes 40 mg daily."}
        asked = [("q1", "What dose?", "B"), ("q2", "Who wrote this?", None)]
        options = {"A": "20 mg", "B": "40 mg"}
        rows = [
            {"id": k, "patient_id": "7", "question": text, "choices": options, "answer": letter}
            for k, text, letter in asked
        ]
        (folder / "notes.jsonl").write_text(json.dumps(note), encoding="utf-8")
        lines = "\n".join(map(json.dumps, rows))
        (folder / "questions.jsonl").write_text(lines, encoding="utf-8")
        return folder, "all"


def _asked(system: NoteSystem, item: BenchmarkItem) -> Answer:
    question, choices = item.question, dict(item.question.choices) or None
    return answer_of(question, lambda: system.answer(question.text, item.more.notes, choices))


def _said(
    item: BenchmarkItem, text: str, choice: str | None, spans: Sequence[NoteSpan] = ()
) -> Answer:
    evidence = tuple(cited(span) for span in spans)
    return Answer(
        item.question, Status.ANSWERED, Scope.NOTE, text=text, choice=choice, evidence=evidence
    )


def _most_common(items: Sequence[NoteQuestion]) -> list[str]:
    """For each question the letter that is right most often of the others, so that its own answer
    is never looked at; of equally common ones the first."""
    counts = Counter(item.answer for item in items if item.answer is not None)
    found = []
    for item in items:
        left = {k: counts[k] - (k == item.answer) for k in item.choices}
        found.append(max(sorted(left), key=lambda letter: left[letter]))
    return found


def _longest(item: NoteQuestion) -> str:
    return max(sorted(item.choices), key=lambda letter: len(item.choices[letter]))


def _drawn(items: Sequence[NoteQuestion], seed: int) -> list[str]:
    # A draw of its own for each question: the same with --limit and without.
    return [random.Random(f"{seed} {i.id}").choice(sorted(i.choices)) for i in items]
