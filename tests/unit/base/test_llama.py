"""The wrapper of llama.cpp, over the small model that is shipped to prove it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from ehrqa_cli.contracts.errors import Cancelled, ModelError
from ehrqa_cli.llama import CONTEXT, Llama
from ehrqa_cli.modelstore import shipped


@pytest.fixture(scope="module")
def model() -> Iterator[Llama]:
    loaded = Llama(shipped("llama_probe/probe.gguf"))
    yield loaded
    loaded.close()


def read(model: Llama, ids: list[int], at: int = 0) -> np.ndarray:
    if not at:
        model.clear()
    last = len(ids) - 1
    return model.decode([(token, at + i, 0, i == last) for i, token in enumerate(ids)])[0]


def test_the_small_model_has_its_context(model: Llama) -> None:
    assert model.context == CONTEXT


def test_control_tokens_spelt_in_a_text_stay_text(model: Llama) -> None:
    for spelt in ("<s>", "</s>", "<|im_end|>"):
        assert len(model.tokenize(f"a{spelt}b")) == len(spelt) + 2


def test_a_step_is_ended_and_the_next_runs(model: Llama) -> None:
    ids = model.tokenize("the last potassium of the patient")
    plain = read(model, ids)
    model.cancel()
    with pytest.raises(Cancelled):
        read(model, ids, len(ids))
    with pytest.raises(Cancelled):  # until it is resumed
        read(model, ids)
    model.resume()
    assert np.array_equal(read(model, ids), plain)


def test_a_running_step_is_ended_from_another_thread(model: Llama) -> None:
    ids = (model.tokenize("the last potassium of the patient ") * 100)[:500]
    stopper = threading.Timer(0.02, model.cancel)
    stopper.start()
    with pytest.raises(Cancelled):
        for _ in range(2000):
            read(model, ids)
    stopper.join()
    model.resume()


def test_a_state_is_what_was_read(model: Llama) -> None:
    ids, more = model.tokenize("the last potassium"), model.tokenize(" of the patient")
    read(model, ids)
    state = model.state()
    after = read(model, more, len(ids))
    model.clear()
    model.restore(state)
    assert np.array_equal(read(model, more, len(ids)), after)
    with pytest.raises(ModelError):
        model.restore(b"not a state" * 10)


def test_a_model_without_a_chat_format_says_so(model: Llama) -> None:
    with pytest.raises(ModelError, match="chat format"):
        model.frame()


def test_text_that_is_no_unicode(model: Llama) -> None:
    assert model.tokenize("a\ud800b")
