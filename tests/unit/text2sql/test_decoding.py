"""Greedy and beam decoding under the grammar, over a model of a few numbers."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ehrqa_cli.contracts.errors import Cancelled
from ehrqa_cli.logical_form import EOS, LEXEMES, Machine, parse
from ehrqa_cli.text2sql.decoding import BEAMS, BEGIN, MAX_LEXEMES, Step, Written, write

IDS = {word: i for i, word in enumerate((*LEXEMES, EOS))}
LINKS = [["lab"], ["pat"]]
ASKED = [1, 2, 3]


class Fake:
    """Prefers fixed next words by what was written; ``wishes`` maps a prefix to its favourites.
    Its state is what each form has so far."""

    lexemes = IDS

    def __init__(self, wishes: dict[tuple[str, ...], dict[str, float]]) -> None:
        self.wishes = wishes

    def _logits(self, prefix: tuple[str, ...]) -> NDArray[np.float32]:
        out = np.zeros(len(IDS), np.float32)
        for word, value in self.wishes.get(prefix, {EOS: 5.0}).items():
            out[IDS[word]] = value
        return out

    def read(self, ids: Sequence[int]) -> Any:
        assert list(ids) == ASKED
        return Prefixes([()])

    def step(self, lexemes: Sequence[str], state: Any) -> tuple[NDArray[np.float32], Any]:
        grown = [
            () if word == BEGIN else (*prefix, word)
            for prefix, word in zip(state.rows, lexemes, strict=True)
        ]
        return np.stack([self._logits(prefix) for prefix in grown]), Prefixes(grown)


class Prefixes:
    """A state: the lexemes before the last, of each form."""

    def __init__(self, rows: list[tuple[str, ...]]) -> None:
        self.rows = rows

    def take(self, rows: Sequence[int]) -> Prefixes:
        return Prefixes([self.rows[row] for row in rows])


def greedy(model: Fake, banned: frozenset[str] = frozenset()) -> Written:
    (found,) = write(model, ASKED, Machine(LINKS), ignore, banned=banned)
    return found


def ignore(_: str) -> None:
    """No listener."""


WISHES = {
    (): {"value": 6.0, "abstain": 4.0},
    ("value",): {"last": 5.0},
    ("value", "last"): {"lab": 5.0},
    ("value", "last", "lab"): {"#2": 9.0, "#1": 5.0},
    ("value", "last", "lab", "#1"): {"patient": 6.0},
    ("value", "last", "lab", "#1", "patient"): {"#1": 7.0, "#2": 3.0},
}


def test_greedy_writes_only_what_types_allow() -> None:
    written = greedy(Fake(WISHES))
    assert written.complete
    # The model prefers #2 as a lab and #1 as a patient; their types say otherwise.
    assert " ".join(written.lexemes) == "value last lab #1 patient #2"
    parse(" ".join(written.lexemes))


def test_scores_are_those_of_the_full_vocabulary() -> None:
    written = greedy(Fake(WISHES))
    scores = written.scores()
    rest = len(IDS) - 2
    total = math.exp(6) + math.exp(4) + rest
    assert scores["p_abstain"] == pytest.approx(math.exp(4) / total, rel=1e-5)
    shares = [math.exp(6) / total, math.exp(4) / total, *([1 / total] * rest)]
    assert scores["first_entropy"] == pytest.approx(-sum(p * math.log(p) for p in shares), rel=1e-5)
    # At the lab, #2 holds most of the mass and the grammar removes it.
    total = math.exp(9) + math.exp(5) + rest
    assert scores["max_removed"] > math.exp(9) / total
    # The least likely step is the patient's, where the model would have liked #1.
    total = math.exp(7) + math.exp(3) + rest
    assert scores["min_logprob"] == pytest.approx(3 - math.log(total), rel=1e-5)
    assert scores["sum_logprob"] <= scores["min_logprob"]
    assert scores["max_allowed_entropy"] <= scores["max_entropy"] + 1e-9


def test_entropies_at_references_and_at_decisions() -> None:
    def step(lexeme: str, entropy: float, options: int) -> Step:
        return Step(lexeme, -0.1, entropy, entropy, 0.0, options)

    steps = (step("value", 0.2, 9), step("lab", 0.9, 1), step("#1", 0.5, 2), step(EOS, 0.1, 3))
    found = Written(steps, True, 0.0).scores()
    assert found["max_entropy"] == 0.9, "where nothing else was allowed, the model still wavered"
    assert found["ref_entropy"] == 0.5 and found["decision_entropy"] == 0.5
    assert found["mean_decision_entropy"] == pytest.approx(0.8 / 3)
    forced = Written((step("abstain", 0.4, 1),), True, 1.0).scores()
    assert (forced["ref_entropy"], forced["decision_entropy"]) == (0.0, 0.0)


def test_a_declined_question_is_one_lexeme() -> None:
    written = greedy(Fake({(): {"abstain": 9.0}}))
    assert written.lexemes == ("abstain",)
    assert written.scores()["p_abstain"] > 0.9


def test_an_endless_form_is_incomplete() -> None:
    class Endless(Fake):
        def _logits(self, prefix: tuple[str, ...]) -> NDArray[np.float32]:
            out = np.zeros(len(IDS), np.float32)
            out[[IDS["or"], IDS["name"], IDS["rx"], IDS["#1"]]] = 9.0
            return out

    written = write(Endless({}), ASKED, Machine([["drug"]]), ignore)[0]
    assert not written.complete
    assert len(written.steps) == MAX_LEXEMES
    assert written.scores()["complete"] == 0.0


def test_a_listener_can_end_it() -> None:
    stop = threading.Event()

    def tick(word: str) -> None:
        if word == "last":
            stop.set()
        if stop.is_set():
            raise Cancelled("cancelled", "")

    with pytest.raises(Cancelled):
        write(Fake(WISHES), ASKED, Machine(LINKS), tick)


def test_beam_finds_what_greedy_misses() -> None:
    # "count" looks best at first, but whatever follows it is a toss-up.
    wishes = {
        (): {"count": 6.0, "gender": 5.8},
        ("count",): dict.fromkeys(("lab", "vital", "rx", "dx", "proc", "bill", "death"), 1.0),
        ("gender",): {"person": 12.0},
        ("gender", "person"): {EOS: 12.0},
    }
    first = greedy(Fake(wishes))
    assert first.lexemes[0] == "count"
    found = write(Fake(wishes), ASKED, Machine(LINKS), ignore, 3)
    assert found[0].lexemes == ("gender", "person")
    means = [w.mean_logprob for w in found]
    assert means == sorted(means, reverse=True)
    assert found[0].mean_logprob >= first.mean_logprob
    for written in found:
        parse(" ".join(written.lexemes))


def test_a_banned_lexeme_is_never_written_and_changes_no_number() -> None:
    wishes = {**WISHES, (): {"abstain": 9.0, "value": 6.0}}
    banned = frozenset({"abstain"})
    written = greedy(Fake(wishes), banned)
    assert written.lexemes[0] == "value" and written.complete
    declined = greedy(Fake(wishes))
    assert declined.lexemes == ("abstain",)
    same = ("p_abstain", "first_entropy")
    scores, free = written.scores(), declined.scores()
    assert [scores[k] for k in same] == [free[k] for k in same]
    assert written.steps[0].removed == declined.steps[0].removed
    assert written.steps[0].allowed_entropy == declined.steps[0].allowed_entropy
    found = write(Fake(wishes), ASKED, Machine(LINKS), ignore, BEAMS, banned)
    assert found and all("abstain" not in w.lexemes for w in found)
    free_beam = write(Fake(wishes), ASKED, Machine(LINKS), ignore, BEAMS)
    assert free_beam[0].lexemes == ("abstain",)


def test_all_beams_of_a_step_are_decoded_in_one_call() -> None:
    calls: list[int] = []

    class Counting(Fake):
        def step(self, lexemes: Sequence[str], state: Any) -> tuple[NDArray[np.float32], Any]:
            calls.append(len(lexemes))
            return super().step(lexemes, state)

    found = write(Counting(WISHES), ASKED, Machine(LINKS), ignore, BEAMS)
    assert max(calls) > 1 and max(calls) <= BEAMS
    assert len(calls) <= max(len(w.steps) for w in found) + 1
