"""A batch that is killed, or runs out of disk, goes on and ends with the same bytes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("batch_driver.py")
COUNT = "how many patients are there?"


def questions(path: Path, n: int) -> Path:
    """Of mixed kinds: answered, declined, failing, repeated, and lines that are none."""
    kinds = (
        lambda i: {"id": i, "question": COUNT, "as_of": f"{2000 + i}-01-01"},
        lambda i: {"id": f"é{i}", "question": "what is her phone number?", "patient_id": 101},
        lambda i: {"id": i, "question": f"boom {i}"},
        lambda i: {"question": COUNT, "id": None},
        lambda i: {"id": i, "question": COUNT, "as_of": f"{1996 + i}-01-01"},
        lambda i: {"id": i, "question": ["no text"]},
    )
    with path.open("w") as file:
        for i in range(n):
            file.write(json.dumps(kinds[i % 6](i), ensure_ascii=False) + "\n")
            if i % 50 == 0:
                file.write("this is no JSON\n\n")
    return path


def start(*args: object, seconds: float = 0.0, most: int = 0, **more) -> subprocess.Popen:
    command = [sys.executable, DRIVER, seconds, most, "batch", *args, "--no-log", "--workers", 1]
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen([str(arg) for arg in command], **more)


def run(*args: object, **more) -> tuple[int, str]:
    process = start(*args, **more)
    _, err = process.communicate(timeout=120)
    return process.returncode, err.decode() if err else ""


def killed_at(rows: int, out: Path, *args: object) -> None:
    """Kill -9 once OUT has about so many rows."""
    process = start(*args, seconds=0.01)  # a row: time to kill it in
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        if out.exists() and out.read_bytes().count(b"\n") >= rows:
            break
        time.sleep(0.005)
    process.kill()
    process.communicate()


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_killed_at_random_points_it_gives_the_same_bytes(ehr, tmp_path, ending):
    source = questions(tmp_path / "in.jsonl", 180)
    whole, out = tmp_path / f"whole.{ending}", tmp_path / f"out.{ending}"
    code, told = run(source, whole, "--db", ehr)
    assert code == 1 and ": 0 answered" not in told and " 0 failed" not in told
    assert not list(tmp_path.glob("*.part"))
    points = random.Random(7).sample(range(1, 120), 2 if ending == "jsonl" else 1)
    for rows in sorted(points):
        killed_at(rows, out, source, out, "--db", ehr)
        assert out.with_name(out.name + ".part").exists(), "it was killed too late"
    # What may also be left: a row that was cut short, and a mark that was.
    with out.open("ab") as file:
        file.write(b'{"id": 7, "question": "ha')
    with out.with_name(out.name + ".part").open("ab") as file:
        file.write(b"[12")
    code, told = run(source, out, "--db", ehr)
    assert code == 1 and "kept from before" in told
    assert out.read_bytes() == whole.read_bytes()
    assert not list(tmp_path.glob("*.part"))


def test_standard_input_can_be_gone_on_with_too(ehr, tmp_path):
    source = questions(tmp_path / "in.jsonl", 150)
    out, whole = tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    run(source, whole, "--db", ehr)
    with source.open("rb") as given:
        process = start("-", out, "--db", ehr, seconds=0.005, stdin=given)
        while process.poll() is None and not (out.exists() and out.stat().st_size):
            time.sleep(0.01)
        process.kill()
        process.communicate()
    with source.open("rb") as given:
        run("-", out, "--db", ehr, stdin=given)
    assert out.read_bytes() == whole.read_bytes()


def test_it_does_not_go_on_with_other_questions_or_settings(cli, ehr, rote, tmp_path):
    source = questions(tmp_path / "in.jsonl", 200)
    out = tmp_path / "out.jsonl"
    killed_at(20, out, source, out, "--db", ehr)
    before = out.read_bytes()
    ran = cli("batch", source, out, "--db", ehr, "--no-log", "--as-of", "2100-01-01")
    assert ran.code == 2 and "as of" in ran.err and "--restart" in ran.err
    lines = source.read_text().split("\n")
    lines[0] = lines[0].replace("how many", "count how many")
    source.write_text("\n".join(lines))
    ran = cli("batch", source, out, "--db", ehr, "--no-log")
    assert ran.code == 2 and "questions have changed" in ran.err and "--restart" in ran.err
    assert out.read_bytes() == before
    ran = cli("batch", source, out, "--db", ehr, "--no-log", "--restart")
    assert ran.code == 1 and "kept" not in ran.err
    assert not list(tmp_path.glob("*.part"))


def test_a_file_that_is_no_answers_is_left_alone(cli, ehr, rote, tmp_path):
    source = questions(tmp_path / "in.jsonl", 2)
    out = tmp_path / "out.jsonl"
    out.write_text("my diary\n")
    ran = cli("batch", source, out, "--db", ehr)
    assert ran.code == 2 and "--restart" in ran.err and out.read_text() == "my diary\n"
    assert cli("batch", source, out, "--db", ehr, "--restart").code == 1
    first = out.read_bytes()
    assert cli("batch", source, out, "--db", ehr).code == 1
    assert out.read_bytes() == first, "answers are made anew"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a limit on the size of files")
def test_a_full_disk_is_told_and_nothing_is_lost(ehr, tmp_path):
    source = questions(tmp_path / "in.jsonl", 60)
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    run(source, whole, "--db", ehr)
    code, told = run(source, out, "--db", ehr, most=whole.stat().st_size // 2)
    assert code == 1
    assert f"cannot write {out}" in told and "the same command" in told
    assert "Traceback" not in told
    run(source, out, "--db", ehr)
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("as_stream", [True, False])
def test_dev_full(ehr, tmp_path, as_stream):
    source = questions(tmp_path / "in.jsonl", 3)
    with Path("/dev/full").open("wb") as full:
        args = (source, "--db", ehr) if as_stream else (source, "/dev/full", "--db", ehr)
        code, told = run(*args, stdout=full)
    assert code == 1 and "No space left" in told and "Traceback" not in told


def test_a_reader_that_goes_away_is_no_error(ehr, tmp_path):
    source = questions(tmp_path / "in.jsonl", 300)
    process = start(source, "--db", ehr)
    assert process.stdout.readline().startswith(b'{"id": 0')
    process.stdout.close()
    told = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) == 0 and "error" not in told
