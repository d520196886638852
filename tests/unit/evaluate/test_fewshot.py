"""Few-shot prompting (EHRXQA's own method) with a model that is made up, and BM25."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehrqa_cli.chat import STEP
from ehrqa_cli.contracts.errors import EvaluationError, ModelError
from ehrqa_cli.evaluate.bm25 import Bm25
from ehrqa_cli.evaluate.examples import examples_for, others, read_examples, sql_examples_for
from ehrqa_cli.evaluate.fewshot import (
    NEURALSQL,
    SQL,
    Example,
    FewShot,
    Nearest,
    fixed_shots,
    read_query,
)
from ehrqa_cli.evaluate.systems import BM25, FIXED
from ehrqa_cli.llama import Frame

END = 0
BEFORE, BETWEEN, AFTER = (1,), (2,), (3,)
EXAMPLES = [
    Example(f"{what} question {k}", f"SELECT '{what} {k}'", what)
    for what in ("table", "image", "image+table")
    for k in range(9)
]
TABLES = {"b": ("row_id", "x"), "a": ("y",), "sqlite_stat1": ("z",)}


class Scribe:
    """A writer that spells text as one token a character, says ``said``, and keeps all that it was
    given to read."""

    def __init__(self, said: str, context: int = 100_000) -> None:
        self.said, self.context = said, context
        self.read: list[list[int]] = []
        self.held: list[int] = []
        self.closed = False

    def frame(self) -> Frame:
        return Frame(BEFORE, BETWEEN, AFTER)

    def is_end(self, token: int) -> bool:
        return token == END

    def tokenize(self, text: str) -> list[int]:
        return [ord(c) + 10 for c in text]

    def truncate(self, length: int) -> None:
        self.held = self.held[:length]

    def text_of(self, ids: Sequence[int]) -> str:
        return "".join(chr(i - 10) for i in ids if i > 9)

    def decode(self, entries: Sequence[tuple[int, int, int, bool]]) -> Sequence[Any]:
        assert [at for _, at, _, _ in entries] == list(
            range(len(self.held), len(self.held) + len(entries))
        )
        self.held += [token for token, *_ in entries]
        self.read.append([token for token, *_ in entries])
        begun = (
            self.text_of(self.held[self.held.index(AFTER[0]) :]) if AFTER[0] in self.held else ""
        )
        written = len(begun) - len("NeuralSQL:") if begun.startswith("NeuralSQL:") else 0
        logits = np.zeros(2000, dtype=np.float32)
        text = self.said
        logits[ord(text[written]) + 10 if written < len(text) else END] = 1.0
        return [logits]

    def close(self) -> None:
        self.closed = True

    def prompt(self) -> str:
        """What was held when it began to write."""
        upto = self.held.index(AFTER[0])
        return self.text_of(self.held[:upto])


def fewshot(scribe: Scribe, choose: str, **more: Any) -> FewShot:
    return FewShot(scribe, {"model": "m", "sha256": "0"}, EXAMPLES, choose=choose, **more)


def test_the_prompt_is_the_papers_with_the_tables() -> None:
    scribe = Scribe("SELECT 1")
    written = fewshot(scribe, FIXED, shots=3, schema=TABLES).write("how many?")
    assert written.query == "SELECT 1" and set(written.seconds) == {"read", "write"}
    prompt = scribe.prompt()
    assert prompt.startswith(NEURALSQL + "\n\nTables and columns:\na(y)\nb(x)\n\nQ: ")
    assert prompt.endswith("Parse the question into NeuralSQL.\nQ: how many?")
    # The model's answer is begun for it.
    assert scribe.text_of(scribe.held).endswith("\nQ: how many?NeuralSQL:SELECT 1")
    assert prompt.count("\nNeuralSQL: SELECT '") == 3


def test_fixed_examples_are_the_same_for_every_question() -> None:
    scribe = Scribe("SELECT 1")
    system = fewshot(scribe, FIXED, shots=10, seed=4)
    system.write("one")
    first = scribe.prompt().replace("one", "two")
    read = len(scribe.read)
    system.write("two")
    assert scribe.prompt() == first and system.shots_for("two") == []
    # Only the question is read anew: what is shared stays in the model.
    assert sum(map(len, scribe.read[read:])) < 200
    other = Scribe("SELECT 1")
    fewshot(other, FIXED, shots=10, seed=5).write("two")
    assert other.prompt() != first


def test_fixed_examples_have_every_modality() -> None:
    """3 of tables, 4 of images and 3 of both in the paper's 10 (section E.3.1)."""
    counts = Counter(e.modality for e in fixed_shots(EXAMPLES, 10, 0))
    assert counts == {"table": 3, "image": 4, "image+table": 3}
    assert len({e.question for e in fixed_shots(EXAMPLES, 27, 1)}) == 27
    assert len(fixed_shots(EXAMPLES, 99, 1)) == 27
    assert fixed_shots(EXAMPLES, 5, 7) == fixed_shots(EXAMPLES, 5, 7)
    plain = [Example(e.question, e.query) for e in EXAMPLES]
    assert len(fixed_shots(plain, 4, 0)) == 4


def test_the_nearest_examples_come_first() -> None:
    scribe = Scribe("SELECT 1")
    system = fewshot(scribe, BM25, shots=2)
    system.write("the table question 7, please")
    prompt = scribe.prompt()
    assert prompt.index("table question 7\n") < prompt.index("Parse the question")
    shown = [e.question for e in system.shots_for("the table question 7, please")]
    assert shown[0] == "table question 7" and len(shown) == 2
    assert prompt.count("Q: ") == 3


