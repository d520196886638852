"""The authored questions: every form can be written for its question; none is said too often."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.logical_form import EOS, TYPES, Machine, parse, print_form

FOLDER = Path(__file__).parents[3] / "models" / "corpus" / "questions"
FILES = sorted(FOLDER.glob("*.jsonl"))
SLOT = re.compile(r"\{(\w+):([^{}]+)\}")
DATES = ("year", "ym", "ymd", "md", "stamp", "mon", "quarter", "num")
MEANT = {"date": DATES, "attr": ("attr", "cat"), "drug": ("drug", "resistant", "susceptible")}
SPLITS = {"train", "tune", "held", "family"}


def rows(path: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def asked(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(whole question, form) of a row; of a conversation all of them."""
    for turn in row.get("turns", [row]):
        yield turn.get("full", turn["q"]), turn.get("form", "abstain")


def fault(question: str, form: str) -> str | None:
    """Why a form cannot be that of a question."""
    slots = SLOT.findall(question)
    unknown = {kind for kind, _ in slots} - {*TYPES, *MEANT}
    if unknown:
        return f"placeholders of no type: {unknown}"
    if form == "abstain":
        return None
    try:
        written = print_form(parse(form))
        machine = Machine([MEANT.get(kind, (kind,)) for kind, _ in slots])
        for word in (*written.split(), EOS):
            machine.push(word)
    except (EhrqaError, ValueError) as error:
        return str(error)
    return None if written == form else f"printed as {written}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_form_can_be_written_for_its_question(path: Path) -> None:
    found = {
        row["id"]: why
        for row in rows(path)
        for question, form in asked(row)
        if (why := fault(question, form))
    }
    assert not found, list(found.items())[:5]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ids_are_single_and_no_writer_is_of_two_splits(path: Path) -> None:
    ids = Counter(row["id"] for row in rows(path))
    assert max(ids.values()) == 1
    splits: dict[str, set[str]] = {}
    for row in rows(path):
        assert row["split"] in SPLITS
        splits.setdefault(row["writer"], set()).add(row["split"])
    # What is left out by the family of its form may be any writer's.
    assert all(len(found - {"family"}) <= 1 for found in splits.values())


def test_no_frame_makes_up_much_of_it() -> None:
    frames: Counter[str] = Counter()
    for path in FILES:
        for row in rows(path):
            for turn in row.get("turns", [row]):
                masked = SLOT.sub(lambda m: f"{{{m[1]}}}", turn["q"]).lower()
                frames[" ".join(re.findall(r"[a-z{}']+", masked))] += 1
    assert max(frames.values()) / frames.total() <= 0.003, frames.most_common(3)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_placeholder_holds_the_id_of_anybody(path: Path) -> None:
    held = re.compile(r"\{(?:pat|study|adm|stay):(?!\d\d?\})[^{}]*\}")
    assert not held.findall(path.read_text(encoding="utf-8"))
