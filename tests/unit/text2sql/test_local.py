"""The shipped model, and files that are not it."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.errors import Cancelled, ModelError
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.encoder.tokens import special_tokens
from ehrqa_cli.logical_form import LEXEMES, TYPES, parse
from ehrqa_cli.text2sql import local
from ehrqa_cli.text2sql.decoding import Written, write
from ehrqa_cli.text2sql.local import LocalModel

SHIPPED = modelstore.models_root() / "text2sql"


def test_changed_missing_and_foreign_files_are_refused(tmp_path: Path) -> None:
    for name in ("manifest.json", "text2sql.onnx", "decoder.onnx"):
        (tmp_path / name).write_bytes((SHIPPED / name).read_bytes())
    whole = (tmp_path / "decoder.onnx").read_bytes()
    (tmp_path / "decoder.onnx").write_bytes(whole[:-1] + b"?")
    with pytest.raises(ModelError, match="corrupt") as caught:
        LocalModel(tmp_path)
    assert caught.value.hint
    (tmp_path / "decoder.onnx").unlink()
    with pytest.raises(ModelError, match="cannot be read"):
        LocalModel(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"lexemes": []}))
    with pytest.raises(ModelError, match="no text-to-SQL model"):
        LocalModel(tmp_path)
    for broken in ("not json", "[]", "{}"):
        (tmp_path / "manifest.json").write_text(broken)
        with pytest.raises(ModelError, match=r"manifest\.json"):
            LocalModel(tmp_path)


def test_unknown_method(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="decoding method"):
        LocalModel(tmp_path, method="guess")


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel(SHIPPED)


def test_it_knows_every_word_of_the_form_and_every_type(model: LocalModel) -> None:
    manifest = model.manifest
    assert set(LEXEMES) <= set(manifest["lexemes"])
    assert set(special_tokens(TYPES)) == set(manifest["special"])


QUESTION = LinkedQuestion(
    "q",
    "what was the last <lab>#1 of patient <pat>#2?",
    (Link(0, 0, ("lab",), "x"), Link(0, 0, ("pat",), 1)),
)


def test_the_shipped_model_writes_valid_forms(model: LocalModel) -> None:
    seen: list[str] = []
    query = model.generate(QUESTION, seen.append)[0]
    assert query.logical_form is not None
    parse(query.logical_form)
    assert tuple(seen) == query.tokens[: len(seen)] and len(seen) >= len(query.tokens) - 1
    assert query.scores["complete"] == 1.0
    assert model.generate(QUESTION) == [query]


def test_cancelling_between_tokens(model: LocalModel) -> None:
    with pytest.raises(Cancelled):
        model.generate(QUESTION, lambda _: model.cancel())
    assert model.generate(QUESTION)


def test_too_long_a_question(model: LocalModel) -> None:
    with pytest.raises(ModelError, match="too long"):
        model.generate(LinkedQuestion("q", "what is " * 20_000, ()))


def test_a_cancel_just_before_is_not_lost(model: LocalModel) -> None:
    model.cancel()
    with pytest.raises(Cancelled):
        model.generate(QUESTION)
    assert model.generate(QUESTION)
    model.cancel()
    model.resume()
    assert model.generate(QUESTION)


def test_a_cancel_after_the_last_token_is_not_lost(
    model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_and_cancel(*given: Any) -> list[Written]:
        found = write(*given)
        model.cancel()
        return found

    monkeypatch.setattr(local, "write", write_and_cancel)
    with pytest.raises(Cancelled):
        model.generate(QUESTION)
    monkeypatch.undo()
    assert model.generate(QUESTION)


def test_cancelling_while_it_writes_takes_no_time(model: LocalModel) -> None:
    ended: list[float] = []

    def write() -> None:
        with pytest.raises(Cancelled):
            for _ in range(2000):
                model.generate(QUESTION)
        ended.append(time.monotonic())

    thread = threading.Thread(target=write)
    thread.start()
    time.sleep(0.2)
    at = time.monotonic()
    model.cancel()
    thread.join()
    assert ended[0] - at < 0.3
    assert model.generate(QUESTION)
