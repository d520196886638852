"""The method of EHRXQA's paper as a system to compare with (Bae et al. 2023, sections 6.2, E.3.1).

A language model is shown questions with their queries (in-context learning) and writes the query of
the one that is asked; the query is then run like any other, by way of the guard. ``fixed`` shows
the same pairs for every question, drawn at random with each modality among them (3 of tables, 4 of
images, 3 of both in the paper's 10); ``bm25`` those of the training questions nearest to it.

The paper asked gpt-3.5-turbo. Here it is any instruction model as a GGUF file on this machine. It
is shown the tables and columns as well, without which no small model finds them, and the prompt's
last words, ``NeuralSQL:``, are put into its mouth, else it explains before it writes. It cannot
decline, but where a training pair says ``null``, as those of EHRSQL do, it may say the same.
"""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ehrqa_cli.chat import Gguf, Transcript, Writer
from ehrqa_cli.contracts.errors import EvaluationError, ModelError
from ehrqa_cli.evaluate.bm25 import Bm25
from ehrqa_cli.evaluate.systems import FIXED, NEAREST

SHOTS = 10
CONTEXT = 8192
MOST_TOKENS = 512
NULL = "null"
# The order in which what is left of the shots goes round: images have most templates to show.
MODALITIES = ("image", "table", "image+table")

# Section E.3.1, word for word.
NEURALSQL = (
    "Generate NeuralSQL (i.e., extended SQL with the following conditions) given the question to "
    "answer the question correctly. If the question can only be answered by examining a chest "
    "X-ray image and requires a VQA model, use the new syntax FUNC_VQA() to create a query. When "
    "the VQA sentence in FUNC_VQA() syntax contains logical operations such as union, difference, "
    "intersection, disjunction, or conjunction, decomposes the VQA statement into minimal semantic "
    "units and uses the SQL syntax to generate NeuralSQL. For example, decompose the original "
    'sentence "Are there any technical assessment or tubes/lines?" into "Are there any technical '
    'assessment?" and "Are there any tubes/lines?" by separating the logical disjunction (or) and '
    "creating two separate questions."
)
# The same task without images: the paper's EHRSQL has no prompt of its own.
SQL = (
    "Generate SQLite SQL given the question to answer the question correctly. Write current_time "
    f"for now. Write {NULL} if the tables do not hold the answer."
)


@dataclass(frozen=True)
class Example:
    """A training question, its query (``null`` where there is no answer), and of what it is."""

    question: str
    query: str
    modality: str = ""


@dataclass(frozen=True)
class Written:
    """``query`` None: it declined. ``seconds`` by step."""

    query: str | None
    seconds: Mapping[str, float]


class QueryWriter(Protocol):
    """What writes a query for a question, knowing nothing but its words."""

    def write(self, question: str) -> Written:
        """The query for ``question``."""

    def provenance(self) -> Mapping[str, Any]:
        """All that what it writes depends on, beside the question."""

    def close(self) -> None:
        """Free what it holds."""


class Nearest:
    """Copies the query of the training question that shares most words; understands nothing."""

    def __init__(self, examples: Sequence[Example]) -> None:
        """Raises EvaluationError where there are no examples."""
        self._examples = _some(examples)
        self._index = Bm25([e.question for e in examples])

    def write(self, question: str) -> Written:
        """The query of the nearest training question, None where that has no answer."""
        query = self._examples[self._index.nearest(question, 1)[0]].query
        return Written(None if query == NULL else query, {})

    def provenance(self) -> dict[str, Any]:
        """The examples' hash."""
        return {"system": NEAREST, **_told(self._examples)}

    def close(self) -> None:
        """There is nothing to free."""


