"""A run of any benchmark that is killed anywhere goes on, and ends in the same bytes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eval_trees import TREES

from ehrqa_cli.evaluate import files

DRIVER = Path(__file__).with_name("eval_driver.py")
# What a run leaves, less what tells seconds.
KEPT = ("records.jsonl", "report.json", "report.md", "predictions.json")
CASES = [(name, "gold") for name in TREES] + [("ehrsql-2024", "ours"), ("ehrxqa", "ours")]


def drive(record: int, part: float, *args: object) -> int:
    command = [sys.executable, str(DRIVER), str(record), str(part), "eval", *map(str, args)]
    return subprocess.run(command, capture_output=True, timeout=300).returncode


def bytes_of(out: Path) -> dict[str, bytes]:
    found = {p.relative_to(out).as_posix(): p for p in out.rglob("*") if p.name in KEPT}
    return {name: path.read_bytes() for name, path in sorted(found.items())}


@pytest.mark.parametrize(("name", "system"), CASES)
def test_killed_and_gone_on_with(cli: Any, tmp_path: Path, name: str, system: str) -> None:
    rng = random.Random(f"{name} {system}")
    args: list[object] = [*TREES[name](tmp_path / "data"), "--system", system]

    def run(out: Path) -> int:
        """In this process where no model is asked: that is sooner begun."""
        ours = system == "ours"
        return drive(-1, 0, *args, "--out", out) if ours else cli("eval", *args, "--out", out).code

    assert run(tmp_path / "whole") == 0
    whole = bytes_of(tmp_path / "whole")
    top = "gold-given/records.jsonl" if name == "abstention" else "records.jsonl"
    lines = whole[top].splitlines()
    broken, records = tmp_path / "broken", len(lines) - 1
    at = rng.randrange(records)
    assert drive(at, rng.random(), *args, "--out", broken) == -9
    cut = (broken / top).read_bytes()
    assert whole[top].startswith(cut) and cut != whole[top]
    assert cut.count(b"\n") == 1 + at
    assert run(broken) == 0
    assert bytes_of(broken) == whole
    seconds = (broken / top).with_name("timings.jsonl").read_text().splitlines()
    ids = [json.loads(line)["id"] for line in lines[1:]]
    assert [json.loads(line)["id"] for line in seconds] == ids


def test_killed_between_the_two_files(cli: Any, tmp_path: Path) -> None:
    """The seconds of a record that was not written are forgotten, half a line of them too."""
    args = [*TREES["spider"](tmp_path / "data"), "--system", "gold", "--out", tmp_path / "out"]
    assert cli("eval", *args).code == 0
    whole = bytes_of(tmp_path / "out")
    records, times = (tmp_path / "out" / n for n in ("records.jsonl", "timings.jsonl"))
    records.write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[:3]))
    kept = times.read_bytes().splitlines(keepends=True)
    times.write_bytes(b"".join([*kept[:3], kept[3][:9]]))
    assert cli("eval", *args).code == 0
    assert bytes_of(tmp_path / "out") == whole
    found = [json.loads(line)["id"] for line in times.read_text().splitlines()]
    assert found == ["1", "2", "3", "4"]


def test_killed_while_it_is_begun_again(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records are put in their place whole: a kill while they are gone through loses none."""
    args = [*TREES["spider"](tmp_path / "data"), "--system", "gold", "--out", tmp_path / "out"]
    assert cli("eval", *args).code == 0
    before = bytes_of(tmp_path / "out")

    def killed(_part: Path, _path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "replace", killed)
        assert cli("eval", *args).code == 130
    assert bytes_of(tmp_path / "out") == before
    assert cli("eval", *args).code == 0 and bytes_of(tmp_path / "out") == before


@pytest.mark.parametrize("name", TREES)
def test_other_settings_are_another_run(cli: Any, tmp_path: Path, name: str) -> None:
    args = [*TREES[name](tmp_path / "data"), "--out", tmp_path / "out"]
    assert cli("eval", *args, "--system", "gold").code == 0
    given = tmp_path / "gold"
    given.write_text("x")
    more = ("--limit", "2") if name == "abstention" else ()
    system = "gold" if name == "abstention" else "abstain"
    ran = cli("eval", *args, "--system", system, *more)
    assert ran.code == 1 and "is of another run" in ran.err and "--out" in ran.err


@pytest.mark.parametrize("name", ["ehrsql-2024", "ehrxqa"])
def test_other_notes_are_another_run(cli: Any, tmp_path: Path, name: str) -> None:
    """They decide what is answered, as the tables do."""
    args = TREES[name](tmp_path / "data")
    db = args[list(args).index("--db") + 1]
    out = ("--out", tmp_path / "out", "--limit", 1, "--workers", 1)
    note = tmp_path / "notes.jsonl"
    for text in ("Allergies: none.", "Allergies: penicillin."):
        note.write_text(json.dumps({"note_id": "1", "patient_id": 101, "text": text}))
        assert cli("notes", "import", note, "--db", db, "--replace").code == 0
        ran = cli("eval", *args, *out)
        assert ran.code == (0 if "none" in text else 1), ran.err
    assert "is of another run" in ran.err


@pytest.mark.parametrize("name", ["ehrsql-2024", "ehrxqa", "ehrnoteqa"])
def test_workers_give_the_same_bytes(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The shipped models, here and in two processes of two questions at a time."""
    from ehrqa_cli.engine import many
    from ehrqa_cli.evaluate import note_desk

    monkeypatch.setattr(note_desk, "ENOUGH", 2)
    monkeypatch.setattr(many, "CHUNK", 2)
    monkeypatch.setattr(many, "ENOUGH", 4)
    args = TREES[name](tmp_path / "data")
    if name == "ehrsql-2024":
        split = tmp_path / "data" / "valid"
        texts = ["how many patients are there?", "creatinine of patient 101", "who is on call?"]
        entries = [{"id": f"q{k}", "question": text} for k, text in enumerate([*texts, *texts])]
        (split / "data.json").write_text(json.dumps({"version": "v", "data": entries}))
        gold = ["SELECT COUNT(*) FROM patients", "SELECT 0.9", "null"] * 2
        said = {entry["id"]: sql for entry, sql in zip(entries, gold, strict=True)}
        (split / "label.json").write_text(json.dumps(said))
        (split / "annotated.json").unlink()
    found = []
    for workers in (1, 2):
        out = tmp_path / f"out{workers}"
        ran = cli("eval", *args, "--out", out, "--workers", workers)
        assert ran.code == 0, ran.err
        found.append(bytes_of(out))
    assert found[0] == found[1] and b'"status": "answered"' in found[0]["records.jsonl"]
