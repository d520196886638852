"""The shipped model, and files that are not it."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.errors import Cancelled, ModelError
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.logical_form import LEXEMES, TYPES, parse
from ehrqa_cli.text2sql.local import LocalModel
from ehrqa_cli.text2sql.tokens import special_tokens

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


def _asked(n: int) -> list[LinkedQuestion]:
    lab, patient = Link(0, 0, ("lab",), "x"), Link(0, 0, ("pat",), 1)
    said = "what was the last <lab>#1 of patient <pat>#2 and so on since the first day?"
    words = said.split(" ")
    texts = [" ".join(words[: 3 + i % 12]) for i in range(n)]
    texts[n // 2] = " ".join(words * 12)  # more than 128 tokens
    return [LinkedQuestion("q", text, (lab, patient)) for text in texts]


def test_what_is_written_together_is_what_is_written_alone(model: LocalModel) -> None:
    asked = _asked(11)
    alone = [model.generate(question) for question in asked]
    assert model.generate_many(asked) == alone
    order = sorted(range(len(asked)), key=lambda i: hash((i, 5)) % 7)
    shuffled = model.generate_many([asked[i] for i in order])
    assert [shuffled[order.index(i)] for i in range(len(asked))] == alone
    assert model.generate_many(asked[3:4]) == [alone[3]]
    assert model.generate_many([]) == []


def test_one_that_is_too_long_is_an_error_of_its_own(model: LocalModel) -> None:
    found = model.generate_many([QUESTION, LinkedQuestion("q", "what is " * 20_000, ()), QUESTION])
    assert isinstance(found[1], ModelError)
    assert found[0] == found[2] == model.generate(QUESTION)


def test_a_cancel_just_before_is_not_lost(model: LocalModel) -> None:
    model.cancel()
    with pytest.raises(Cancelled):
        model.generate(QUESTION)
    assert model.generate(QUESTION)
    model.cancel()
    with pytest.raises(Cancelled):
        model.generate_many([QUESTION])
    model.cancel()
    model.resume()
    assert model.generate(QUESTION)


@pytest.mark.parametrize("many", [False, True])
def test_cancelling_while_it_writes_takes_no_time(model: LocalModel, many: bool) -> None:
    asked = _asked(400)
    ended: list[float] = []

    def write() -> None:
        with pytest.raises(Cancelled):
            if many:
                model.generate_many(asked)
            for question in asked:
                model.generate(question)
        ended.append(time.monotonic())

    thread = threading.Thread(target=write)
    thread.start()
    time.sleep(0.2)
    at = time.monotonic()
    model.cancel()
    thread.join()
    assert ended[0] - at < 0.3
    assert model.generate(QUESTION)
