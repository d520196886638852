"""How well and how fast a reader that is an instruction model answers, cites, chooses, declines.

    python tests/benchmarks/notes_instruct.py --reader qwen2.5-coder-1.5b --log own.jsonl --take 60
    python tests/benchmarks/notes_instruct.py --data ../shared/data/noteqa --log noteqa.jsonl

Over a folder in noteqa's format, each patient's record being read ahead first. What the model says
goes to ``--log``, one JSON object a question: a run that was broken off goes on, and decisions are
made of the log, so that they can be fitted (notes_instruct_fit.py) or measured again without asking
again. All shares with Wilson's 95% interval. noteqa is for measuring only. Never run as a test.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import asdict
from pathlib import Path

from shared import OWN_NOTES, Row, imported, print_answered, rows_of, texts_of, wilson

from ehrqa_cli.chat import Gguf
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.evaluate.wording import token_f1
from ehrqa_cli.notes.desk import NoteDesk
from ehrqa_cli.notes.read.choose import GGUF
from ehrqa_cli.notes.read.embedded import without_addressed
from ehrqa_cli.notes.read.evidence import weigh
from ehrqa_cli.notes.read.instruct import InstructReader, States
from ehrqa_cli.notes.read.instruct.asking import Said
from ehrqa_cli.notes.read.instruct.page import Page
from ehrqa_cli.notes.read.instruct.reader import CHOOSING
from ehrqa_cli.notes.read.instruct.signals import Seen
from ehrqa_cli.notes.read.question import ask


def taken(rows: list[Row], take: int | None) -> list[Row]:
    """About ``take`` of the questions, spread evenly, by patient."""
    return sorted(every_nth(rows, take), key=lambda row: int(row["patient_id"]))


def asked(desk: NoteDesk, row: Row) -> Row:
    """One line of the log: what the model says to a question, and how long it took."""
    reader, patient, question = desk.reader, int(row["patient_id"]), row["question"]
    assert isinstance(reader, InstructReader)
    record, clock, cpu = desk.record(patient), time.perf_counter(), time.process_time()
    free = reader.look(question, record, desk.lines(question, patient))
    assert free is not None
    told: Row = {
        "id": row["id"],
        "said": asdict(free.said),
        "cited": [[line.note_id, line.number] for line in free.cited],
        "seconds": [time.perf_counter() - clock],
        "cpu": [time.process_time() - cpu],
    }
    if choices := row.get("choices"):
        found = desk.lines(question, patient, choices)
        seen = reader.look(question, record, found, choices, free.said)
        assert seen is not None
        told["letters"] = dict(seen.letters)
        told["seconds"].append(time.perf_counter() - clock)
        told["cpu"].append(time.process_time() - cpu)
    return told


def run(desk: NoteDesk, rows: list[Row], log: Path) -> None:
    """Ask what the log lacks."""
    done = {each.get("id") for each in rows_of(log)}
    patient = None
    with log.open("a", encoding="utf-8") as file:
        for row in rows:
            if row["id"] in done:
                continue
            if row["patient_id"] != patient:
                patient = row["patient_id"]
                tokens = [0]
                clock, cpu = time.perf_counter(), time.process_time()
                desk.read_ahead(int(patient), lambda _, whole, n=tokens: n.__setitem__(0, whole))
                took = [time.perf_counter() - clock, time.process_time() - cpu]
                ahead = {"patient": patient, "tokens": tokens[0], "seconds": took}
                file.write(json.dumps(ahead) + "\n")
            file.write(json.dumps(asked(desk, row)) + "\n")
            file.flush()


def seen_again(desk: NoteDesk, row: Row, told: Row, with_choices: bool) -> Seen:
    """What was seen, from a line of the log and the evidence as it is now."""
    reader, patient = desk.reader, int(row["patient_id"])
    assert isinstance(reader, InstructReader)
    choices = row.get("choices") if with_choices else None
    found = without_addressed(row["question"], desk.lines(row["question"], patient, choices))
    evidence = weigh(ask(row["question"]), found, reader.meaning, reader.weights)
    said = Said(**{**told["said"], "lines": tuple(told["said"]["lines"])})
    lines = {
        (line.note_id, line.number): line
        for note in desk.record(patient).notes
        for line in note.lines
    }
    cited = (lines[name, number] for name, number in told["cited"])
    page = Page("", dict(zip(said.lines, cited, strict=True)), True)
    letters = told.get("letters", {}) if choices else {}
    return Seen(evidence, page, said, letters, choices or {}, reader.meaning, reader.weights)


def report(desk: NoteDesk, rows: list[Row], data: Path, log: Path) -> None:
    """Decide on everything in the log, and print the figures."""
    reader = desk.reader
    assert isinstance(reader, InstructReader)
    texts = texts_of(data)
    told = {each["id"]: each for each in rows_of(log) if "id" in each}
    rows = [row for row in rows if row["id"] in told]
    for with_choices in (False, True):
        some = [row for row in rows if not with_choices or row.get("choices")]
        seen = [seen_again(desk, row, told[row["id"]], with_choices) for row in some]
        answers = [reader.decide(each) for each in seen]
        pairs = list(zip(some, answers, seen, strict=True))
        yes = [each for each in pairs if each[0]["answerable"]]
        print("with options" if with_choices else "free text")
        print_answered([(row, answer) for row, answer, _ in pairs], texts)
        withdrawn = [bool(a.reason.startswith("the lines")) for _, a, _ in pairs]
        print("  withdrawn:", wilson(withdrawn))
        if with_choices:
            print("  right, of answerable:", wilson([a.choice == r["answer"] for r, a, _ in yes]))
            for way in CHOOSING:
                letters = [s.chosen(way, reader.fitted.option) for _, _, s in yes]
                right = [x == r["answer"] for x, (r, _, _) in zip(letters, yes, strict=True)]
                print(f"  if one must be chosen, by what is {way}:", wilson(right))
        else:
            scores = [token_f1(r.get("answer_text") or "", a.text) for r, a, _ in yes if a.text]
            own = [token_f1(r.get("answer_text") or "", s.said.text) for r, _, s in yes]
            print(f"  token F1 of {len(scores)} answers: {statistics.fmean(scores or [0]):.2f}")
            print(f"  of all that the model said: {statistics.fmean(own or [0]):.2f}")
    times(log)


def times(log: Path) -> None:
    """Reading ahead, a question, a question with its options: by the wall and by the processor."""
    ahead = [each for each in rows_of(log) if "patient" in each]
    told = [each for each in rows_of(log) if "id" in each]
    for name, pairs in (
        ("reading ahead", [each["seconds"] for each in ahead]),
        ("a question", [[each["seconds"][0], each["cpu"][0]] for each in told]),
        (
            "a question with its options",
            [[x["seconds"][1], x["cpu"][1]] for x in told if len(x["cpu"]) > 1],
        ),
    ):
        wall, cpu = ([pair[k] for pair in pairs] for k in (0, 1))
        if wall:
            print(
                f"{name}: median {statistics.median(wall):.1f} s by the wall (most"
                f" {max(wall):.1f}), {statistics.median(cpu):.1f} s of processor (most"
                f" {max(cpu):.1f})"
            )
    if ahead:
        tokens = sum(each["tokens"] for each in ahead)
        rate = tokens / max(sum(each["seconds"][1] for each in ahead), 1e-9)
        print(f"{tokens} tokens of {len(ahead)} records, {rate:.0f} a second of processor")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=OWN_NOTES / "reading")
    parser.add_argument("--split", choices=["fit", "check"], help="of our own questions")
    parser.add_argument("--reader", default="qwen2.5-coder-1.5b", help="pulled, or a GGUF file")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--take", type=int, help="about so many questions, spread evenly")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="ask nothing")
    chosen = parser.parse_args()
    name = chosen.reader
    file = Gguf.named(Path(name)) if name.endswith(GGUF) else Gguf.pulled(name)
    reader = InstructReader(file, threads=chosen.threads, states=States(most_bytes=0))
    every = rows_of(chosen.data / "questions.jsonl")
    rows = taken([r for r in every if chosen.split in (None, r.get("split"))], chosen.take)
    with imported(chosen.data / "notes.jsonl") as db, NoteDesk.open(db, reader) as desk:
        if not chosen.report:
            run(desk, rows, chosen.log)
        report(desk, rows, chosen.data, chosen.log)


if __name__ == "__main__":
    main()
