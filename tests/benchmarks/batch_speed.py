"""How many questions a second: `session.ask` in a loop against `session.ask_many`; and memory.

    python tests/benchmarks/batch_speed.py --db mimic_iv.sqlite --data ehrsql-2024 -n 400
    python tests/benchmarks/batch_speed.py --db ehr.sqlite --fake 100000

The first asks EHRSQL questions, each once, in one warm process, then together by so many workers,
then shuffled, and compares every answer as it is written down. ``--turns`` repeats the two in turn
and gives each pair's ratio: only those can be compared on a machine where others work too. The
second runs `ehrqa batch` on a file of questions of mixed kinds, with a model that answers by rote,
and gives the most memory it had. Never run as a test.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.types import Answer, Question
from ehrqa_cli.engine import Session, open_session
from ehrqa_cli.evaluate.ehrsql.load import load_ehrsql
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.store import answer_record

COUNT = "how many patients are there?"
DRIVER = Path(__file__).resolve().parents[1] / "cli" / "batch_driver.py"
WORDS = ["first", "last", "current", "latest", "earliest", "average", "total"]


def written(answers: list[Answer]) -> list[str]:
    """The answers as a batch writes them."""
    return [json.dumps(answer_record(answer), default=str) for answer in answers]


def compare(session: Session, texts: list[str], workers: int | None, turns: int) -> dict[str, Any]:
    """Questions a second of both ways, the ratio of each turn, and whether the bytes are same."""
    loops, batches, same, shuffled_same = [], [], True, True
    for turn in range(turns):
        started = time.perf_counter()
        alone = [session.ask(text) for text in texts]
        loops.append(time.perf_counter() - started)
        started = time.perf_counter()
        together = list(session.ask_many(texts, workers=workers))
        batches.append(time.perf_counter() - started)
        same &= written(alone) == written(together)
        order = list(range(len(texts)))
        random.Random(turn).shuffle(order)
        shuffled = session.ask_many([texts[i] for i in order], workers=workers)
        places = dict(zip(order, written(list(shuffled)), strict=True))
        shuffled_same &= [places[i] for i in range(len(texts))] == written(together)
    return {
        "questions": len(texts),
        "loop_per_s": round(len(texts) / statistics.median(loops), 2),
        "ask_many_per_s": round(len(texts) / statistics.median(batches), 2),
        "ratios": [round(a / b, 2) for a, b in zip(loops, batches, strict=True)],
        "same_bytes_as_ask": same,
        "same_bytes_shuffled": shuffled_same,
    }


def made_up(path: Path, n: int) -> None:
    """Questions of mixed kinds: answered, declined, failing, repeated, of choices, and broken."""
    rng, start = random.Random(3), datetime(2100, 1, 1)
    with path.open("w", encoding="utf-8") as file:
        for i in range(n):
            # The time makes it another question, which has the same answer.
            times = [str(start + timedelta(seconds=k)) for k in (i, rng.randrange(i + 1))]
            row: dict[str, Any] = {"id": i, "question": COUNT, "as_of": times[0]}
            kind = rng.randrange(12)
            if kind < 3:
                row["as_of"] = times[1]
            elif kind < 5:
                row["question"] = (
                    f"{rng.choice(WORDS)} creatinine of patient {rng.randrange(i + 1)}"
                )
            elif kind == 5:
                row["question"] = f"what is the phone number of {i}?"
            elif kind == 6:
                row["choices"] = {"A": "1", "B": str(i)}
            elif kind == 7 and i % 5 == 0:
                row["question"] = None
            file.write(json.dumps(row) + "\n" if kind != 8 or i % 7 else "broken\n")


def fake(db: Path, n: int) -> dict[str, Any]:
    """`ehrqa batch` on ``n`` questions: seconds, rows, and the most memory in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.jsonl", Path(folder) / "out.jsonl"
        made_up(source, n)
        command = [sys.executable, DRIVER, 0, 0, "batch", source, out, "--db", db]
        started = time.perf_counter()
        ran = subprocess.run(
            [*map(str, command), "--no-log", "--workers", "1"], stderr=subprocess.PIPE, text=True
        )
        seconds = time.perf_counter() - started
        *_, summary, memory = ran.stderr.splitlines()
        with out.open("rb") as file:
            rows = sum(1 for _ in file)
        return {
            "rows": rows,
            "summary": summary,
            "seconds": round(seconds, 1),
            "per_s": round(n / seconds, 1),
            "peak_memory_mib": int(memory) // 1024,
            "out_mib": out.stat().st_size >> 20,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--split", default="valid")
    parser.add_argument("-n", type=int, default=400)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--fake", type=int, help="questions to a model that answers by rote")
    flags = parser.parse_args()
    if flags.fake:
        print(json.dumps(fake(flags.db, flags.fake), indent=1))
        return
    items = every_nth(load_ehrsql(flags.data, flags.split).items, flags.n)
    texts = [item.question for item in items]
    with open_session(flags.db, log=False) as session:
        session.warm()
        for text in texts[:3]:
            session.ask(Question(text))
        list(session.ask_many(texts[:200], workers=flags.workers))  # starts the workers
        print(json.dumps(compare(session, texts, flags.workers, flags.turns), indent=1))


if __name__ == "__main__":
    main()
