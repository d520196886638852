"""What each signal is worth on sets by other authors, and what the shipped thresholds do there.

    python tests/benchmarks/signals.py --shared ../shared/data --raw raw_cxr.sqlite \\
        --held held.jsonl [--records DIR]

Every question is asked with the limit off. A line a set: answers, those with the limit, their
precision, right ones of the questions with an answer, AUROC of wrong against right answers by each
signal and by the risk, the expected calibration error (ten bins of equally many answers).
``held`` are questions of models/corpus/questions (authored.py --split held --questions).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from tune_thresholds import _session, clinicians, read_known

from ehrqa_cli.engine import Session
from ehrqa_cli.engine.parts import shipped_thresholds
from ehrqa_cli.engine.risk import Thresholds, probability, risk
from ehrqa_cli.evaluate.asked import GoldQuestion, ask_all, read_gold
from ehrqa_cli.evaluate.calibration import auroc, reliability
from ehrqa_cli.evaluate.ehrsql.load import load_ehrsql
from ehrqa_cli.evaluate.ehrxqa.load import load_xqa
from ehrqa_cli.evaluate.thresholds import Known, apply

_CLINICIANS = Path(__file__).parent / "clinicians" / "questions.jsonl"
SIGNALS = (
    "unfaithful_logit",
    "rival",
    "unanswerable_logit",
    "max_entropy",
    "mean_decision_entropy",
    "p_abstain",
    "link_doubt",
)


def sets(args: argparse.Namespace) -> dict[str, tuple[list[GoldQuestion], Path, Path | None]]:
    """Questions, record and labels of each set."""
    sql, xqa = args.shared / "ehrsql-2024", args.shared / "ehrxqa-open"
    db = sql / "mimic_iv.sqlite"
    valid = [
        GoldQuestion(i.question, {"sql": i.gold} if i.gold else None)
        for i in load_ehrsql(sql, "valid").items
    ]
    films = [
        GoldQuestion(
            i.question, {"rows": [list(r) for r in i.rows]} if i.rows is not None else None
        )
        for i in load_xqa(xqa, "test").items
    ]
    found = {
        "EHRSQL valid": (valid, db, None),
        "tableqa": (read_gold(args.shared / "tableqa" / "questions.jsonl"), db, None),
        "clinicians held": (list(clinicians(_CLINICIANS)), db, None),
        "ehrxqa-open": (films, xqa / "mimic_iv_cxr.sqlite", xqa),
    }
    if args.held:
        found["corpus held"] = read_gold(args.held), args.raw, xqa
    return found


_opened: dict[str, Session] = {}


def _start(db: Path, graphs: Path | None) -> None:
    _opened["session"] = _session(db, graphs)


def _ask(item: GoldQuestion) -> list[Known]:
    return ask_all([item], _opened["session"])


def asked(items: Sequence[GoldQuestion], db: Path, graphs: Path | None, jobs: int) -> list[Known]:
    with multiprocessing.get_context("spawn").Pool(jobs, _start, (db, graphs)) as pool:
        return [k for part in pool.imap(_ask, items, chunksize=8) for k in part]


def told(name: str, known: Sequence[Known], thresholds: Thresholds) -> str:
    """A set's line."""
    answered = [k.record for k in known if k.record.status == "answered"]
    wrong = np.array([not r.correct for r in answered])
    kept = [r for r in apply([k.record for k in known], thresholds) if r.status == "answered"]
    right = sum(r.correct for r in kept)
    golden = sum(k.record.gold is not None for k in known)

    def apart(values: Sequence[float]) -> str:
        found = auroc(np.array(values)[wrong], np.array(values)[~wrong])
        return "  -  " if found is None else f"{found:.3f}"

    sure = [probability(r.scores, thresholds) or 0.0 for r in kept]
    bins = reliability(sure, [float(r.correct) for r in kept])
    ece = sum(b.n * abs(b.told - b.true) for b in bins) / max(len(kept), 1)
    by_signal = [apart([r.scores.get(s, 0.0) for r in answered]) for s in SIGNALS]
    whole = apart([risk(r.scores, thresholds) for r in answered])
    return (
        f"| {name} | {len(known)} | {len(answered)} ({wrong.sum()} wrong) | {len(kept)} "
        f"({len(kept) - right} wrong) | {100 * right / max(len(kept), 1):.1f} | "
        f"{100 * right / max(golden, 1):.1f} | {' | '.join(by_signal)} | {whole} | {ece:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--raw", type=Path)
    parser.add_argument("--held", type=Path)
    parser.add_argument("--records", type=Path, help="keep the answers here, or use those there")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    thresholds = shipped_thresholds() or Thresholds()
    print(f"| set | questions | without limit | given | precision | right | {' | '.join(SIGNALS)} "
          "| risk | ECE |")  # fmt: skip
    for name, (items, db, graphs) in sets(args).items():
        path = args.records and args.records / f"{name.replace(' ', '_')}.jsonl"
        if path and path.is_file():
            known = read_known(path)
        else:
            known = asked(items, db, graphs, args.jobs)
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(json.dumps(asdict(k)) + "\n" for k in known))
        print(told(name, known, thresholds), flush=True)


if __name__ == "__main__":
    main()
