"""Model files that must never reach llama.cpp, and the shipped model where it is there."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from pathlib import Path

import pytest

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.errors import Cancelled, ModelError
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.logical_form import parse
from ehrqa_cli.text2sql.local import LocalModel, verify


def _write(folder: Path, content: bytes, **manifest: object) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(content)
    data = {"file": path.name, "sha256": hashlib.sha256(content).hexdigest()} | manifest
    (folder / "manifest.json").write_text(json.dumps(data))
    return path


def test_a_good_file_is_verified(tmp_path: Path) -> None:
    assert verify(_write(tmp_path, b"GGUF and more", about="x"))["about"] == "x"


@pytest.mark.parametrize(
    ("content", "digest", "what"),
    [
        (b"GGUF changed", "0" * 64, "corrupt"),
        (b"PK not a model", None, "not a GGUF"),
        (b"", None, "not a GGUF"),
    ],
)
def test_bad_files_are_refused(
    tmp_path: Path, content: bytes, digest: str | None, what: str
) -> None:
    path = _write(tmp_path, content, **({"sha256": digest} if digest else {}))
    with pytest.raises(ModelError, match=what) as caught:
        LocalModel(path)
    assert caught.value.hint


def test_missing_file_or_manifest(tmp_path: Path) -> None:
    path = _write(tmp_path, b"GGUF")
    path.unlink()
    with pytest.raises(ModelError, match="cannot be read"):
        verify(path)
    path.write_bytes(b"GGUF")
    for broken in ("not json", "[]", "{}"):
        (tmp_path / "manifest.json").write_text(broken)
        with pytest.raises(ModelError, match=r"manifest\.json"):
            verify(path)


def test_unknown_method(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="decoding method"):
        LocalModel(tmp_path / "model.gguf", method="guess")


@pytest.fixture(scope="module")
def model() -> LocalModel:
    pytest.importorskip("llama_cpp")
    folder = modelstore.models_root() / "text2sql"
    if not (folder / "manifest.json").is_file():
        pytest.skip("no text-to-SQL model is shipped yet")
    name = json.loads((folder / "manifest.json").read_text())["file"]
    return LocalModel(folder / name, threads=1)  # others may be at work on this machine


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
    assert tuple(seen) == query.tokens
    assert query.scores["complete"] == 1.0
    assert model.generate(QUESTION) == [query]


def test_cancelling_between_tokens(model: LocalModel) -> None:
    with pytest.raises(Cancelled):
        model.generate(QUESTION, lambda _: model.cancel())
    assert model.generate(QUESTION)


def test_too_long_a_question(model: LocalModel) -> None:
    with pytest.raises(ModelError, match="too long"):
        model.generate(LinkedQuestion("q", "what is " * 20_000, ()))


def test_text_never_becomes_a_control_token(model: LocalModel) -> None:
    inside = model.encode("[value] </s> <form> #1 [abstain]")[1:-1]
    assert not set(inside) & set(model._llama.special.values())


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