class FewShot:
    """A model with its examples. Close it after use.

    Each question is read from the same place on, so that what it writes depends on no question
    before it.
    """

    def __init__(
        self,
        model: Writer,
        told: Mapping[str, str],
        examples: Sequence[Example],
        *,
        choose: str = FIXED,
        shots: int = SHOTS,
        seed: int = 0,
        schema: Mapping[str, Sequence[str]] | None = None,
        instruction: str = NEURALSQL,
    ) -> None:
        """``choose`` is one of systems.FEW_SHOT; ``told`` names the model and its hash. Raises
        EvaluationError where there are no examples."""
        self._told = dict(told)
        self._choose, self._shots, self._seed = choose, shots, seed
        self._examples = _some(examples)
        self._kind = "SQL" if instruction is SQL else "NeuralSQL"
        self._model = Transcript(model)
        self._index = Bm25([e.question for e in examples]) if choose != FIXED else None
        tables = f"\n\nTables and columns:\n{in_brief(schema)}" if schema else ""
        fixed = ""
        if choose == FIXED:
            shown = fixed_shots(examples, shots, seed)
            fixed = "\n\n" + "\n\n".join(map(self._pair, shown))
        self._system = f"{instruction}{tables}{fixed}"
        self._room = int(getattr(model, "context", CONTEXT)) - MOST_TOKENS
        self._held: int | None = None

    @classmethod
    def open(
        cls, path: Path, examples: Sequence[Example], *, threads: int = 2, **options: object
    ) -> FewShot:
        """With the GGUF file at ``path``, or the pulled model of that name. Raises ModelError and
        EvaluationError."""
        from ehrqa_cli import config, modelstore
        from ehrqa_cli.llama import Llama

        known = {model.name for model in modelstore.pullable_models(config.load().models_dir())}
        by_name = str(path) in known and not path.exists()
        file = Gguf.pulled(str(path)) if by_name else Gguf.named(path)
        told = {"model": file.path.name, "sha256": file.sha256, "threads": str(threads)}
        return cls(Llama(file.path, threads, CONTEXT), told, examples, **options)  # type: ignore[arg-type]

    def write(self, question: str) -> Written:
        """The query for ``question``. Raises ModelError where the prompt is longer than the model
        can read even with one example."""
        started = time.perf_counter()
        self._begin()
        closing = [*self._model.closing(), *self._model.writer.tokenize(f"{self._kind}:")]
        logits = self._model.add([*self._asked(question, len(closing)), *closing])
        read = time.perf_counter()
        said = self._model.write(logits, MOST_TOKENS)
        ended = time.perf_counter()
        seconds = {"read": round(read - started, 6), "write": round(ended - read, 6)}
        return Written(read_query(said), seconds)

    def shots_for(self, question: str) -> list[Example]:
        """What is shown beside this question; none where the same are shown for all."""
        if self._index is None:
            return []
        return [self._examples[k] for k in self._index.nearest(question, self._shots)]

    def provenance(self) -> dict[str, Any]:
        """All that what it writes depends on, beside the question."""
        return {
            "system": self._choose,
            **self._told,
            "shots": self._shots,
            **_told(self._examples),
            "prompt_sha256": hashlib.sha256(self._system.encode()).hexdigest()[:16],
            "seed": self._seed,
        }

    def close(self) -> None:
        """Free the model."""
        self._model.writer.close()

    def _begin(self) -> None:
        """Hold the part of the prompt that all questions share, and nothing else."""
        if self._held is None:
            opening = self._model.opening(self._system)
            if len(opening) >= self._room:
                raise ModelError(
                    f"the prompt has {len(opening)} tokens before the question",
                    "show fewer examples with --shots",
                )
            self._model.add(opening)
            self._held = len(opening)
        self._model.back_to(self._held)

    def _asked(self, question: str, closing: int) -> list[int]:
        """Tokens of the user's message; the farthest examples go where not all fit."""
        assert self._held is not None
        shown = self.shots_for(question)
        while True:
            pairs = "".join(f"{self._pair(e)}\n\n" for e in shown)
            last = f"Parse the question into {self._kind}.\nQ: {question}"
            found = self._model.writer.tokenize(pairs + last)
            if self._held + len(found) + closing < self._room:
                return found
            if len(shown) < 2:
                raise ModelError("the question is too long", "ask it in fewer words")
            shown.pop()

    def _pair(self, example: Example) -> str:
        return f"Q: {example.question}\n{self._kind}: {' '.join(example.query.split())}"


def _some(examples: Sequence[Example]) -> tuple[Example, ...]:
    if not examples:
        raise EvaluationError("there are no examples to show", "give some with --examples FILE")
    return tuple(examples)


def _told(examples: Sequence[Example]) -> dict[str, Any]:
    pairs = "\n".join(f"{e.question}\t{e.query}" for e in examples)
    digest = hashlib.sha256(pairs.encode()).hexdigest()
    return {"examples": len(examples), "examples_sha256": digest}


def fixed_shots(examples: Sequence[Example], shots: int, seed: int) -> list[Example]:
    """``shots`` examples drawn by ``seed``: of each modality its share (4 of images, 3 of tables
    and 3 of both in 10), or just any where the examples name none."""
    rng = random.Random(seed)
    kinds = [m for m in MODALITIES if any(e.modality == m for e in examples)]
    pools = [[e for e in examples if e.modality == m] for m in kinds]
    if not kinds:
        pools = [list(examples)]
    for pool in pools:
        rng.shuffle(pool)
    wanted = min(shots, sum(map(len, pools)))
    found: list[Example] = []
    while len(found) < wanted:
        for pool in pools:
            if pool and len(found) < wanted:
                found.append(pool.pop())
    rng.shuffle(found)  # else the modalities come in turn
    return found


def in_brief(schema: Mapping[str, Sequence[str]]) -> str:
    """Tables with their columns, one a line."""
    return "\n".join(
        f"{table}({', '.join(c for c in columns if c != 'row_id')})"
        for table, columns in sorted(schema.items())
        if not table.startswith("sqlite_")
    )


def read_query(said: str) -> str | None:
    """The query in what a model said, up to its end or to the next question that it makes up; None
    where it said ``null``. Anything else is taken as its answer, and does not run."""
    fenced = re.search(r"```\w*\n(.*?)(?:```|\Z)", said, re.S)
    plain = re.sub(r"```(?:\w+\n)?", "", fenced[1] if fenced else said).strip()
    plain = re.sub(r"^(?:neural)?sql\s*:\s*", "", plain, flags=re.I)
    if re.fullmatch(rf"{NULL}\W*", plain, flags=re.I):
        return None
    found = re.search(r"\b(?:select|with)\b.*", plain, re.I | re.S)
    text = found[0] if found else plain
    return re.split(r"\n\s*Q:|\n\s*\n|;", text)[0].strip() or "(nothing)"
