"""One pass of a model over the questions, with every check of the engine off.

What the model writes is run and judged, whatever the engine would have withheld; so every signal
can be measured afterwards from the records alone. With ``out`` the records are kept and a run that
was broken off goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EhrqaError, EvaluationError
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.engine import Session, ask
from ehrqa_cli.engine.confidence import KINDS, Thresholds
from ehrqa_cli.engine.parts import shipped_model
from ehrqa_cli.evaluate.ehrsql import Judge
from ehrqa_cli.evaluate.load import Dataset, Item
from ehrqa_cli.evaluate.records import Record, Records

# Where nothing was written there is nothing to run; every other check is off.
_OBEYED = ("model_declined", "no_form", "execution_error")
CHECKS_OFF = Thresholds(
    limit=None,
    ignore=tuple(kind for kind in KINDS if kind not in _OBEYED),
    source={"chosen": "all checks off"},
)
SHIPPED = "shipped"


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
        return f"{self.label}, own abstention {'allowed' if self.may_abstain else 'forbidden'}"

    @property
    def file_name(self) -> str:
        """The name of its records' file."""
        mode = "allowed" if self.may_abstain else "forbidden"
        return f"records-{self.label}-{self.method}-{mode}.jsonl"


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
    """Asks every question once per regime. ``progress`` is called with (done, all, what)."""

    db: Path
    datasets: Sequence[Dataset]
    out: Path | None = None
    limit: int | None = None
    threads: int = 2
    progress: Callable[[int, int, str], None] = lambda _done, _all, _what: None

    def run(self, regime: Regime) -> tuple[dict[str, Any], dict[str, Record]]:
        """The header (data, model and their hashes) and the records by question id."""
        model = _open(regime, self.threads)
        with Session(self.db, model=model, thresholds=CHECKS_OFF) as session:
            header = self._header(regime, session)
            store = Records(self.out / regime.file_name, header) if self.out else None
            judge = Judge(session.database, session.as_of, frozenset())
            items = self.items()
            found: dict[str, Record] = {}
            for number, item in enumerate(items, 1):
                record = store.done.get(item.id) if store else None
                if record is None:
                    record = _record(item, session, judge)
                    if store:
                        store.add(record)
                found[item.id] = record
                self.progress(number, len(items), regime.name)
        return header, found

    def items(self) -> list[Item]:
        """The questions of all datasets; about ``limit`` of each, spread evenly."""
        out = []
        for dataset in self.datasets:
            items, n = dataset.items, self.limit or len(dataset.items)
            n = min(n, len(items))
            out += [items[i * len(items) // n] for i in range(n)]
        return out

    def _header(self, regime: Regime, session: Session) -> dict[str, Any]:
        with self.db.open("rb") as file:
            database = hashlib.file_digest(file, "sha256").hexdigest()
        return {
            "datasets": [
                {"name": d.name, "split": d.split, "version": d.version, "sha256": d.sha256}
                for d in self.datasets
            ],
            "database_sha256": database,
            "as_of": session.as_of,
            "limit": self.limit,
            "predictor": dict(session.model.provenance()),
            "second": dict(session.second.provenance()) if session.second else None,
            "checks": "off",
            "versions": session.versions,
        }


def _open(regime: Regime, threads: int) -> Text2Sql:
    from ehrqa_cli.text2sql.local import LocalModel

    return LocalModel(regime.path, threads, method=regime.method, may_abstain=regime.may_abstain)


def _record(item: Item, session: Session, judge: Judge) -> Record:
    question = Question(text=item.question, id=item.id)
    try:
        answer = ask(question, session)
    except EhrqaError as error:  # a question the engine refuses to read is a row, not the end
        answer = Answer(
            question, Status.FAILED, error={"message": error.message, "hint": error.hint}
        )
    record = judge.of_answer(item, answer)
    if answer.neuralsql is not None and answer.status is not Status.ANSWERED:
        # A query that does not run was still given as an answer, and is a wrong one.
        record = replace(record, status="answered", correct=False, prediction=answer.neuralsql)
    return record
