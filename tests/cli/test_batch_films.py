"""Rows of a batch that name an image file: answered from that film, with or without a database."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from ehrqa_cli.cli.batch.writing import Run
from ehrqa_cli.contracts.types import Question, Scope, Status
from ehrqa_cli.engine import open_session
from ehrqa_cli.vqa.model.network import VisionModel

CARD = Path(__file__).resolve().parents[1] / "fixtures" / "vision" / "card.json"
COUNT = "how many patients are there?"
EFFUSION, SEX = "Is there a pleural effusion?", "Is this a man or a woman?"


def film(top: float, left: float) -> Image.Image:
    """Lungs and a heart; bright ``top`` is PA, bright ``left`` an effusion to the fixture."""
    grey = np.full((160, 200), 0.6)
    grey[:80, :100] = left
    grey[:20] = top
    grey[30:130, 25:88] = grey[30:130, 112:175] = 0.1
    grey[80:120, 70:130] = 0.97
    return Image.fromarray(np.asarray(np.round(grey * 255), np.uint8))


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """with.png shows an effusion, without.png none, torn.png is cut short, colour.png a photo."""
    folder = tmp_path / "films"
    folder.mkdir()
    film(0.79, 0.79).save(folder / "with.png")
    film(0.1, 0.6).save(folder / "without.png")
    (folder / "torn.png").write_bytes((folder / "with.png").read_bytes()[:100])
    grey = np.asarray(film(0.6, 0.6))
    Image.fromarray(np.stack([grey, grey // 2, 255 - grey], -1)).save(folder / "colour.png")
    return folder


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the films that the model looked at."""
    seen: list[str] = []
    see = VisionModel.see

    def noted(self, pictures):
        seen.extend(picture.path.name for picture in pictures)
        return see(self, pictures)

    monkeypatch.setattr(VisionModel, "see", noted)
    return seen