def test_an_answer_depends_on_no_question_before_it() -> None:
    """What is read for a question is cut in the same pieces, whatever was read before it."""
    one, two = Scribe("SELECT 1"), Scribe("SELECT 1")
    first, second = fewshot(one, BM25), fewshot(two, BM25)
    first.write("image question 3")
    second.write("another thing altogether, which is a good deal longer than the first question")
    second.write("image question 3")
    opening = len(one.tokenize(NEURALSQL)) + len(BEFORE) + len(BETWEEN)
    own = one.read[-(-opening // STEP) :]  # what follows the part that all questions share
    assert one.held == two.held and two.read[-len(own) :] == own


def test_too_long_a_prompt() -> None:
    # The farthest examples go until the prompt fits; a system's part that does not fit is said.
    scribe = Scribe("SELECT 1", context=512 + 1100)
    system = fewshot(scribe, BM25, shots=9)
    system.write("table question 1")
    assert 0 < scribe.prompt().count("Q: ") - 1 < 9
    with pytest.raises(ModelError, match="too long"):
        system.write("x" * 5000)
    with pytest.raises(ModelError, match="before the question"):
        fewshot(Scribe("x", context=512 + 50), FIXED).write("q")


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("SELECT 1;", "SELECT 1"),
        ("```sql\nSELECT a\nFROM t\n```", "SELECT a\nFROM t"),
        ("We select the rows:\n```neuralsql\nSELECT a\n```\nThis selects.", "SELECT a"),
        (" ```SELECT 1```", "SELECT 1"),
        ("NeuralSQL: select 1\n\nQ: more?", "select 1"),
        ("SELECT 1\nQ: more?\nNeuralSQL: SELECT 2", "SELECT 1"),
        ("with t as (select 1) select * from t", "with t as (select 1) select * from t"),
        ("null", None),
        ("NULL.", None),
        ("I do not know", "I do not know"),
        ("", "(nothing)"),
    ],
)
def test_the_query_in_what_a_model_says(said: str, query: str | None) -> None:
    assert read_query(said) == query


def test_what_it_rests_on_is_told() -> None:
    told = fewshot(Scribe("x"), BM25, shots=3).provenance()
    assert told["system"] == BM25 and told["shots"] == 3 and told["examples"] == 27
    other = fewshot(Scribe("x"), BM25, shots=3, schema=TABLES).provenance()
    assert told["examples_sha256"] == other["examples_sha256"]
    assert told["prompt_sha256"] != other["prompt_sha256"]
    scribe = Scribe("x")
    system = fewshot(scribe, FIXED, instruction=SQL)
    system.close()
    assert scribe.closed
    with pytest.raises(EvaluationError, match="no examples"):
        FewShot(Scribe("x"), {}, [])


def test_nearest_copies() -> None:
    system = Nearest([Example("number of patients", "SELECT 2"), Example("who calls", "null")])
    assert system.write("what number of patients is there?").query == "SELECT 2"
    assert system.write("who calls?").query is None
    with pytest.raises(EvaluationError, match="no examples"):
        Nearest([])


def test_bm25_by_hand() -> None:
    index = Bm25(["dose of aspirin", "dose of dose", "nothing alike"])
    assert index.nearest("dose of aspirin?", 3) == [0, 1, 2]
    assert index.nearest("dose", 2) == [1, 0]  # twice in one of the same length
    assert index.nearest("zebra", 2) == [0, 1]  # of equally near ones the first
    assert Bm25([]).nearest("x", 3) == []


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def test_examples_of_every_layout(tmp_path: Path) -> None:
    rows = [
        {"question": "a", "query": "SELECT 1", "modality": "image"},
        {"question": "b", "query": "nan", "is_impossible": True},
        {"question": "c", "neuralsql": "SELECT 3", "q_tag": "Count the patients."},
    ]
    path = write(tmp_path / "x" / "train.json", rows)
    expected = [("a", "SELECT 1", "image"), ("b", "null", ""), ("c", "SELECT 3", "table")]
    for where in (path, path.parent):
        assert [(e.question, e.query, e.modality) for e in read_examples(where)] == expected
    entries = [{"id": k, "question": f"q{k}"} for k in "ab"]
    write(tmp_path / "y" / "train" / "data.json", {"version": "1", "data": entries})
    write(tmp_path / "y" / "train" / "label.json", {"a": "SELECT 1", "b": "null"})
    assert [e.query for e in read_examples(tmp_path / "y")] == ["SELECT 1", "null"]
    assert [e.query for e in read_examples(tmp_path / "y" / "train")] == ["SELECT 1", "null"]
    with pytest.raises(EvaluationError, match=r"question 1 of .*has no query"):
        read_examples(write(tmp_path / "z.json", [{"question": "a"}]))


def test_what_is_measured_is_never_shown(tmp_path: Path) -> None:
    examples = [Example("How  many?", "1"), Example("who?", "2")]
    assert [e.query for e in others(examples, ["how MANY?"])] == ["2"]
    rows = [
        {"id": k, "question": f"q{k}", "template": "t", "query": "SELECT 1", "answer": [1]}
        for k in range(3)
    ]
    write(tmp_path / "test.json", rows[:2])
    impossible = {"id": 9, "question": "q9", "template": "t", "query": "x", "is_impossible": True}
    write(tmp_path / "train.json", [rows[1], rows[2], impossible])
    assert [e.question for e in examples_for(tmp_path, "test", "question", None)] == ["q2"]
    for split, keys in (("train", "ab"), ("valid", "bc")):
        folder = tmp_path / "sql" / split
        entries = [{"id": k, "question": f"q{k}"} for k in keys]
        write(folder / "data.json", {"version": "1", "data": entries})
        write(folder / "label.json", dict.fromkeys(keys, "null"))
    shown = sql_examples_for(tmp_path / "sql", "valid", None)
    assert [(e.question, e.query) for e in shown] == [("qa", "null")]
