"""Questions with known answers, asked with the soft checks off: what thresholds are chosen from.

Files and answers are read as `ehrqa eval own` reads them (own.py).
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import Question, Status
from ehrqa_cli.engine import Session, ask
from ehrqa_cli.evaluate.answering import executor
from ehrqa_cli.evaluate.own import OwnQuestions, accepted
from ehrqa_cli.evaluate.records import Record
from ehrqa_cli.evaluate.rows import same_rows
from ehrqa_cli.evaluate.thresholds import Known

_ID = re.compile(r"(?<![\w.,/:-])\d{4,}(?![\w%]|[./:-]\d)")
_YEAR = re.compile(r"(?:19|20|21)\d\d")


@dataclass(frozen=True)
class GoldQuestion:
    """One question with its gold as own.py has it: {"sql": ...}, {"rows": ...}, {"any": [...]} of
    several, or None where it is to be declined. ``group`` (a template or family) is left out as a
    whole when thresholds are chosen."""

    question: str
    gold: Mapping[str, Any] | None = None
    patient_id: int | None = None
    group: str = ""
    source: str = ""
    weight: float = 1.0


def read_gold(path: Path) -> list[GoldQuestion]:
    """The questions of a file as `ehrqa eval own` reads it. Raises EvaluationError."""
    return [
        GoldQuestion(
            item.question.text,
            item.gold,
            item.question.patient_id,
            str(item.more.get("group") or item.more.get("template") or item.question.text),
        )
        for item in OwnQuestions().load(path, "")
    ]


def ask_all(
    items: Sequence[GoldQuestion],
    session: Session,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[Known]:
    """A record of each question; those whose gold query does not run raise EvaluationError."""
    out = []
    for number, item in enumerate(items, 1):
        out.append(Known(_record(number, item, session), item.group, item.source, item.weight))
        progress(number, len(items))
    return out


def _record(number: int, item: GoldQuestion, session: Session) -> Record:
    name = f"“{item.question[:60]}”"
    golds = accepted(item.gold, executor(session), name) if item.gold is not None else []
    told = None if item.gold is None else json.dumps(item.gold)
    question = Question(item.question, str(number), item.patient_id)
    try:
        answer = ask(question, session)
    except EhrqaError as error:  # a question the engine refuses to read is a row, not the end
        return Record(str(number), item.question, told, None, "failed", False, why=str(error))
    answered = answer.status is Status.ANSWERED
    return Record(
        str(number),
        item.question,
        told,
        answer.neuralsql if answered else None,
        answer.status.value,
        answered and any(same_rows(answer.rows, gold) for gold in golds),
        why=answer.reason_kind,
        logical_form=answer.logical_form,
        confidence=answer.confidence,
        scores=answer.scores,
        timings=answer.timings,
    )


def swap_ids(question: str, ids: Sequence[int], rng: random.Random) -> str:
    """The question with real ids of patients in place of its numbers that look like ids.

    In EHRSQL-2024 no unanswerable question has the id of a real patient, so an id gives the
    answer away; what depends on that shows when it is swapped. Years stay.
    """

    def real(match: re.Match[str]) -> str:
        return match[0] if _YEAR.fullmatch(match[0]) else str(rng.choice(ids))

    return _ID.sub(real, question)
