"""What the model is shown, which numbers it may cite, and the files of what it has read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ehrqa_cli.contracts.notes import FoundLine, Line
from ehrqa_cli.notes.find.embed import Embedder
from ehrqa_cli.notes.lines.split import split
from ehrqa_cli.notes.read.instruct.numbers import Numbers
from ehrqa_cli.notes.read.instruct.page import best_page, whole_page
from ehrqa_cli.notes.read.instruct.states import States
from ehrqa_cli.notes.read.instruct.support import SupportTable
from ehrqa_cli.notes.read.meaning import Meaning
from ehrqa_cli.notes.read.record import Record, RecordNote

TEXT = """Hospital Course:
The left radius was fixed with a plate.
Ibuprofen was stopped because of a gastric ulcer.
Hemoglobin fell to 8.4.
Discharge Medications:
1. Oxycodone 5 mg PO q6h prn
2. Pantoprazole 40 mg PO BID
3. Senna 8.6 mg PO BID
"""


def record(text: str = TEXT) -> Record:
    return Record((RecordNote("n", "2150-03-09", "discharge summary", tuple(split(text, "n"))),))


def words(text: str) -> int:
    return len(text.split())


def found(text: str) -> FoundLine:
    return next(
        FoundLine(line, 1.0) for note in record().notes for line in note.lines if text in line.text
    )


def test_lines_have_numbers_and_headings_none() -> None:
    page = whole_page(record(), frozenset(), 500, words)
    assert page is not None and page.whole
    shown = page.text.splitlines()
    assert shown[0] == "[Note 1: discharge summary, 2150-03-09]"
    assert "Hospital Course:" in shown and "Discharge Medications:" in shown
    assert sorted(page.lines) == list(range(1, len(page.lines) + 1))
    for number, line in page.lines.items():
        assert f"{number}| {line.text}" in shown


def test_lines_that_are_out_are_not_shown() -> None:
    out = found("Ibuprofen").line
    page = whole_page(record(), frozenset({(out.note_id, out.number)}), 500, words)
    assert page is not None and "Ibuprofen" not in page.text and "Pantoprazole" in page.text


def test_a_long_record_is_no_whole_page() -> None:
    assert whole_page(record(), frozenset(), 10, words) is None
    assert whole_page(record("word " * 2_000_000), frozenset(), 100, lambda _: 1 // 0) is None


def test_the_lines_that_matter_with_their_heading_in_order() -> None:
    best = [found("Pantoprazole"), found("radius")]
    page = best_page(record(), best, frozenset(), 500, words)
    assert not page.whole
    for text in ("radius", "Ibuprofen", "Oxycodone", "Pantoprazole", "Discharge Medications:"):
        assert text in page.text
    assert page.text.index("radius") < page.text.index("Pantoprazole")
    little = best_page(record(), best, frozenset(), 1, words)
    assert "Pantoprazole" in little.text and "radius" not in little.text


def test_a_line_is_shown_as_far_as_it_can_be_quoted() -> None:
    line = Line("n", 0, 0, 900, "x" * 900)
    page = whole_page(Record((RecordNote("n", None, "note", (line,)),)), frozenset(), 5000, len)
    assert page is not None and page.text.count("x") == 300


def digits(text: str) -> list[int]:
    return [int(c) for c in text]


def test_only_existing_numbers_can_be_written() -> None:
    numbers = Numbers([1, 2, 12, 30], digits)
    assert sorted(numbers.allowed([])) == [1, 2, 3]
    assert numbers.complete([1]) and numbers.allowed([1]) == [2]
    assert not numbers.complete([3]) and numbers.allowed([3]) == [0]
    assert numbers.cite([3, 0]) == 30
    assert sorted(numbers.allowed([])) == [1, 2]
    assert numbers.cite([1]) == 1
    assert not numbers.complete([1]) and numbers.allowed([1]) == [2]


def test_a_tokenizer_with_tokens_of_several_digits() -> None:
    numbers = Numbers([7, 12], lambda text: [100 + int(text)])
    assert sorted(numbers.allowed([])) == [107, 112]
    assert numbers.complete([112]) and numbers.allowed([112]) == []


def test_a_state_comes_back_and_is_private(tmp_path: Path) -> None:
    states = States(tmp_path / "read")
    key = States.key("a" * 64, [1, 2, 3])
    assert key != States.key("b" * 64, [1, 2, 3]) != States.key("b" * 64, [1, 2])
    assert states.load(key) is None
    assert states.save(key, b"what was read")
    assert states.load(key) == b"what was read"
    (file,) = (tmp_path / "read").iterdir()
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert states.purge() == 1
    assert states.load(key) is None


@pytest.mark.parametrize("damage", [b"", b"ehrqa-read-1\n", b"x" * 100])
def test_a_damaged_state_is_none(tmp_path: Path, damage: bytes) -> None:
    states = States(tmp_path)
    key = States.key("a", [1])
    states.save(key, b"what was read")
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage or file.read_bytes()[:-1] + b"?")
    assert states.load(key) is None
    assert not file.exists()


def test_the_folder_is_bounded(tmp_path: Path) -> None:
    states = States(tmp_path, most_bytes=350)
    keys = [States.key("a", [n]) for n in range(4)]
    for n, key in enumerate(keys):
        assert states.save(key, bytes(100))
        os.utime(tmp_path / f"{key}.state", (n, n))
    assert [states.load(key) is not None for key in keys] == [False, False, True, True]
    assert not states.save(States.key("a", [9]), bytes(1000))


def test_a_folder_that_cannot_be_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    states = States(tmp_path / "file" / "read")
    assert not states.save(States.key("a", [1]), b"x")
    assert states.load(States.key("a", [1])) is None
    assert states.purge() == 0


LINES = [
    "Ibuprofen was stopped because of a gastric ulcer.",
    "Pantoprazole 40 mg PO BID",
    "Hgb fell to 8.4.",
]


@pytest.mark.parametrize(
    ("answer", "enough", "first"),
    [
        ("a gastric ulcer", True, 0),
        ("40 mg twice a day", True, 1),
        ("80 mg twice a day", False, 1),
        ("hemoglobin 8.4", True, 2),
        ("metastatic melanoma of the scalp", False, None),
    ],
)
def test_an_answer_is_borne_out_or_not(
    answer: str, enough: bool, first: int | None, embedder: Embedder
) -> None:
    borne = SupportTable.of(answer, "What was it?", LINES, Meaning(embedder)).borne([0, 1, 2])
    assert borne.enough is enough
    assert first is None or borne.places[0] == first


def test_an_answer_may_need_two_lines(embedder: Embedder) -> None:
    borne = SupportTable.of("ulcer, 8.4", "What was it?", LINES, Meaning(embedder)).borne([1, 0, 2])
    assert set(borne.places) == {0, 2} and borne.enough
