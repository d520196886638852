"""Runs that ``--out`` left, of any benchmark: their records read back, and what each counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli import registry
from ehrqa_cli.contracts.benchmarks import Benchmark, Measure, Record
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.types import WITHHELD
from ehrqa_cli.evaluate.journal import RECORDS, TIMINGS, whole_lines
from ehrqa_cli.evaluate.metrics import measures_of

Plain = dict[str, Any]

RIGHT, WRONG, DECLINED, FAILED = "right", "wrong", "declined", "failed"
_MADE_BY = "give a folder that `ehrqa eval BENCHMARK --out DIR` wrote"


@dataclass(frozen=True)
class SavedRun:
    """``header`` names data and system by their hashes; ``records`` are by question id, in the
    order of the questions; ``seconds`` by question id and step, where they were kept."""

    folder: Path
    benchmark: str
    header: Plain
    records: Mapping[str, Plain]
    seconds: Mapping[str, Mapping[str, float]]

    @property
    def name(self) -> str:
        """The benchmark with its task, format or split."""
        parts = (self.header.get(key) for key in ("task", "format", "split"))
        return " ".join([self.benchmark, *(str(part) for part in parts if part)])

    @property
    def title(self) -> str:
        """The name with the start of the data's hash."""
        digest = self.header.get("dataset_sha256") or self.header.get("database") or "no hash"
        return f"{self.name} ({str(digest)[:16]})"


def read_run(folder: Path) -> SavedRun:
    """Read ``records.jsonl`` of a folder. Raises EvaluationError."""
    path = folder / RECORDS
    if not folder.is_dir():
        kind = "is a file, not a folder" if folder.exists() else "does not exist"
        raise EvaluationError(f"{folder} {kind}", _MADE_BY)
    if not path.is_file():
        raise EvaluationError(f"{folder} holds no {RECORDS}", _MADE_BY)
    lines = _objects(path)
    header = lines[0].get("header") if lines else None
    if not isinstance(header, dict):
        raise EvaluationError(f"{path} does not begin with the header of a run", _MADE_BY)
    benchmark = str(header.get("benchmark") or header.get("dataset") or "")
    if benchmark not in _MEASURES and _name(benchmark) not in registry.names(registry.BENCHMARK):
        raise EvaluationError(f"{path} is of an unknown benchmark, '{benchmark}'", _MADE_BY)
    records = {str(line["id"]): line for line in lines[1:] if "id" in line}
    if not records:
        raise EvaluationError(f"{path} holds no answers yet", "let the run go on first")
    return SavedRun(folder, benchmark, header, records, _seconds(folder, records))


def measures(run: SavedRun) -> Mapping[str, Measure]:
    """What a benchmark counts, by its own names; the same order in all its runs."""
    if run.benchmark in _MEASURES:
        return _MEASURES[run.benchmark](run)
    records = list(run.records.values())
    return _plugin(run.benchmark).measures(records) or measures_of(records)


def states(record: Record) -> dict[str, str]:
    """``right``, ``wrong``, ``declined`` or ``failed``, by system where a record is of several
    (else under an empty name). Declining a question without an answer is right."""
    if isinstance(record.get("systems"), dict):
        return {
            name: states({**one, "gold": record.get("gold")})[""]
            for name, one in record["systems"].items()
        }
    if isinstance(record.get("predictions"), dict):
        gold = record.get("gold")
        return {
            name: RIGHT if gold is not None and given == gold else WRONG
            for name, given in record["predictions"].items()
        }
    status = record.get("status", "answered")
    if status == "failed":
        return {"": FAILED}
    if status in WITHHELD:
        return {"": DECLINED if answerable(record) else RIGHT}
    return {"": RIGHT if is_right(record) else WRONG}


def answerable(record: Record) -> bool:
    """Has the question an answer?"""
    if "answerable" in record:
        return bool(record["answerable"])
    return "gold" not in record or record["gold"] is not None


def is_right(record: Record) -> bool:
    """Is the answer right? A graded one is right when judges mostly say so; without judges when it
    is word for word that of gold."""
    if record.get("correct") is not None:
        return bool(record["correct"])
    verdicts = record.get("verdicts")
    if verdicts:
        return bool(sum(verdicts) / len(verdicts) >= 0.5)
    return bool(record.get("exact", record.get("em", 0.0)) == 1.0)


def cluster(run: SavedRun) -> Callable[[str], str]:
    """What is resampled with a question: all questions about its study, patient or note, as the
    benchmark's own intervals do."""
    if run.benchmark == "emrqa":
        notes = "em" in next(iter(run.records.values()))
        return lambda key: key.rpartition("/")[0] if notes else key
    together = "" if run.benchmark in _MEASURES else _plugin(run.benchmark).together
    return lambda key: str(run.records[key].get(together)) if together else key


def _abstention(run: SavedRun) -> dict[str, Measure]:
    """Those of the paper's tables for each system; a method is measured where it has an outcome,
    which is the test part."""
    names = dict.fromkeys(name for r in run.records.values() for name in r.get("systems", {}))
    plain = measures_of(list(run.records.values()))

    def of(name: str, measure: Measure) -> Measure:
        def one(r: Record) -> tuple[float, float]:
            found = r.get("systems", {}).get(name)
            return (0.0, 0.0) if found is None else measure({**found, "gold": r.get("gold")})

        return one

    wanted = ("F1_ans", "P_exe", "R_exe", "F1_exe")
    return {f"{name}, {m}": of(name, plain[m]) for name in names for m in wanted}


def _spider(_run: SavedRun) -> dict[str, Measure]:
    return {
        "exact match": lambda r: (float(r["correct"]), 1.0),
        "execution": lambda r: (float(bool(r["execution"])), float(r["execution"] is not None)),
    }


def _emrqa(run: SavedRun) -> dict[str, Measure]:
    first = next(iter(run.records.values()))
    if "predictions" not in first:
        return {"exact match": lambda r: (r["em"], 1.0), "F1": lambda r: (r["f1"], 1.0)}

    def of(split: str, name: str) -> Measure:
        def one(r: Record) -> tuple[float, float]:
            counted = r["gold"] is not None and str(r["id"]).startswith(split)
            return float(counted and states(r).get(name) == RIGHT), float(counted)

        return one

    # Forms are measured on two splits, which are never joined.
    forms = run.header.get("task") == "forms"
    splits = dict.fromkeys(k.rpartition("/")[0] + "/" if forms else "" for k in run.records)
    return {f"{split}{name}": of(split, name) for split in splits for name in first["predictions"]}


# Of the benchmarks that are no plugins.
_MEASURES: dict[str, Callable[[SavedRun], dict[str, Measure]]] = {
    "abstention": _abstention,
    "spider": _spider,
    "emrqa": _emrqa,
}


def _name(benchmark: str) -> str:
    return "ehrsql" if benchmark.startswith("ehrsql") else benchmark  # of 2022 and of 2024


def _plugin(benchmark: str) -> Benchmark:
    return registry.load(registry.BENCHMARK, _name(benchmark), Benchmark)()  # type: ignore[type-abstract]


def _seconds(folder: Path, records: Mapping[str, Plain]) -> dict[str, dict[str, float]]:
    path = folder / TIMINGS
    lines = _objects(path) if path.is_file() else []
    found = {str(line.pop("id")): line for line in lines if "id" in line}
    inside = {key: record["timings"] for key, record in records.items() if record.get("timings")}
    return found | inside


def _objects(path: Path) -> list[Plain]:
    try:
        return list(whole_lines(path))
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check the path") from None
    except UnicodeDecodeError:
        raise EvaluationError(f"{path} is not text", _MADE_BY) from None
