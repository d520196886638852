"""One pass of a model over the questions, with every check of the engine off.

What the model writes is run and judged, whatever the engine would have withheld; so every signal
can be measured afterwards from the records alone. With ``out`` the records are kept and a run that
was broken off goes on where it stopped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.engine import Session
from ehrqa_cli.engine.parts import shipped_model
from ehrqa_cli.evaluate.ehrsql.execution import Judge, open_judge
from ehrqa_cli.evaluate.ehrsql.load import Dataset, Item
from ehrqa_cli.evaluate.files import hash_file
from ehrqa_cli.evaluate.journal import Journal, Made, Plain
from ehrqa_cli.evaluate.records import Record, join_record, split_record
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.evaluate.systems import ABSTAIN, GOLD, OURS
from ehrqa_cli.evaluate.variants import CHECKS_OFF
from ehrqa_papers.abstention.written import read_written
from ehrqa_papers.versions import code_hash

SHIPPED = "shipped"
GIVEN = "given"  # the method of a regime whose answers stand in a file, or are gold


@dataclass(frozen=True)
class Regime:
    """A model file and whether it may decline by itself. A model that was trained on answerable
    questions only may not: its form for declining was never learnt."""

    label: str
    path: Path
    may_abstain: bool
    method: str = "beam"

    @property
    def name(self) -> str:
        """Label and mode, for people."""
        if self.method == GIVEN:
            return self.label
        return f"{self.label}, own abstention {'allowed' if self.may_abstain else 'forbidden'}"

    @property
    def folder(self) -> str:
        """The name of the folder of its records, which `eval compare` reads like any run's."""
        if self.method == GIVEN:
            return f"{self.label}-{GIVEN}"
        mode = "allowed" if self.may_abstain else "forbidden"
        return f"{self.label}-{self.method}-{mode}"


def given_regime(text: str) -> Regime:
    """The regime of ``gold``, ``abstain`` or ``[LABEL=]FILE``. Raises EvaluationError."""
    label, _, file = text.rpartition("=")
    if file in (GOLD, ABSTAIN):
        return Regime(label or file, Path(file), True, GIVEN)
    path = Path(file)
    if not path.is_file():
        raise EvaluationError(
            f"there is no system '{file}', and no file of that name",
            f"the systems are {OURS}, {GOLD}, {ABSTAIN}, or a file of predictions with scores",
        )
    return Regime(label or path.stem, path, True, GIVEN)


def check_labels(regimes: Sequence[Regime]) -> None:
    """Raises EvaluationError where two would be kept in one folder."""
    for k, regime in enumerate(regimes):
        if not re.fullmatch(r"[\w.-]+", regime.label) or regime.folder in {
            other.folder for other in regimes[:k]
        }:
            raise EvaluationError(
                f"the label '{regime.label}' is no plain word, or is given twice",
                "write LABEL=FILE with a label of letters and digits for each",
            )


def parse_models(given: Sequence[str]) -> list[tuple[str, Path]]:
    """``[LABEL=]FILE`` as (label, path); ``shipped`` is the shipped model. Raises
    EvaluationError for a label that is given twice or is no plain word."""
    found: list[tuple[str, Path]] = []
    for text in given or (SHIPPED,):
        label, _, file = text.rpartition("=")
        path = shipped_model() if file == SHIPPED else Path(file)
        label = label or (SHIPPED if file == SHIPPED else path.stem)
        if not re.fullmatch(r"[\w.-]+", label) or label in dict(found):
            raise EvaluationError(
                f"the model label '{label}' is no plain word, or is given twice",
                "write --model LABEL=FILE with a label of letters and digits for each",
            )
        found.append((label, path))
    return found


