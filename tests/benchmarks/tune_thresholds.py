"""Chooses models/text2sql/thresholds.json anew, with one command, and says what they do.

    python tests/benchmarks/tune_thresholds.py --db mimic_iv.sqlite --raw raw.sqlite \\
        --scene-graphs ehrxqa --authored tune.jsonl \\
        --clinicians models/corpus/tables/clinicians.jsonl --demo raw_demo.sqlite \\
        --out models/text2sql/thresholds.json [--goal penalty=10] [--records FILE]

Neither EHRSQL's valid nor any "held" question is used. The sources, each with its share of the
weight:
  authored   the split "tune" of models/corpus/questions, asked of a raw import
             (tests/benchmarks/authored.py --split tune --questions tune.jsonl)
  built      questions of a seed that training never uses, in rough wording, answerable or not
  films      the same about chest X-rays, of the raw import
  clinicians the "tune" half
  newcomers  people who had the README and a record, and never saw the program's own questions
             (concepts/newcomer_tables*.jsonl of the import of the demo, newcomer_films*.jsonl of
             the raw import): what questions from outside are like

    python tests/benchmarks/tune_thresholds.py --db ... --ehrsql ... --swap-check valid

only measures: how many of a split's unanswerable questions are declined, as they are and with the
ids of real patients swapped in.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from shared import rows_of

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import Limits, Question, Status
from ehrqa_cli.engine import Session, ask, open_session
from ehrqa_cli.engine.confidence import of_result
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.evaluate.asked import GoldQuestion, ask_all, read_gold, swap_ids
from ehrqa_cli.evaluate.ehrsql.load import load_ehrsql
from ehrqa_cli.evaluate.metrics import score
from ehrqa_cli.evaluate.records import Record
from ehrqa_cli.evaluate.thresholds import Goal, Known, apply, choose_known, hashes, write
from ehrqa_cli.logical_form import compile_sql, parse
from ehrqa_cli.neuralsql import run
from ehrqa_cli.sets.pairs.generate import generate
from ehrqa_cli.sets.pairs.vocabulary import read_vocabulary
from ehrqa_cli.vqa.oracle import OracleGraphs
from ehrqa_cli.vqa.reader import Vqa

SEED = 770_031  # training uses small seeds
SHARES = {
    "authored": 0.4, "built": 0.1, "films": 0.1, "clinicians": 0.1, "newcomers": 0.15,
    "newcomers_films": 0.15,
}  # fmt: skip
RAW = ("authored", "films", "newcomers_films")  # asked of the raw import
_NEWCOMERS = {"newcomers": "newcomer_tables", "newcomers_films": "newcomer_films"}
_SETS = Path(__file__).with_name("concepts")
FAMILIES = {
    "built": (("table", "compose", "aggregate"), ("unanswerable",)),
    "films": (("image", "image_table"), ()),
}
UNANSWERABLE = 0.22  # of each source's weight; 0.2 of EHRSQL's test split
_SLIP = re.compile(r"(?<![\w'])[a-z]{5,}(?![\w'])")
_ARTICLE = re.compile(r"(?<=\s)(?:the|a|an|of|please)\s")


def roughen(text: str, rng: random.Random) -> str:
    """Words as a hurried person types them: small ones left out, a slip of the finger."""
    if rng.random() < 0.35:
        text = _ARTICLE.sub(lambda m: m[0] if rng.random() < 0.4 else "", text)
    if rng.random() < 0.3:
        found = list(_SLIP.finditer(text))
        if found:
            word = rng.choice(found)
            at = rng.randrange(word.start() + 1, word.end() - 1)
            swapped = text[at + 1] + text[at] if rng.random() < 0.5 else text[at]
            text = text[:at] + swapped + text[at + 2 :]
    return text.lower() if rng.random() < 0.3 else text


def built(source: str, db: Path, session: Session, n: int) -> Iterator[GoldQuestion]:
    """Seven of ten with an answer, which is what their own form gives, the rest without."""
    rng = random.Random(SEED)
    vocabulary = read_vocabulary(db)
    for families, share in zip(FAMILIES[source], (0.7, 0.3), strict=True):
        left = int(n * share) if families else 0
        for pair in generate(4 * left, SEED, vocabulary, families=families):
            if left == 0:
                break
            item = GoldQuestion(roughen(pair.question, rng), group=pair.template, source=source)
            if pair.form != "abstain":
                rows = _rows(pair.form, session)
                if rows is None:
                    continue
                item = replace(item, gold={"rows": rows})
            elif "image" in pair.template:
                continue  # no films there
            left -= 1
            yield item


def _rows(form: str, session: Session) -> list[list[Any]] | None:
    """The rows of a form, None where it gives nothing."""
    try:
        result, _ = run(
            compile_sql(parse(form)), session.database, as_of=session.as_of,
            limits=Limits(seconds=3.0), graphs=session.graphs,
        )  # fmt: skip
    except EhrqaError:
        return None
    return None if of_result(result) else [list(row) for row in result.rows]


def authored(path: Path) -> Iterator[GoldQuestion]:
    """The split that training does not see, with the rows of its forms."""
    for item in read_gold(path):
        yield replace(item, source="authored")


def clinicians(path: Path) -> Iterator[GoldQuestion]:
    """The half that may be looked at."""
    for item in rows_of(path):
        gold = {"sql": item["gold_sql"]} if item["gold_sql"] else None
        yield GoldQuestion(item["question"], gold, group=item["id"], source="clinicians")


def newcomers(source: str) -> Iterator[GoldQuestion]:
    """All that persons from outside asked once; any of several golds is right."""
    for path in sorted(_SETS.glob(f"{_NEWCOMERS[source]}*.jsonl")):
        for item in rows_of(path):
            golds = [{"rows": gold} for gold in (item["gold"], *item.get("also", ())) if gold]
            golds += [{"rows": [beside]} for beside in map(_beside, golds) if beside]
            gold = {"any": golds} if item["gold"] is not None else None
            group = f"{path.stem}/{item['id']}"
            yield GoldQuestion(item["question"], gold, group=group, source=source)


def _beside(gold: dict[str, Any]) -> list[Any]:
    """Two named figures as one row of figures, which says the same."""
    rows = gold["rows"]
    return [row[1] for row in rows] if len(rows) == 2 and {len(r) for r in rows} == {2} else []


def weighed(items: list[GoldQuestion]) -> list[GoldQuestion]:
    """With weights such that sources and their unanswerable questions have their shares."""
    counts = Counter((i.source, i.gold is not None) for i in items)
    present = {source for source, _ in counts}
    total = sum(SHARES[s] for s in present)
    out = []
    for item in items:
        share = SHARES[item.source] / total * (1 - UNANSWERABLE if item.gold else UNANSWERABLE)
        weight = share * len(items) / counts[item.source, item.gold is not None]
        out.append(replace(item, weight=round(weight, 6)))
    return out


def tune(flags: argparse.Namespace) -> None:
    """Ask everything, choose, write, and print what was chosen."""
    started = time.monotonic()
    with _session(flags.db) as session:
        items = list(built("built", flags.db, session, flags.built))
        items += authored(flags.authored) if flags.authored else []
        items += clinicians(flags.clinicians) if flags.clinicians else []
        items += newcomers("newcomers") if flags.demo else []
        items += newcomers("newcomers_films") if flags.raw else []
        if flags.raw and flags.scene_graphs:
            with _session(flags.raw, flags.scene_graphs) as films:
                items += built("films", flags.raw, films, flags.built // 2)
        items = weighed(items)
        if flags.records and flags.records.is_file():
            known = read_known(flags.records)
        else:
            known = asked(items, flags)
            if flags.records:
                lines = (json.dumps(asdict(k)) + "\n" for k in known)
                flags.records.write_text("".join(lines), encoding="utf-8")
        source = {
            **hashes(session.model.provenance()),
            "judge": session.judge is not None,
            "sets": dict(Counter(i.source for i in items)),
            "shares": SHARES,
        }
    chosen = choose_known(known, Goal.parse(flags.goal), source=source)
    write(chosen, flags.out)
    records = [k.record for k in known]
    told = {k: v for k, v in chosen.as_dict().items() if k != "calibration"}
    print(json.dumps(told, indent=1))
    for name in ("all", *SHARES):
        part = [r for r, k in zip(records, known, strict=True) if name in ("all", k.source)]
        if part:
            off = score([r.outcome for r in part])
            on = score([r.outcome for r in apply(part, chosen)])
            print(
                f"{name:10} n {off.questions:5} RS(0) {off.rs[0]:6.1f} RS(10) {off.rs[10]:7.1f} -> "
                f"RS(0) {on.rs[0]:6.1f} RS(10) {on.rs[10]:6.1f} coverage {on.coverage} "
                f"wrong {on.wrong_on_answerable}+{on.answered_unanswerable} (in sample)"
            )
    print(f"{time.monotonic() - started:.0f} s")


_workers: dict[str, Session] = {}


def _session(db: Path, scene_graphs: Path | None = None) -> Session:
    """Without limits, and on labels where there are some."""
    parts: dict[str, Any] = {}
    if scene_graphs:
        parts["graphs"] = Vqa(OracleGraphs.open(scene_graphs))
    return Session(db, thresholds=Thresholds.off(), **parts)


def _start(db: Path, raw: Path | None, scene_graphs: Path | None, demo: Path | None) -> None:
    opened = {"": _session(db)}
    if raw:
        opened |= dict.fromkeys(RAW, _session(raw, scene_graphs))
    if demo:
        opened["newcomers"] = _session(demo)
    _workers.update(opened)


def _ask(items: list[GoldQuestion]) -> list[Known]:
    return [k for i in items for k in ask_all([i], _workers.get(i.source, _workers[""]))]


def asked(items: list[GoldQuestion], flags: argparse.Namespace) -> list[Known]:
    """Every question asked, in ``--jobs`` processes."""
    parts = [items[i : i + 10] for i in range(0, len(items), 10)]
    found: list[Known] = []
    told = (flags.db, flags.raw, flags.scene_graphs, flags.demo)
    with multiprocessing.get_context("spawn").Pool(flags.jobs, _start, told) as pool:
        for part in pool.imap(_ask, parts):
            found += part
            print(f"\r{len(found)} of {len(items)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def read_known(path: Path) -> list[Known]:
    """What ``--records`` kept of an earlier run, so that choosing again takes seconds."""
    return [Known(**{**line, "record": Record(**line["record"])}) for line in rows_of(path)]


def swap_check(flags: argparse.Namespace) -> None:
    """Recall of the unanswerable, as they are and with real ids; nothing is chosen by it."""
    rng = random.Random(SEED)
    patients = read_vocabulary(flags.db).patients
    items = [i for i in load_ehrsql(flags.ehrsql, flags.swap_check).items if i.gold is None]
    declined = {"as they are": 0, "ids swapped": 0}
    with open_session(flags.db, log=False) as session:
        for item in items:
            texts = (item.question, swap_ids(item.question, patients, rng))
            for name, text in zip(declined, texts, strict=True):
                declined[name] += ask(Question(text), session).status is Status.ABSTAINED
    for name, count in declined.items():
        print(f"{name}: {count} of {len(items)} declined ({100 * count / len(items):.1f}%)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--raw", type=Path, help="a raw import, for the authored questions")
    parser.add_argument("--scene-graphs", type=Path, help="labels of its films")
    parser.add_argument("--authored", type=Path, help="the authored questions with their rows")
    parser.add_argument("--ehrsql", type=Path, help="the folder of the split of --swap-check")
    parser.add_argument("--clinicians", type=Path, help="clinicians.jsonl")
    parser.add_argument("--demo", type=Path, help="the import of the demo, for the newcomers")
    parser.add_argument("--built", type=int, default=900, help="how many built questions")
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--goal", default="penalty=10")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--records", type=Path, help="keep the answers here, or use those there")
    parser.add_argument("--swap-check", metavar="SPLIT")
    flags = parser.parse_args()
    if flags.swap_check:
        swap_check(flags)
    elif flags.out is None:
        parser.error("--out is needed")
    else:
        tune(flags)


if __name__ == "__main__":
    main()
