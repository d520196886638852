"""``ehrqa build notes`` and ``review`` as commands: what they print, and what they refuse."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.sets.notes.review import Decision, Review, load_set


def write_set(folder: Path) -> Path:
    """Two questions about one note."""
    folder.mkdir()
    choices = dict(zip("ABCDE", ("1 mg", "2 mg", "3 mg", "4 mg", "5 mg"), strict=True))
    rows: list[dict[str, Any]] = [
        {"id": key, "patient_id": "7", "question": f"What dose, {key}?", "choices": choices,
         "answer": "B", "evidence": [{"note_id": "a", "text": "2 mg"}], "category": "treatment"}
        for key in ("q1", "q2")
    ]  # fmt: skip
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    note = {"note_id": "a", "patient_id": "7", "charttime": "2100-01-01", "text": "He had 2 mg."}
    (folder / "notes.jsonl").write_text(json.dumps(note) + "\n")
    return folder


def test_notes_needs_a_model_and_notes(cli, tmp_path) -> None:
    base = ("build", "notes", "--db", tmp_path / "ehr.sqlite", "--out", tmp_path / "set")
    ran = cli(*base)
    assert ran.code == 2 and "--model" in ran.err
    ran = cli(*base, "--model", tmp_path / "none.gguf")
    assert ran.code == 1 and "cannot read the model" in ran.err
    (tmp_path / "some.gguf").write_text("not one")
    ran = cli(*base, "--model", tmp_path / "some.gguf")
    assert ran.code == 1 and "is not a GGUF file" in ran.err
    ran = cli(*base, "--model", "no-such-model")
    assert ran.code == 1 and "there is no model" in ran.err
    (tmp_path / "some.gguf").write_bytes(b"GGUF and so on")
    ran = cli(*base, "--model", tmp_path / "some.gguf")
    assert ran.code == 1 and "has no notes" in ran.err and "ehrqa notes import" in ran.err
    assert not (tmp_path / "set").exists()


def test_a_review_needs_a_terminal_or_a_flag(cli, tmp_path) -> None:
    data = write_set(tmp_path / "set")
    ran = cli("build", "review", data)
    assert ran.code == 2 and "needs a terminal" in ran.err and "--stats" in ran.err
    ran = cli("build", "review", data, "--stats")
    assert ran.code == 2 and "nobody has reviewed" in ran.err
    ran = cli("build", "review", tmp_path, "--stats")
    assert ran.code == 1 and "holds no questions over notes" in ran.err


def test_stats_and_export(cli, tmp_path) -> None:
    data = write_set(tmp_path / "set")
    for name, second in (("ann", "dropped"), ("bob", "accepted")):
        with Review(load_set(data), name) as review:
            review.decide(Decision("q1", "accepted"), 4.0)
            review.decide(Decision("q2", second), 8.0)
    ran = cli("build", "review", data, "--stats")
    assert ran.code == 0, ran.err
    assert "ann, bob: 2 items decided by both, same decision 50.0%, kappa 0.00" in ran.out
    assert "seconds for an item\t6\t6\t" in ran.out
    ran = cli("build", "review", data, "--stats", "--json", "--reviewer", "bob")
    found = json.loads(ran.out)
    assert list(found["reviewers"]) == ["bob"] and found["reviewers"]["bob"]["kept"] == 2
    ran = cli("build", "review", data, "--stats", "--reviewer", "eve")
    assert ran.code == 2 and "eve has not reviewed" in ran.err and "ann, bob" in ran.err
    out = tmp_path / "out"
    ran = cli("build", "review", data, "--export", out)
    assert ran.code == 0 and "(1 questions)" in ran.out
    assert len((out / "questions.jsonl").read_text().splitlines()) == 1
    assert "seconds" not in (out / "card.json").read_text()
    ran = cli("eval", "ehrnoteqa", "--data", out, "--predictions", out / "gold.json", "--json")
    assert json.loads(ran.out)["scores"]["accuracy"]["value"] == 1.0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_screen_is_killed_and_nothing_is_lost(tmp_path) -> None:
    import pty

    data = write_set(tmp_path / "set")
    journal = data / "review" / "ann.jsonl"
    command = [sys.executable, "-m", "ehrqa_cli", "build", "review", str(data), "--reviewer", "ann"]
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        command, stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(inner)
    os.set_blocking(outer, False)
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and not _decided(journal):
            assert process.poll() is None
            try:
                seen = os.read(outer, 1 << 16)
            except BlockingIOError:
                seen = b""
            if b"undecided" in seen:
                os.write(outer, b"a")
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
    finally:
        process.kill()
        process.wait(30)
        os.close(outer)
    with Review(load_set(data), "ann") as review:
        assert review.decisions["q1"] == Decision("q1", "accepted")


def _decided(journal: Path) -> bool:
    return journal.exists() and "accepted" in journal.read_text()
