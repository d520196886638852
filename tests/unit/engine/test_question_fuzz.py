"""Spoilt questions through `ask`: never a traceback, a hang or a fault, and what is said is text.

Seeded. A few hundred run each time; EHRQA_FUZZ=10000 in the environment runs that many.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Question, Status
from ehrqa_cli.ehr.demo.make import build_demo
from ehrqa_cli.engine.session import Session
from ehrqa_cli.store import answer_record

COUNT = int(os.environ.get("EHRQA_FUZZ", "200"))
SECONDS = 15.0  # of one question, on a busy machine
QUESTIONS = Path(__file__).parents[2] / "benchmarks" / "unfounded_tables"
NUMBERS = (
    "0", "-1", "-0.0", "31", "1e309", "9" * 31, "9223372036854775808", "0x10", "1/0", "NaN", "inf",
    "1,000,000", "½", "٣", "７", "2100-02-31", "13/45/2100", "5m", "30m", "-3 hours", "0 days",
    "10000000 years", "25:61", "#1", "<lab>#1",
)  # fmt: skip
ODD = (
    "\u202e", "\u200b", "\ud800", "İ", "ß", "é", "𝟙", "\x00", "\t\n", "'", '"', ";--", "%s", "{}",
    "\\", "💊", "‘", "(", "))", "#", "é́", "µ", "NULL", "' OR 1=1", "and", "not", "or", "per",
    "versus", "mg", "m", "mmol/L", "°C", "%", "last", "first", "between", "today", "before",
    "current",
)  # fmt: skip


def _words(rng: random.Random, words: list[str]) -> list[str]:
    place = rng.randrange(len(words))
    way = rng.randrange(8)
    if way == 0:
        del words[place]
    elif way == 1:
        words.insert(place, words[rng.randrange(len(words))])
    elif way == 2:
        words.insert(place, rng.choice(NUMBERS))
    elif way == 3:
        words.insert(place, rng.choice(ODD))
    elif way == 4:
        rng.shuffle(words)
    elif way == 5:
        words[place] = words[place].upper()
    elif way == 6:
        words[place:] = words[place:] * rng.choice((2, 3))
    else:
        words[place] = rng.choice(NUMBERS)
    return words


def _letters(rng: random.Random, text: str) -> str:
    place = rng.randrange(len(text))
    way = rng.randrange(5)
    if way == 0:
        return text[:place] + text[place + 1 :]
    if way == 1:
        return text[:place] + rng.choice("abcxyz0189 -/.,") + text[place:]
    if way == 2:
        return text[:place] + rng.choice(ODD) + text[place:]
    if way == 3:
        return text[:place]
    return text[:place] + text[place : place + 2][::-1] + text[place + 2 :]


def spoilt(seed: int, count: int, asked: list[str]) -> Iterator[str]:
    """``count`` questions, each a real one with one to four things wrong with it, or two joined."""
    rng = random.Random(seed)
    for _ in range(count):
        text = rng.choice(asked)
        if rng.random() < 0.15:
            text += rng.choice((" and ", "; ", " or ", ", ")) + rng.choice(asked)
        for _ in range(rng.randint(1, 4)):
            words = text.split(" ")
            text = " ".join(_words(rng, words)) if rng.random() < 0.6 else text
            text = _letters(rng, text) if text and rng.random() < 0.6 else text
        yield text


@pytest.fixture(scope="module")
def asked() -> list[str]:
    files = (QUESTIONS / "dev.jsonl", QUESTIONS / "fresh.jsonl")
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line)["question"] for line in lines]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path = tmp_path_factory.mktemp("fuzz") / "demo.sqlite"
    build_demo(path)
    with Session(path, judge=None) as session:
        yield session


def test_no_spoilt_question_is_a_fault(asked: list[str], opened: Session) -> None:
    patients = sorted(opened.linker.index.patients)  # type: ignore[attr-defined]
    rng, seen, slow = random.Random(11), Counter[str](), 0.0
    for text in spoilt(7, COUNT, asked):
        known = "".join(
            str(rng.choice(patients)) if w.isdigit() and len(w) == 8 else w
            for w in _split_numbers(text)
        )
        started = time.perf_counter()
        try:
            answer = opened.ask(Question(known))
        except UsageError as error:
            seen["refused"] += 1
            assert error.message.startswith("the question"), known
            continue
        slow = max(slow, time.perf_counter() - started)
        seen[answer.status.value] += 1
        long = (answer.error or {}).get("message", "").startswith("the question is too long")
        assert long or answer.status is not Status.FAILED, (known, answer.error)
        assert (answer.reason is not None) == (answer.status is Status.ABSTAINED), known
        json.dumps(answer_record(answer)).encode("utf-8")
    print(dict(seen), f"slowest {slow:.2f} s")
    assert slow < SECONDS
    assert seen["answered"] and seen["abstained"]


def _split_numbers(text: str) -> Iterator[str]:
    run = ""
    for char in text:
        if run and char.isdigit() != run[-1].isdigit():
            yield run
            run = ""
        run += char
    yield run
