"""A batch loses nothing and mixes nothing: locks, faults of the database, rows as they come."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path

import pytest

from .test_batch_resume import COUNT, killed_at, run, start


def ask_times(path: Path, n: int) -> Path:
    """``n`` questions that have one answer, each another question by its time."""
    rows = ({"id": i, "question": COUNT, "as_of": f"{2000 + i}-01-01"} for i in range(n))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def wait_for(path: Path, rows: int, process=None, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and (process is None or process.poll() is None):
        if path.exists() and path.read_bytes().count(b"\n") >= rows:
            return
        time.sleep(0.005)
    raise AssertionError(f"{path} never had {rows} rows")


def test_a_second_batch_on_the_same_output_is_refused(ehr, tmp_path):
    source, out = ask_times(tmp_path / "in.jsonl", 60), tmp_path / "out.jsonl"
    first = start(source, out, "--db", ehr, seconds=0.1)
    try:
        wait_for(out, 3, first)
        code, told = run(source, out, "--db", ehr)
        assert code == 2 and "another" in told.splitlines()[0]
        assert [line.split(":")[0] for line in told.splitlines()[:2]] == ["error", "hint"]
        code, told = run(source, out, "--db", ehr, "--restart")
        assert code == 2 and "another" in told
    finally:
        _, err = first.communicate(timeout=60)
    assert first.returncode == 0, err
    assert [row["id"] for row in rows_of(out)] == list(range(60))


def test_a_killed_batch_leaves_no_lock(ehr, tmp_path):
    source, out = ask_times(tmp_path / "in.jsonl", 30), tmp_path / "out.jsonl"
    killed_at(5, out, source, out, "--db", ehr)
    code, told = run(source, out, "--db", ehr)
    assert code == 0 and "kept from before" in told
    assert [row["id"] for row in rows_of(out)] == list(range(30))


def test_each_row_is_on_disk_as_it_is_answered(ehr, tmp_path):
    source, out = ask_times(tmp_path / "in.jsonl", 60), tmp_path / "out.jsonl"
    process = start(source, out, "--db", ehr, seconds=0.5)
    try:
        wait_for(out, 2, process, seconds=20)  # all 60 take 30 seconds
    finally:
        process.kill()
        process.communicate()
    assert len(rows_of(out)) < 20


def test_one_that_is_killed_again_and_again_advances_each_time(ehr, tmp_path):
    source, out = ask_times(tmp_path / "in.jsonl", 40), tmp_path / "out.jsonl"
    for rows in (2, 4, 6, 8):
        killed_at(rows, out, source, out, "--db", ehr)
        assert len(rows_of(out)) >= rows
    code, told = run(source, out, "--db", ehr)
    kept = int(told.split(" kept")[0].split("(")[-1])
    assert code == 0 and kept >= 8, told
    assert [row["id"] for row in rows_of(out)] == list(range(40))


def garble(path: Path) -> None:
    """Overwrite all but the first page, and change the counter so that SQLite reads it again."""
    data = bytearray(path.read_bytes())
    data[24:28] = b"\x7f\x7f\x7f\x7f"
    data[92:96] = b"\x7f\x7f\x7f\x7f"
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(bytes(data))


def truncate(path: Path) -> None:
    os.truncate(path, 4096)


def empty(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize("harm", [garble, truncate, empty])
def test_a_damaged_database_is_a_failure_that_can_be_gone_on_with(ehr, tmp_path, harm):
    source, out = ask_times(tmp_path / "in.jsonl", 40), tmp_path / "out.jsonl"
    whole = tmp_path / "whole.jsonl"
    assert run(source, whole, "--db", ehr)[0] == 0
    kept = shutil.copy2(ehr, tmp_path / "kept.sqlite")
    process = start(source, out, "--db", ehr, seconds=0.05)
    wait_for(out, 5, process)
    harm(ehr)
    _, told = process.communicate(timeout=60)
    found = [row["status"] for row in rows_of(out)]
    good = found.index("failed")
    assert set(found[:good]) == {"answered"} and set(found[good:]) == {"failed"}
    assert process.returncode == 1 and len(found) == 40
    assert b"same command" in told and b"database" in told
    shutil.copy2(kept, ehr)
    code, told = run(source, out, "--db", ehr)
    assert code == 0 and f"{good} kept from before" in told
    assert out.read_bytes() == whole.read_bytes()


def test_output_is_for_its_owner_alone(cli, ehr, rote, tmp_path):
    source = ask_times(tmp_path / "in.jsonl", 2)
    times = tmp_path / "times.jsonl"
    before = os.umask(0o022)
    try:
        assert cli("batch", source, tmp_path / "o.csv", "--db", ehr, "--timings", times).code == 0
    finally:
        os.umask(before)
    for path in (tmp_path / "o.csv", times):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_part_that_is_empty_is_no_hindrance(cli, ehr, rote, tmp_path):
    """As a full disk leaves it: the settings could not be written, OUT was not begun."""
    source, out = ask_times(tmp_path / "in.jsonl", 3), tmp_path / "out.jsonl"
    part = tmp_path / "out.jsonl.part"
    for left in (b"", b'{"settings": {"datab'):
        part.write_bytes(left)
        out.unlink(missing_ok=True)
        ran = cli("batch", source, out, "--db", ehr)
        assert ran.code == 0, ran.err
        assert len(rows_of(out)) == 3 and not part.exists()


@pytest.mark.parametrize("mark", ["7", "null", '["a", "b", "c"]', "[1]", '{"a": 1}', "[-1, 2, 3]"])
def test_a_mark_that_is_none_is_passed_over(cli, ehr, rote, tmp_path, mark):
    source, out = ask_times(tmp_path / "in.jsonl", 20), tmp_path / "out.jsonl"
    killed_at(5, out, source, out, "--db", ehr)
    with (tmp_path / "out.jsonl.part").open("a") as file:
        file.write(f"\n{mark}\n")
    assert run(source, out, "--db", ehr)[0] == 0
    assert [row["id"] for row in rows_of(out)] == list(range(20))


ODD_IDS = (
    '{"id": NaN, "question": "phone?"}',
    '{"id": [1, -Infinity, "a"], "question": "phone 2?"}',
    '{"id": "\\ud800\\udfff x\\udc00", "question": "phone 3?"}',
    '{"id": "a\\r\\nb\\u0000\\u2028\\"", "question": "phone 4?"}',
    '{"id": 1e400, "question": "phone 5?"}',
    '{"id": ' + "[" * 900 + "]" * 900 + ', "question": "phone 6?"}',
    '{"id": {"1": {"x": true}}, "question": "phone 7?"}',
    '{"id": 12345678901234567890123456789012345678901234567890, "question": "phone 8?"}',
    '{"id": " x ", "question": "phone 9?"}',
)


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_whatever_the_ids_are_a_run_can_be_gone_on_with(ehr, tmp_path, ending):
    source = tmp_path / "in.jsonl"
    more = ask_times(tmp_path / "more.jsonl", 12).read_text()
    source.write_text("\n".join(ODD_IDS) + "\n" + more)
    out, whole = tmp_path / f"out.{ending}", tmp_path / f"whole.{ending}"
    code, told = run(source, whole, "--db", ehr)
    assert code in (0, 1) and "unexpected" not in told, told
    killed_at(len(ODD_IDS) + 3, out, source, out, "--db", ehr)
    code, told = run(source, out, "--db", ehr)
    assert code in (0, 1) and "kept from before" in told, told
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("number", ["9" * 31, "9" * 5000, -(2**63) - 1, 10**30, "٣" * 40])
@pytest.mark.parametrize("field", ["patient_id", "study_id"])
def test_a_number_no_database_can_hold_is_told(cli, ehr, rote, tmp_path, number, field):
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"id": 1, "question": COUNT, field: number}) + "\n")
    ran = cli("batch", source, "--db", ehr)
    row = json.loads(ran.out)
    assert ran.code == 1 and row["status"] == "failed"
    assert field in row["error"]["message"] and "unexpected" not in row["error"]["message"]
    assert len(row["error"]["message"]) < 200


def test_an_id_with_half_a_character_is_logged(cli, ehr, rote, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"id": "a\\ud800", "question": "how many patients are there?"}\n')
    ran = cli("batch", source, "--db", ehr)
    assert ran.code == 0 and json.loads(ran.out)["status"] == "answered", ran
    log = cli("log", "path").out.strip()
    with closing(sqlite3.connect(log)) as connection:
        (written,) = connection.execute("SELECT answer FROM answers").fetchone()
    assert json.loads(written)["id"] == "a\ud800"


def notes_file(path: Path, text: str) -> Path:
    path.write_text(json.dumps({"note_id": "n1", "patient_id": 101, "text": text}) + "\n")
    return path


def test_notes_that_changed_are_noticed(cli, ehr, rote, tmp_path):
    one = notes_file(tmp_path / "a.jsonl", "Allergies: none.\n")
    assert cli("notes", "import", one, "--db", ehr).code == 0
    source, out = ask_times(tmp_path / "in.jsonl", 20), tmp_path / "out.jsonl"
    killed_at(4, out, source, out, "--db", ehr)
    two = notes_file(tmp_path / "b.jsonl", "Allergies: penicillin.\n")
    assert cli("notes", "import", two, "--replace", "--db", ehr).code == 0
    ran = cli("batch", source, out, "--db", ehr, "--no-log")
    assert ran.code == 2 and "notes" in ran.err and "--restart" in ran.err
    assert cli("notes", "import", one, "--replace", "--db", ehr).code == 0
    assert run(source, out, "--db", ehr)[0] == 0


def make_labels(folder: Path, present: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "scene_graph.tsv").write_text(
        f"study_id\tobject\tattribute\tpresent\n1\tleft lung\tpneumonia\t{present}\n"
    )
    (folder / "studies.tsv").write_text("study_id\timage_id\tview\tgender\n1\ta\tPA\tmale\n")


def test_images_that_changed_are_noticed(ehr, tmp_path):
    labels = tmp_path / "labels"
    make_labels(labels, "1")
    source, out = ask_times(tmp_path / "in.jsonl", 20), tmp_path / "out.jsonl"
    args = (source, out, "--db", ehr, "--scene-graphs", labels)
    killed_at(4, out, *args)
    make_labels(labels, "0")
    code, told = run(*args)
    assert code == 2 and "images" in told and "--restart" in told
