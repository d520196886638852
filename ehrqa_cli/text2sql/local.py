"""The shipped text-to-SQL model: linked question in, logical form out, on this machine's CPU."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError, ModelError
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_cli.logical_form import EOS, LEXEMES, Machine
from ehrqa_cli.text2sql.decoding import ABSTAIN, Greedy, Written, beam, greedy, greedy_many
from ehrqa_cli.text2sql.tokens import MAX_REFS, encode_question, lexeme_token

if TYPE_CHECKING:
    from ehrqa_cli.llama import Llama

MAX_PROMPT = 400
# Questions decoded together. Measured on two cores: a token of 4 costs half of one alone, of 8 or
# 16 hardly less, and each empty slot at the end of a batch costs as much as a full one.
SLOTS = 8
WIDE_CONTEXT = 512  # tokens of each: MAX_PROMPT and a form of MAX_LEXEMES
METHODS = ("greedy", "beam")


def verify(path: Path) -> dict[str, Any]:
    """The manifest beside a model file, once the file's header, size and SHA-256 agree with it.

    Done before llama.cpp sees the file, since it may abort on a corrupt one. Raises ModelError.
    """
    hint = "restore it with `git checkout models`, or install the wheel again"
    try:
        manifest: dict[str, Any] = json.loads((path.parent / "manifest.json").read_text())
        expected = str(manifest["sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"no usable manifest.json beside {path.name}", hint) from error
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(f"{path.name} is not a GGUF model file", hint)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"model file {path.name} cannot be read", hint) from error
    if digest != expected:
        raise ModelError(f"{path.name} is corrupt: its SHA-256 is not the manifest's", hint)
    return manifest


class LocalModel(Text2Sql):
    """A small fine-tuned transformer run by llama.cpp, writing only what the grammar allows.

    ``method``: ``greedy``, or ``beam`` (width 5, length-normalised). A declined question gives
    one Query with the logical form ``abstain``, so that its scores are there to read.
    ``may_abstain`` False forbids that form: a query is written whatever the model thinks, as by
    one trained on answerable questions only (evaluation of abstention signals).
    Raises ModelError for a missing, corrupt or failing model, Cancelled after ``cancel()``.
    """

    name: ClassVar[str] = "local"

    def __init__(
        self, path: Path, threads: int = 0, method: str = "greedy", may_abstain: bool = True
    ) -> None:
        if method not in METHODS:
            raise ModelError(f"unknown decoding method {method!r}", f"one of {', '.join(METHODS)}")
        self.manifest = verify(path)
        from ehrqa_cli.llama import Llama

        self._llama = Llama(path, threads)
        self._wide: Llama | None = None
        self._open_wide = partial(Llama, path, threads, WIDE_CONTEXT, SLOTS)
        self.method = method
        self._banned: frozenset[str] = frozenset() if may_abstain else frozenset({ABSTAIN})
        special = self._llama.special
        named = {w: lexeme_token(w) for w in (*LEXEMES, EOS)}
        # A lexeme that this model never learnt is simply not offered.
        self._ids = {w: special[t] for w, t in named.items() if t in special}
        if not {EOS, ABSTAIN} <= set(self._ids):
            raise ModelError(
                f"{path.name} is not a text-to-SQL model of this program",
                "restore it with `git checkout models`",
            )
        self._lock = threading.Lock()
        self._cancel = threading.Event()

    @classmethod
    def open(cls) -> LocalModel:
        """Over the shipped weights."""
        from ehrqa_cli import modelstore

        return cls(modelstore.shipped_in("text2sql").path)

    def encode(self, text: str) -> list[int]:
        """Token ids of a linked question. Raises ModelError when it is too long to read."""
        ids = encode_question(text, self._llama.special, self._llama.tokenize)
        if len(ids) > MAX_PROMPT:
            raise ModelError(
                f"the question is too long for the model ({len(ids)} tokens of {MAX_PROMPT})",
                "ask a shorter question",
            )
        return ids

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        def tick(lexeme: str) -> None:
            self._check()
            if on_token is not None:
                on_token(lexeme)

        with self._running():
            prompt, types = self.encode(question.text), _types(question)
            if self.method == "beam":
                found = beam(self._llama, prompt, Machine(types), self._ids, tick, self._banned)
                if found:
                    return [_query(w) for w in found]
            machine = Machine(types)
            return [_query(greedy(self._llama, prompt, machine, self._ids, tick, self._banned))]

    def generate_many(self, questions: Sequence[LinkedQuestion]) -> list[list[Query] | EhrqaError]:
        """As the contract says. What is written for a question, and its scores, do not depend on
        the others nor on the number of threads: see `greedy_many`."""
        if self.method != "greedy":
            return super().generate_many(questions)
        with self._running():
            forms: list[Greedy | EhrqaError] = []
            for question in questions:
                try:
                    prompt, machine = self.encode(question.text), Machine(_types(question))
                    forms.append(Greedy(prompt, machine, self._ids, self._banned))
                except ModelError as error:
                    forms.append(error)
            if self._wide is None:
                self._wide = self._open_wide()
            made = [form for form in forms if isinstance(form, Greedy)]
            greedy_many(self._wide, made, SLOTS, lambda _: self._check())
            return [[_query(form.written)] if isinstance(form, Greedy) else form for form in forms]

    @contextmanager
    def _running(self) -> Iterator[None]:
        with self._lock:
            try:
                self._check()
                yield
            finally:
                self.resume()

    def _check(self) -> None:
        if self._cancel.is_set():
            raise Cancelled("cancelled", "")

    def cancel(self) -> None:
        """End what is being written at once, else the next thing to be: it raises Cancelled there.

        A cancel that came just too early is so not lost; `resume` takes back one that came late.
        """
        self._cancel.set()
        for llama in (self._llama, self._wide):
            if llama is not None:
                llama.cancel()

    def resume(self) -> None:
        self._cancel.clear()
        for llama in (self._llama, self._wide):
            if llama is not None:
                llama.resume()

    @cached_property
    def _runtime(self) -> str:
        # Read once: every answer names it, and looking it up reads the disk.
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("llama_cpp_python")
        except PackageNotFoundError:
            return "unknown"

    def provenance(self) -> Mapping[str, str]:
        told = {
            "model": str(self.manifest["file"]),
            "sha256": str(self.manifest["sha256"]),
            "method": self.method,
            "llama_cpp_python": self._runtime,
        }
        return told | {"may_abstain": "no"} if self._banned else told

    def close(self) -> None:
        """Free the model's memory."""
        self._llama.close()
        if self._wide is not None:
            self._wide.close()


def _types(question: LinkedQuestion) -> list[tuple[str, ...]]:
    return [link.types for link in question.links[:MAX_REFS]]


def _query(written: Written) -> Query:
    # A form that ran out of options or of length is as good as none.
    form = " ".join(written.lexemes) if written.complete else ABSTAIN
    return Query(None, form, written.lexemes, written.scores())
