"""``ehrqa build emrqa`` as a command: what it prints, and that it goes on after a fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ehrqa_papers.emrqa_sets import build

DRUGS = ("aspirin", "heparin", "furosemide", "vancomycin", "metoprolol")


def annotated(folder: Path, notes: int = 5) -> Path:
    """Medication annotations of one line each."""
    folder.mkdir()
    for n in range(1, notes + 1):
        (folder / f"n{n}").write_text(f"Notes of stay {n}\n{DRUGS[n - 1]} {n} mg daily for gout.\n")
        fields = [("m", DRUGS[n - 1], 0, 0), ("do", f"{n} mg", 1, 2), ("f", "daily", 3, 3),
                  ("r", "gout.", 5, 5)]  # fmt: skip
        entry = "||".join(f'{k}="{text}" 2:{a} 2:{b}' for k, text, a, b in fields)
        (folder / f"n{n}.i2b2.entries").write_text(entry + '||mo="nm"||du="nm"||ln="list"\n')
    return folder


def test_emrqa_is_built_and_gold_scores_100(cli, tmp_path) -> None:
    tree = annotated(tmp_path / "tree")
    ran = cli("build", "emrqa", "--annotations", tree, "--out", tmp_path / "set")
    assert ran.code == 0, ran.err
    assert "medication  " in ran.out and "5 notes" in ran.out and "BLEU" in ran.out
    data = tmp_path / "set" / "train"
    gold = ("--predictions", data / "gold.json", "--json")
    ran = cli("eval", "emrqa", "--data", data, *gold)
    assert ran.code == 0, ran.err
    scores = json.loads(ran.out)["scores"]
    assert scores["em"]["value"] == scores["f1"]["value"] == 1.0
    card = json.loads((tmp_path / "set" / "card.json").read_text())
    ran = cli("build", "emrqa", "--annotations", tree, "--out", tmp_path / "set", "--json")
    assert ran.code == 0 and json.loads(ran.out) == card  # it is there: the card is told again


@pytest.mark.parametrize("after", [1, 3])
def test_emrqa_broken_off_goes_on_to_the_same_bytes(cli, tmp_path, monkeypatch, after) -> None:
    tree = annotated(tmp_path / "tree")
    args = ("build", "emrqa", "--annotations", tree, "--out")
    assert cli(*args, tmp_path / "whole").code == 0
    real, left = build._of_note, [after]

    def dying(*given: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        return real(*given)

    monkeypatch.setattr(build, "_of_note", dying)
    ran = cli(*args, tmp_path / "set")
    assert ran.code == 1 and "No space left on device" in ran.err
    monkeypatch.undo()
    assert cli(*args, tmp_path / "set").code == 0
    for path in (tmp_path / "whole").rglob("*.*"):
        other = tmp_path / "set" / path.relative_to(tmp_path / "whole")
        assert other.read_bytes() == path.read_bytes(), path