def write(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def asked(image: str, question: str = EFFUSION, **more: object) -> dict[str, object]:
    return {"question": question, "image": image, **more}


def test_a_film_answers_without_a_database(cli, films, tmp_path):
    source = write(
        tmp_path / "in.jsonl",
        asked("films/with.png", id="a", choices={"A": "yes", "B": "no"}),
        asked("films/without.png", id="b"),
        {"id": "c", "question": "Is it AP?", "images": [str(films / "without.png")]},
    )
    ran = cli("batch", source, "--vision", CARD)
    first, *_ = found = rows_of(ran.out)
    assert ran.code == 0, ran.err
    assert [(row["id"], row["status"], row["value"]) for row in found] == [
        ("a", "answered", 1), ("b", "answered", 0), ("c", "answered", 1),
    ]  # fmt: skip
    assert (first["scope"], first["patient_scope"], first["choice"]) == ("image", "single", "A")
    one = json.loads(cli("vqa", films / "with.png", EFFUSION, "--vision", CARD, "--json").out)
    for name in ("text", "value", "rows", "columns", "confidence", "evidence", "description"):
        assert first[name] == one[name], name
    told = first["provenance"]
    assert told["image_sha256"] == one["provenance"]["image_sha256"] and told["database"] is None
    assert told["models"]["vqa"]["sha256"] == json.loads(CARD.read_text())["sha256"]


def test_neither_tables_nor_notes_are_asked(cli, ehr, rote, films, tmp_path, monkeypatch):
    def never(self, question, on_token=None):
        raise AssertionError("a model wrote a query")

    monkeypatch.setattr(rote, "generate", never)
    source = write(
        tmp_path / "in.jsonl",
        asked("films/with.png", SEX, id=1, patient_id=101),
        asked("films/with.png", COUNT, id=2),
    )
    ran = cli("batch", source, "--db", ehr, "--vision", CARD, "--scope", "table")
    sex, count = rows_of(ran.out)
    assert (sex["value"], sex["scope"], sex["neuralsql"]) == ("female", "image", None)
    assert [item["kind"] for item in sex["evidence"]] in ([], ["image"])
    assert sex["confidence"] < 0.9 and sex["provenance"]["database"] is None
    assert count["status"] == "abstained"


def test_rows_in_any_order_and_the_same_with_a_database(cli, ehr, rote, films, tmp_path):
    rows = (asked("films/with.png", id=1), {"id": 2, "question": COUNT}, asked("no.png", id=3))
    source = write(tmp_path / "in.jsonl", *rows)
    without = rows_of(cli("batch", source, "--vision", CARD).out)
    ran = cli("batch", source, "--vision", CARD, "--db", ehr)
    found = rows_of(ran.out)
    assert (found[0], found[2]) == (without[0], without[2])
    assert found[1]["value"] == 2 and without[1]["status"] == "failed"
    assert without[1]["error"] == {
        "message": "no database was named", "hint": "say which with --db FILE",
    }  # fmt: skip
    # The first row decides whether there has to be a database.
    ran = cli("batch", write(source, *reversed(rows[:2])))
    assert (ran.code, ran.out) == (2, "") and "no database given" in ran.err


def test_what_cannot_be_read_fails_and_what_is_no_film_is_declined(cli, films, tmp_path):
    source = write(
        tmp_path / "in.jsonl",
        asked("films/none.png"),
        asked("films/torn.png"),
        asked("films"),
        asked("films/\0.png"),
        {"question": EFFUSION, "images": ["films/with.png", "films/without.png"]},
        asked("films/colour.png"),
        asked("films/with.png", "Is there scoliosis?"),
    )
    ran = cli("batch", source, "--vision", CARD)
    *failed, colour, unlearned = rows_of(ran.out)
    assert ran.code == 1
    said = ("there is no such file", "truncated", "is a folder", "null byte", "one image, and 2")
    for row, words in zip(failed, said, strict=True):
        assert row["status"] == "failed" and words in row["error"]["message"], row
        assert row["error"]["hint"] and "\n" not in row["error"]["message"]
        assert row["scope"] == "image" and row["evidence"] == []
    for row in (colour, unlearned):
        assert (row["status"], row["reason"]["kind"]) == ("abstained", "not_seen")
    assert "in colour" in colour["text"]


@pytest.mark.parametrize("kind", ["beside", "images", "stdin"])
def test_what_a_path_is_relative_to(cli, films, tmp_path, monkeypatch, kind):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = {"beside": tmp_path, "images": elsewhere, "stdin": elsewhere}[kind]
    source = write(folder / "in.jsonl", asked("with.png"))
    if kind == "beside":
        shutil.copy(films / "with.png", folder)
    monkeypatch.chdir(films if kind == "stdin" else tmp_path)
    argv: tuple[object, ...] = ("batch", os.path.relpath(source))
    if kind == "images":
        argv += ("--images", "films")
    if kind == "stdin":
        raw = io.BytesIO(source.read_bytes())
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=raw))
        argv = ("batch", "-")
    ran = cli(*argv, "--vision", CARD)
    assert ran.code == 0 and rows_of(ran.out)[0]["value"] == 1, ran.out


def test_a_film_is_looked_at_once(cli, films, tmp_path, looks):
    questions = (EFFUSION, SEX, "Is it AP?", "What is the view?", "Is there a mass?")
    source = write(
        tmp_path / "in.jsonl",
        *(asked(f"films/{name}.png", text) for text in questions for name in ("with", "without")),
    )
    ran = cli("batch", source, "--vision", CARD)
    assert len(rows_of(ran.out)) == 10 and sorted(looks) == ["with.png", "without.png"]


def test_it_is_written_as_csv_and_into_the_log(cli, films, tmp_path):
    source = tmp_path / "in.csv"
    source.write_text(f"id,question,image\n1,{EFFUSION},films/with.png\n")
    out = tmp_path / "out.csv"
    assert cli("batch", source, out, "--vision", CARD).code == 0
    (row,) = csv.DictReader(io.StringIO(out.read_text()))
    assert (row["value"], row["scope"]) == ("1", "image")
    with closing(sqlite3.connect(cli("log", "path").out.strip())) as log:
        assert log.execute("SELECT question, text FROM answers").fetchall() == [
            (EFFUSION, "with.png: yes.")
        ]