@dataclass(frozen=True)
class Runner:
    """Asks every question once per regime, with so many ``workers`` (see engine.many; the answers
    are the same). ``progress`` is called with (done, all, what)."""

    db: Path
    datasets: Sequence[Dataset]
    out: Path | None = None
    limit: int | None = None
    threads: int = 2
    workers: int | None = None
    progress: Callable[[int, int, str], None] = lambda _done, _all, _what: None

    def run(self, regime: Regime) -> tuple[dict[str, Any], dict[str, Record]]:
        """The header (data, model and their hashes) and the records by question id."""
        if regime.method == GIVEN:
            return self._given(regime)
        with ExitStack() as stack:
            session = stack.enter_context(open_unchecked(self.db, regime, self.threads))
            # Another process has its own processor: one thread each.
            session.reopen = partial(open_unchecked, self.db, regime, 1)
            items = {item.id: item for item in self.items()}
            judge = open_judge(stack, list(items.values()), session, self.db)
            header = self._header(session)
            journal = Journal(self.out / regime.folder if self.out else None, header)

            def make(todo: Sequence[str]) -> Iterator[Made]:
                asked = [items[key] for key in todo]
                for item, answer in zip(asked, self._answers(asked, session), strict=True):
                    yield item.id, *split_record(_record(item, answer, judge))

            found = journal.run_many(
                list(items), make, lambda done: self.progress(done, len(items), regime.name)
            )
        told = journal.seconds
        return header, {line["id"]: join_record(line, told.get(line["id"], {})) for line in found}

    def _given(self, regime: Regime) -> tuple[dict[str, Any], dict[str, Record]]:
        """Of answers that are there already: queries are run, nothing is asked."""
        items = {item.id: item for item in self.items()}
        written, made = read_written(regime.path, items)
        with ExitStack() as stack:
            judge = open_judge(stack, list(items.values()), None, self.db)
            header = {
                **self._about(judge.as_of),
                "predictor": made,
                "checks": "off",
                "versions": Session(self.db).versions,
                "code": code_hash(),
            }
            journal = Journal(self.out / regime.folder if self.out else None, header)

            def make(key: str) -> tuple[Plain, Plain]:
                query, scores = written[key]
                plain, _ = split_record(replace(judge.of_sql(items[key], query), scores=scores))
                return plain, {}

            found = journal.run(
                list(items), make, lambda done: self.progress(done, len(items), regime.name)
            )
        return header, {line["id"]: join_record(line, {}) for line in found}

    def _answers(self, items: Sequence[Item], session: Session) -> Iterator[Answer]:
        questions = [Question(text=item.question, id=item.id) for item in items]
        return session.ask_many(questions, workers=self.workers)

    def items(self) -> list[Item]:
        """The questions of all datasets; about ``limit`` of each, spread evenly."""
        return [item for data in self.datasets for item in every_nth(data.items, self.limit)]

    def _about(self, as_of: str) -> dict[str, Any]:
        return {
            "benchmark": "ehrsql",
            "datasets": [
                {"name": d.name, "split": d.split, "version": d.version, "sha256": d.sha256}
                for d in self.datasets
            ],
            "database_sha256": hash_file(self.db),
            "as_of": as_of,
            "limit": self.limit,
        }

    def _header(self, session: Session) -> dict[str, Any]:
        return {
            **self._about(session.as_of),
            "predictor": dict(session.model.provenance()),
            "judge": dict(session.judge.provenance()) if session.judge else None,
            "checks": "off",
            "versions": session.versions,
            "code": code_hash(),
        }


def open_unchecked(db: Path, regime: Regime, threads: int) -> Session:
    """A session of this model with every check off. Raises ModelError."""
    return Session(db, model=_open(regime, threads), thresholds=CHECKS_OFF)


def _open(regime: Regime, threads: int) -> Text2Sql:
    from ehrqa_cli.text2sql.local import LocalModel

    return LocalModel(regime.path, threads, method=regime.method, may_abstain=regime.may_abstain)


def _record(item: Item, answer: Answer, judge: Judge) -> Record:
    record = judge.of_answer(item, answer)
    if answer.neuralsql is not None and answer.status is not Status.ANSWERED:
        # A query that does not run was still given as an answer, and is a wrong one.
        record = replace(record, status="answered", correct=False, prediction=answer.neuralsql)
    return record
