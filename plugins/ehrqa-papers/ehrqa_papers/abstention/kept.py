"""A study's questions as ``records.jsonl``, so that two studies can be compared and one be drawn.

A record has an outcome for each regime, whatever it answered, and on the test part of the new split
(first seed) one for each of the paper's methods too, whose threshold the validation part chose.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.files import write_whole
from ehrqa_cli.evaluate.journal import RECORDS, TIMINGS, run_hash
from ehrqa_cli.evaluate.records import Record
from ehrqa_papers.abstention.plan import Plan
from ehrqa_papers.abstention.study import Study

NAME = "abstention"


def header_of(headers: Mapping[str, Mapping[str, Any]], plan: Plan) -> dict[str, Any]:
    """What the study rests on; ``headers`` are those of its regimes."""
    first = next(iter(headers.values()))
    return {
        "benchmark": NAME,
        "task": f"new split {plan.split}, seed {plan.seed}",
        "split": " + ".join(str(data["split"]) for data in first["datasets"]),
        "dataset_sha256": run_hash({"datasets": [data["sha256"] for data in first["datasets"]]}),
        "database_sha256": first["database_sha256"],
        "as_of": first.get("as_of"),
        "precision": plan.precision,
        "ratios": list(plan.ratios),
        "predictors": {name: header["predictor"] for name, header in headers.items()},
        "versions": first.get("versions"),
        "code": first.get("code"),
    }


def write_study(
    out: Path, headers: Mapping[str, Mapping[str, Any]], studies: Sequence[Study]
) -> None:
    """Write the records and seconds of ``studies``, which are of the same questions. Raises
    EvaluationError."""
    header = header_of(headers, studies[0].plan)
    run = run_hash(header)
    parts = studies[0].parts_of()
    answered = {study.name: study.answered_by() for study in studies}
    lines: list[dict[str, Any]] = [{"header": header}]
    seconds: list[dict[str, Any]] = []
    for key, first in studies[0].records.items():
        systems: dict[str, Any] = {}
        for study in studies:
            record = study.records[key]
            systems[study.name] = _told(record)
            for method, given in answered[study.name].items():
                if key in given:
                    systems[f"{study.name}: {method}"] = _outcome(record, given[key])
        lines.append(
            {
                "id": key,
                "question": first.question,
                "gold": first.gold,
                "template": first.template,
                "part": parts.get(key),
                "systems": systems,
                "run": run,
            }
        )
        totals = {s.name: s.records[key].timings.get("total") for s in studies}
        told = {name: one for name, one in totals.items() if one is not None}
        if told:  # of answers from a file no time is known
            seconds.append({"id": key, **told})
    try:
        write_whole(out / TIMINGS, "".join(map(_line, seconds)))
        write_whole(out / RECORDS, "".join(map(_line, lines)))
    except OSError as error:
        raise EvaluationError(f"cannot write to {out}: {error.strerror}", "check --out") from None


def _told(record: Record) -> dict[str, Any]:
    return {
        "status": record.status,
        "prediction": record.prediction,
        "correct": record.correct,
        "why": record.why,
        "logical_form": record.logical_form,
        "scores": record.scores,
    }


def _outcome(record: Record, answers: bool) -> dict[str, Any]:
    """By a method that answers where ``answers``. A fault is no abstention."""
    if record.status == "failed":
        return {"status": "failed", "correct": False}
    return {"status": "answered" if answers else "abstained", "correct": answers and record.correct}


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