def test_a_run_is_gone_on_with_only_where_its_films_are_the_same(cli, films, tmp_path, monkeypatch):
    source = write(
        tmp_path / "in.jsonl",
        asked("films/with.png", id=1),
        asked("films/without.png", id=2),
        asked("films/torn.png", id=3),
    )
    out, whole = tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    assert cli("batch", source, whole, "--vision", CARD).code == 1
    take = Run.take

    def broken_off(self, answer):
        take(self, answer)
        if self.target.rows == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Run, "take", broken_off)
        assert cli("batch", source, out, "--vision", CARD).code == 130
    begun, mark = out.read_bytes(), out.with_name("out.jsonl.part").read_bytes()
    assert begun.count(b"\n") == 2
    before = (films / "with.png").stat()
    film(0.79, 0.1).save(films / "with.png")
    ran = cli("batch", source, out, "--vision", CARD)
    assert ran.code == 2 and "films or questions have changed" in ran.err
    assert out.read_bytes() == begun
    film(0.79, 0.79).save(films / "with.png")
    os.utime(films / "with.png", ns=(before.st_atime_ns, before.st_mtime_ns))
    ran = cli("batch", source, out, "--vision", CARD.with_name("classifier.json"))
    assert ran.code == 2 and "vision" in ran.err
    assert out.with_name("out.jsonl.part").read_bytes() == mark
    assert cli("batch", source, out, "--vision", CARD).code == 1
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(("written", "code"), [(1, 0), (2, 2)])
def test_another_model_counts_where_a_later_row_names_a_film(
    cli, ehr, rote, films, tmp_path, monkeypatch, written, code
):
    rows = ({"id": 1, "question": COUNT}, asked("films/with.png"), asked("films/without.png"))
    source, out = write(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    take = Run.take

    def broken_off(self, answer):
        take(self, answer)
        if self.target.rows == written:
            raise KeyboardInterrupt

    monkeypatch.setenv("EHRQA_VISION", str(CARD))
    with monkeypatch.context() as patched:
        patched.setattr(Run, "take", broken_off)
        assert cli("batch", source, out, "--db", ehr).code == 130
    monkeypatch.setenv("EHRQA_VISION", str(CARD.with_name("classifier.json")))
    assert cli("batch", source, out, "--db", ehr).code == code


def test_labels_are_by_study(cli, films, tmp_path):
    labels = tmp_path / "labels"
    labels.mkdir()
    (labels / "scene_graph.tsv").write_text(
        "study_id\tobject\tattribute\tcategory\tpresent\n501\tspine\tscoliosis\tx\t1\n"
    )
    (labels / "studies.tsv").write_text("study_id\tview\n501\tPA\n")
    source = write(tmp_path / "in.jsonl", asked("films/with.png"))
    ran = cli("batch", source, "--scene-graphs", labels)
    (row,) = rows_of(ran.out)
    assert ran.code == 1 and row["status"] == "failed"
    assert "labels are by study" in row["error"]["message"]
    assert "--scene-graphs" in row["error"]["hint"]


def test_a_wrong_vision_model_is_said_at_once(cli, films, tmp_path):
    source = write(tmp_path / "in.jsonl", asked("films/with.png"))
    ran = cli("batch", source, "--vision", "nothing")
    assert (ran.code, ran.out) == (2, "") and "no vision model 'nothing'" in ran.err


def test_from_python(films, looks):
    path = str(films / "with.png")
    with open_session(None, vision=str(CARD), log=False) as session:
        answer = session.ask(Question(EFFUSION, images=(path,)))
        assert (answer.status, answer.value, answer.scope) == (Status.ANSWERED, 1, Scope.IMAGE)
        assert session.ask(Question(SEX, images=(path,))).value == "female"
        assert looks == ["with.png"]
        film(0.79, 0.1).save(path)  # another film under the same name
        assert session.ask(Question(EFFUSION, images=(path,))).value == 0
        gone = session.ask(Question(EFFUSION, images=(path + "x",)))
        assert gone.status is Status.FAILED and gone.error and "no such file" in gone.text
