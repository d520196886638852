"""How fast and how big: seconds a question, peak memory, decoding against the memory's bound.

    python tests/benchmarks/speed.py --db mimic_iv.sqlite --data ehrsql-2024 --split valid -n 200

Questions come from EHRSQL's data.json, evenly spread. The bound: a lexeme must read every weight of
the decoder once, as the numbers of four bytes that onnxruntime unfolds them to, so lexemes/s from
memory cannot exceed copy bandwidth over their size (a cache that holds them is faster). Never run
as a test.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.types import Question
from ehrqa_cli.engine import Session, ask, open_session
from ehrqa_cli.engine.parts import shipped_model
from ehrqa_cli.evaluate.ehrsql.load import load_ehrsql
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.text2sql.network import DECODER

MIB = 1 << 20


def copy_bandwidth(size: int = 256 * MIB, rounds: int = 5) -> float:
    """Bytes a second that a large copy reads, best of ``rounds``."""
    import numpy as np

    source = np.ones(size, dtype=np.uint8)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - started)
    return size / best


def measure(session: Session, questions: list[str]) -> dict[str, Any]:
    """Ask every question once, warm; times in seconds."""
    totals: list[float] = []
    steps: dict[str, list[float]] = {}
    tokens, decoding = 0, 0.0
    for text in questions:
        at: list[float] = []

        def note(name: str, _what: Any, at: list[float] = at) -> None:
            if name == "token":
                at.append(time.perf_counter())

        started = time.perf_counter()
        answer = ask(Question(text), session, note)
        totals.append(time.perf_counter() - started)
        for name, seconds in answer.timings.items():
            steps.setdefault(name, []).append(seconds)
        if len(at) > 1:  # from the first token on: reading the question is not decoding
            tokens += len(at) - 1
            decoding += at[-1] - at[0]
    totals.sort()
    return {
        "questions": len(totals),
        "median_s": statistics.median(totals),
        "p95_s": totals[min(len(totals) - 1, int(0.95 * len(totals)))],
        "max_s": totals[-1],
        "median_s_by_step": {name: statistics.median(v) for name, v in steps.items()},
        "decode_tokens_per_s": tokens / decoding if decoding else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("-n", type=int, default=200)
    flags = parser.parse_args()
    items = every_nth(load_ehrsql(flags.data, flags.split).items, flags.n)
    questions = [item.question for item in items]
    with open_session(flags.db, log=False) as session:
        started = time.perf_counter()
        session.warm()
        for text in questions[:3]:
            ask(Question(text), session)
        found = {"warm_up_s": time.perf_counter() - started, **measure(session, questions)}
    # Before the copies below, which need memory of their own. Linux counts in KiB.
    found["peak_memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = 4 * shipped_model().with_name(DECODER).stat().st_size  # a byte each in the file
    bandwidth = copy_bandwidth()
    found["decoder_mib"] = size / MIB
    found["copy_bandwidth_mib_per_s"] = bandwidth / MIB
    found["bound_tokens_per_s"] = bandwidth / size
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
