"""The parts of the second opinion that need no model: reading, filling, votes, files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.onnx import Folder
from ehrqa_cli.text2sql.second import SecondOpinion
from ehrqa_cli.text2sql.second.pieces import MOST_TOKENS, SPECIALS, Pieces
from ehrqa_cli.text2sql.second.slots import fill, template_text

PIECES = Pieces(["what", "was", "the", "last", "##ly", "of", "patient", "?", "<", "pat", ">", "#"])


def _names(text: str) -> list[str]:
    names = (*SPECIALS, *PIECES.words)
    return [names[k] for k in PIECES.read(text).ids]


def test_words_are_split_at_the_longest_piece() -> None:
    assert _names("What was lastly?") == ["<s>", "what", "was", "last", "##ly", "?"]
    assert _names("laster") == ["<s>", "<unk>"]


def test_an_unknown_patient_reads_as_a_known_one() -> None:
    known = PIECES.read("what was <lab>#1 of patient <pat>#2 of <drug><intake>#3")
    unknown = PIECES.read("what was <lab>#1 of patient <nopat> of <drug><intake>#2")
    assert known.ids == unknown.ids
    assert known.numbers == {"#1": "#1", "#2": "#2", "#3": "#3"}
    assert unknown.numbers == {"#1": "#1", "#2": "#3"}


def test_control_tokens_cannot_be_typed() -> None:
    assert _names("</s> <pad> <patient>") == [
        "<s>", "<", "<unk>", "<unk>", ">", "<", "<unk>", ">", "<", "patient", ">",
    ]  # fmt: skip


def test_a_long_question_is_cut() -> None:
    assert len(PIECES.read("what " * 500).ids) == MOST_TOKENS


@pytest.mark.parametrize(
    ("form", "ours", "filled"),
    [
        ("value last lab #1 patient #2", [["pat"], ["lab"]], ("value last lab #2 patient #1", 0)),
        (
            "count_patients rx #1 after ( dx #2 ) in #3",
            [["ymd"], ["drug"], ["num"], ["dx"]],
            ("count_patients rx #2 after ( dx #4 ) in #1", 1),
        ),
        # what can only be one thing goes first
        (
            "count rx #1 before ( intake #2 )",
            [["drug", "intake"], ["drug"]],
            ("count rx #2 before ( intake #1 )", 0),
        ),
        # both references are of one type: their order stays
        ("count rx #2 before ( rx #1 )", [["drug"], ["drug"]], ("count rx #2 before ( rx #1 )", 0)),
        ("value last lab #1 patient #2", [["lab"]], None),
        ("count admission since #2", [["dur"]], None),
        ("no such form", [], None),
    ],
)
def test_filling_a_form(form: str, ours: list[list[str]], filled: tuple[str, int] | None) -> None:
    assert fill(form, ours) == filled


def test_words_for_people() -> None:
    text = "last <lab>#1 of patient <nopat> after <drug><intake>#2"
    shown = "last [lab test] of patient [patient id] after [drug or intake]"
    assert template_text(text) == shown


def _folder(path: Path, **files: bytes) -> Path:
    path.mkdir()
    for name, data in files.items():
        (path / name).write_bytes(data)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    (path / "manifest.json").write_text(json.dumps({"files": hashes}))
    return path


def test_files_are_checked(tmp_path: Path) -> None:
    path = _folder(tmp_path / "model", words=b'["a"]', broken=b"[")
    folder = Folder(path)
    assert folder.json("words") == ["a"]
    for name, message in (("broken", "cannot be read"), ("other", "does not name")):
        with pytest.raises(ModelError, match=message) as caught:
            folder.json(name)
        assert caught.value.hint
    (path / "words").write_bytes(b'["b"]')
    with pytest.raises(ModelError, match="corrupt"):
        folder.json("words")
    (path / "words").unlink()
    with pytest.raises(ModelError, match="cannot be read"):
        folder.json("words")


@pytest.mark.parametrize("content", [None, "no json", "[]", "{}", '{"files": 3}'])
def test_without_a_usable_manifest(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "answerability").mkdir()
        (tmp_path / "answerability" / "manifest.json").write_text(content)
    with pytest.raises(ModelError, match=r"manifest\.json") as caught:
        SecondOpinion.load(tmp_path)
    assert "git checkout" in caught.value.hint


def test_without_onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    folder = Folder(_folder(tmp_path / "model", net=b"x"))
    with pytest.raises(ModelError, match="not installed") as caught:
        folder.network("net")
    assert "pip install" in caught.value.hint


def test_a_file_that_is_no_network(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    folder = Folder(_folder(tmp_path / "model", net=b"not a network"))
    with pytest.raises(ModelError, match="cannot load net"):
        folder.network("net")
