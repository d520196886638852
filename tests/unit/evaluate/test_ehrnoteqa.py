"""EHRNoteQA: its own layout and the open one on made-up trees, scores, and resuming."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import EvaluationError, ModelError
from ehrqa_cli.contracts.judging import Judge, JudgedQuestion
from ehrqa_cli.contracts.notes import Note, NoteAnswer, NoteSpan
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.evaluate.ehrnoteqa import EhrNoteQa, load_noteqa
from ehrqa_cli.evaluate.ehrnoteqa.score import FREE_TEXT, MULTI_CHOICE, best_rank, record_of
from ehrqa_cli.evaluate.ehrnoteqa.tables import evidence_scores
from ehrqa_cli.evaluate.note_answers import cited
from ehrqa_cli.evaluate.reports import RunReport
from ehrqa_cli.evaluate.runner import BenchmarkRun
from ehrqa_cli.evaluate.systems import Chosen
from ehrqa_cli.notes.lengths import band_of, level_of, tokens_of

TEXTS = {
    "7-DS-2": "Second stay.\n  Furosemide 40 mg daily.\nNo fever.",
    "7-DS-1": "First stay.\nCreatinine 2.2 on admission.",
    "8-DS-1": "Only stay.\nColace 100 mg twice a day.",
}
CHOICES = {"A": "20 mg", "B": "40 mg", "C": "80 mg", "D": "10 mg", "E": "none"}


def open_tree(folder: Path) -> Path:
    folder.mkdir()
    notes = [
        {"note_id": k, "patient_id": k[0], "charttime": f"201{k[-1]}-01-01", "text": text}
        for k, text in TEXTS.items()
    ]
    questions: list[dict[str, Any]] = [
        question("q1", "7", "What dose of furosemide?", "B", "40 mg daily", ["7-DS-2", "40 mg"]),
        question("q2", "7", "What was the creatinine?", "A", "2.2", ["7-DS-1", "Creatinine 2.2"]),
        question("q3", "8", "Who wrote this?", None, None, None),
    ]
    (folder / "notes.jsonl").write_text("\n".join(map(json.dumps, notes)))
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    return folder


def question(key, patient, text, letter, answer, evidence) -> dict[str, Any]:
    return {
        "id": key,
        "patient_id": patient,
        "question": text,
        "choices": CHOICES,
        "answer": letter,
        "answer_text": answer,
        "evidence": [{"note_id": evidence[0], "text": evidence[1]}] if evidence else [],
        "category": "medication" if evidence else "unanswerable: not stated",
    }


def own_tree(folder: Path, *, processed: bool = False, level: bool = True) -> Path:
    """PhysioNet's layout; ``processed`` has the notes put in by the authors' script."""
    folder.mkdir()
    rows = []
    for patient, ids in (("7", ("7-DS-1", "7-DS-2")), ("8", ("8-DS-1",))):
        row: dict[str, Any] = {"patient_id": int(patient), "num_notes": len(ids), "clinician": "b"}
        row |= {"question": f"What of {patient}?", "answer": "B"}
        row |= {f"choice_{letter}": text for letter, text in CHOICES.items()}
        row |= {"category": "Level1"} if level else {}
        if processed:
            row |= {f"note_{k}": TEXTS[note] for k, note in enumerate(ids, 1)}
        rows.append(row)
    name = "EHRNoteQA_processed.jsonl" if processed else "EHRNoteQA.jsonl"
    (folder / name).write_text("\n".join(map(json.dumps, rows)))
    if not processed:
        with gzip.open(folder / "discharge.csv.gz", "wt", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["note_id", "subject_id", "hadm_id", "note_type", "charttime", "text"])
            for key, text in TEXTS.items():
                writer.writerow([key, key[0], "1", "DS", f"201{key[-1]}-01-01 00:00:00", text])
            writer.writerow(["9-DS-1", "9", "1", "DS", "2019-01-01 00:00:00", "another"])
    return folder


def test_open_layout(tmp_path):
    data = load_noteqa(open_tree(tmp_path / "d"))
    assert data.layout == "noteqa" and [i.id for i in data.items] == ["q1", "q2", "q3"]
    first = data.items[0]
    assert [n.note_id for n in first.notes] == ["7-DS-1", "7-DS-2"]  # by time, not by place
    (gold,) = first.evidence
    assert TEXTS[gold.note_id][gold.start : gold.end] == "40 mg"
    assert first.level == "1" and [i.answerable for i in data.items] == [True, True, False]


@pytest.mark.parametrize("processed", [False, True])
def test_own_layout(tmp_path, processed):
    data = load_noteqa(own_tree(tmp_path / "d", processed=processed))
    assert data.layout == "ehrnoteqa" and [len(i.notes) for i in data.items] == [2, 1]
    assert data.items[0].answer_text == "40 mg" and data.items[0].level == "1"
    assert [n.text for n in data.items[0].notes] == [TEXTS["7-DS-1"], TEXTS["7-DS-2"]]
    assert data.items[0].category == "" and data.items[0].clinician == "b"


def test_levels_by_length(tmp_path):
    folder = own_tree(tmp_path / "d", processed=True, level=False)
    path = folder / "EHRNoteQA_processed.jsonl"
    rows = [json.loads(line) for line in path.read_text().split("\n")]
    rows[1]["note_1"] = "Furosemide given. " * 1000  # 5 tokens by our estimate
    path.write_text("\n".join(map(json.dumps, rows)))
    assert [i.level for i in load_noteqa(folder).items] == ["1", "2"]
    assert [level_of(n) for n in (3500, 3501, 7500, 7501)] == ["1", "2", "2", "beyond"]
    assert band_of(8000) == "7,500 to 16,000" and band_of(40_000) == "over 32,000"
    # Blanks around a newline are not counted.
    assert tokens_of("Dose 40\n   \t mg") == tokens_of("Dose 40\nmg") == 4


def spans(*places: tuple[str, int, int]) -> tuple[NoteSpan, ...]:
    return tuple(NoteSpan(n, a, b, TEXTS[n][a:b]) for n, a, b in places)


def answer(
    text: str, choice: str | None = None, spans: tuple[NoteSpan, ...] = (), **more: Any
) -> Answer:
    evidence = tuple(map(cited, spans))
    fields: Any = {"status": Status.ANSWERED, **more}
    return Answer(Question("q"), text=text, choice=choice, evidence=evidence, **fields)


def test_evidence_is_counted_where_it_points(tmp_path):
    item = load_noteqa(open_tree(tmp_path / "d")).items[0]
    at = TEXTS["7-DS-2"].index("Furosemide")
    end = TEXTS["7-DS-2"].index("\nNo")
    line = ("7-DS-2", at, end)
    other = ("7-DS-1", 0, 5)

    def record(given: tuple[NoteSpan, ...]) -> dict[str, Any]:
        return record_of(item, answer("40 mg", "B", given), FREE_TEXT)

    assert best_rank(record(spans(other, line))) == 2
    moved = NoteSpan("7-DS-2", at + 1, end + 1, TEXTS["7-DS-2"][at:end])
    found = record((moved, *spans(line)))
    assert best_rank(found) == 2 and found["faults"] == ["excerpt is not what stands there"]
    elsewhere = NoteSpan("8-DS-1", 0, 4, TEXTS["8-DS-1"][:4])
    assert record((elsewhere,))["faults"] == ["another note"]
    assert record((NoteSpan("7-DS-2", 5, 999, "x"),))["faults"] == ["offsets outside the note"]
    assert record(())["evidence_ranks"] == [None]
    declined = record_of(item, answer("", spans=spans(line), status=Status.ABSTAINED), FREE_TEXT)
    found = evidence_scores([declined, record(spans(line))])["top_1"]
    assert found["any"].value == 1.0 and found["answered"].value == 0.5


def test_a_long_citation_does_not_count(tmp_path):
    folder = open_tree(tmp_path / "d")
    note = {"note_id": "8-DS-1", "patient_id": "8", "text": "x" * 400}
    (folder / "notes.jsonl").write_text(json.dumps(note))
    row = question("q", "8", "?", "B", "40 mg", ["8-DS-1", "x" * 20])
    (folder / "questions.jsonl").write_text(json.dumps(row))
    item = load_noteqa(folder).items[0]
    long = (NoteSpan("8-DS-1", 0, 301, "x" * 301), NoteSpan("8-DS-1", 0, 300, "x" * 300))
    found = record_of(item, answer("40 mg", spans=long), FREE_TEXT)
    assert found["faults"] == ["too long"] and best_rank(found) == 2


class Reader:
    """Answers B to all but the question about who wrote it; breaks at creatinine if told to."""

    def __init__(self, broken: bool = False) -> None:
        self.broken, self.calls = broken, 0
        self.prepared: list[str] = []

    def prepare(self, notes: Iterable[Note]) -> None:
        self.prepared += [note.note_id for note in notes]

    def answer(
        self, question: str, notes: Sequence[Note], choices: Mapping[str, str] | None
    ) -> NoteAnswer:
        self.calls += 1
        if self.broken and "creatinine" in question:
            raise ModelError("broken", "mend it")
        if "Who" in question:
            return NoteAnswer(None, reason="not stated")
        return NoteAnswer("40 mg daily", (), 0.5, "B" if choices else None)

    def provenance(self) -> Mapping[str, str]:
        return {"reader": "fake"}


def run(
    data: Path,
    system: Reader | Path,
    form: str = MULTI_CHOICE,
    judge: Judge | None = None,
    out: Path | None = None,
) -> RunReport:
    """A reader that is asked, or a file of predictions."""
    benchmark = EhrNoteQa(form=form)
    benchmark.judge = judge
    if isinstance(system, Path):
        return BenchmarkRun(benchmark, data, "", Chosen(None, system), out=out).run()
    asked = partial(benchmark.asked, system)
    return BenchmarkRun(benchmark, data, "", asked=asked, out=out).run()


def test_run_scores_and_resumes(tmp_path):
    data, out = open_tree(tmp_path / "d"), tmp_path / "out"
    report = run(data, Reader(), out=out)
    assert report.scores["accuracy"]["value"] == 0.5
    assert (report.scores["answered"], report.scores["declined"]) == (2, 1)
    assert report.scores["evidence"]["top_1"]["any"]["value"] == 0.0
    assert report.notes == ("1 of level 1, 1 notes, 2 of level 1, 2 notes",)
    whole = (out / "records.jsonl").read_bytes()
    (out / "records.jsonl").write_bytes(whole[: len(whole) - 40])  # broken off in a line
    reader = Reader()
    assert run(data, reader, out=out).as_dict() == report.as_dict()
    assert (out / "records.jsonl").read_bytes() == whole and reader.calls == 1
    assert reader.prepared == ["8-DS-1"]  # of the question that is left
    with pytest.raises(EvaluationError, match="another run"):
        run(data, Reader(), FREE_TEXT, out=out)


def test_a_fault_is_a_row_and_no_declining(tmp_path):
    report = run(open_tree(tmp_path / "d"), Reader(broken=True))
    assert report.scores["failed"] == 1 and report.scores["declined"] == 1
    assert "50.0 (9.5-90.5)" in report.as_markdown()  # Wilson's, of one in two


class Wavering(Judge):
    """Says yes to 40 mg every second time."""

    name = "wavering"

    def __init__(self) -> None:
        self.asked: list[JudgedQuestion] = []

    def judge(self, asked: JudgedQuestion) -> float:
        self.asked.append(asked)
        return float(len(self.asked) % 2) if asked.gold == "40 mg daily" else 0.0

    def provenance(self) -> Mapping[str, str]:
        return {"judge": self.name}


def test_free_text_and_a_judge_five_times(tmp_path):
    judge = Wavering()
    report = run(open_tree(tmp_path / "d"), Reader(), FREE_TEXT, judge)
    assert report.scores["exact"]["value"] == 0.5 and report.scores["F1"]["value"] == 0.5
    assert len(judge.asked) == 10 and judge.asked[0].notes[0].note_id == "7-DS-1"
    found = report.scores["judge"]
    assert found["takes"] == [50.0, 0.0, 50.0, 0.0, 50.0] and found["mean"] == 30.0
    assert found["deviation"] == pytest.approx(27.386, abs=1e-3)  # of a sample of five
    assert "30.00 ± 27.39" in report.as_markdown()


def test_gold_scores_100_and_declining_all_0(tmp_path):
    for name, tree in (("open", open_tree), ("own", own_tree)):
        data = tree(tmp_path / name)
        items = load_noteqa(data).items
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({i.id: i.answer for i in items}))
        scores = run(data, path).scores
        assert scores["accuracy"]["value"] == 1.0 and scores["failed"] == 0
        path.write_text(json.dumps({i.id: None for i in items}))
        scores = run(data, path).scores
        assert scores["accuracy"]["value"] == 0.0 and scores["declined"] == len(items)


def break_notes(folder: Path) -> None:
    packed = (folder / "discharge.csv.gz").read_bytes()
    (folder / "discharge.csv.gz").write_bytes(packed[: len(packed) // 2])


def rewrite(folder: Path, name: str, **fields: Any) -> None:
    rows = [json.loads(line) | fields for line in (folder / name).read_text().split("\n")]
    (folder / name).write_text("\n".join(map(json.dumps, rows)))


def test_bad_files(tmp_path):
    folder = own_tree(tmp_path / "own")
    rewrite(folder, "EHRNoteQA.jsonl", num_notes=3)
    with pytest.raises(EvaluationError, match="has 3 notes, 2 were found"):
        load_noteqa(folder)
    rewrite(folder, "EHRNoteQA.jsonl", num_notes=None, note_1="7-DS-9")
    with pytest.raises(EvaluationError, match="names the note 7-DS-9"):
        load_noteqa(folder)
    rewrite(folder, "EHRNoteQA.jsonl", note_1=None, answer="F")
    with pytest.raises(EvaluationError, match="answer of question 1"):
        load_noteqa(folder)
    break_notes(folder)
    with pytest.raises(EvaluationError, match="gzip"):
        load_noteqa(folder)
    (folder / "discharge.csv.gz").unlink()
    with pytest.raises(EvaluationError) as error:
        load_noteqa(folder)
    assert "discharge.csv" in error.value.hint
    other = open_tree(tmp_path / "open")
    notes = (other / "notes.jsonl").read_text()
    (other / "notes.jsonl").write_text(notes.replace("40 mg", "60 mg"))
    with pytest.raises(EvaluationError, match="does not stand in note"):
        load_noteqa(other)
    (other / "notes.jsonl").write_text(notes[:-30])
    with pytest.raises(EvaluationError, match="not JSON"):
        load_noteqa(other)
