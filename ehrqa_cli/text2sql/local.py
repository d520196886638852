"""The shipped text-to-SQL model: linked question in, logical form out, on this machine's CPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from ehrqa_cli.contracts.errors import Cancelled, ModelError
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_cli.encoder.tokens import MAX_REFS, encode_question
from ehrqa_cli.logical_form import Machine
from ehrqa_cli.onnx import Folder
from ehrqa_cli.text2sql.decoding import ABSTAIN, BEAMS, Written, write
from ehrqa_cli.text2sql.network import Network

MAX_PROMPT = 400  # tokens of a question
METHODS = ("greedy", "beam")


class LocalModel(Text2Sql):
    """A small fine-tuned encoder-decoder, writing only what the grammar allows.

    ``path`` is its folder, or a file in it. ``method``: ``greedy``, or ``beam`` (width 5,
    length-normalised). A declined question gives one Query with the logical form ``abstain``, so
    that its scores are there to read. ``may_abstain`` False forbids that form: a query is written
    whatever the model thinks, as by one trained on answerable questions only (evaluation of
    abstention signals). Each question is read alone: what is written for it, and its scores,
    depend on no other. Raises ModelError for a missing, corrupt or failing model, Cancelled after
    ``cancel()``.
    """

    name: ClassVar[str] = "local"

    def __init__(
        self, path: Path, threads: int = 1, method: str = "greedy", may_abstain: bool = True
    ) -> None:
        if method not in METHODS:
            raise ModelError(f"unknown decoding method {method!r}", f"one of {', '.join(METHODS)}")
        folder = Folder(path if path.is_dir() else path.parent)
        self.manifest = folder.manifest
        self._network = Network(folder, threads)
        self.method = method
        self._banned: frozenset[str] = frozenset() if may_abstain else frozenset({ABSTAIN})
        self._lock = threading.Lock()
        self._cancel = threading.Event()

    @classmethod
    def open(cls) -> LocalModel:
        """Over the shipped weights."""
        from ehrqa_cli import modelstore

        return cls(modelstore.models_root() / "text2sql", method="beam")

    def encode(self, text: str) -> list[int]:
        """Token ids of a linked question. Raises ModelError when it is too long to read."""
        ids = encode_question(text, self._network.special)
        if len(ids) > MAX_PROMPT:
            raise ModelError(
                f"the question is too long for the model ({len(ids)} tokens of {MAX_PROMPT})",
                "ask a shorter question",
            )
        return ids

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        width = BEAMS if self.method == "beam" else 1
        return self._write(question, on_token, width, self._banned)

    def insist(self, question: LinkedQuestion) -> Query | None:
        return self._write(question, None, 1, frozenset({ABSTAIN}))[0]

    def _write(
        self,
        question: LinkedQuestion,
        on_token: Callable[[str], None] | None,
        width: int,
        banned: frozenset[str],
    ) -> list[Query]:
        def tick(lexeme: str) -> None:
            self._check()
            if on_token is not None:
                on_token(lexeme)

        with self._lock:
            self._check()
            ids, machine = self.encode(question.text), Machine(_types(question))
            found = write(self._network, ids, machine, tick, width, banned)
            self._check()
            return [_query(w) for w in found]

    def _check(self) -> None:
        if self._cancel.is_set():
            self.resume()
            raise Cancelled("cancelled", "")

    def cancel(self) -> None:
        """End what is being written at once, else the next thing to be: it raises Cancelled there.

        A cancel that came just too early is so not lost; `resume` takes back one that came late.
        """
        self._cancel.set()

    def resume(self) -> None:
        self._cancel.clear()

    def provenance(self) -> Mapping[str, str]:
        told = {
            "model": str(self.manifest["file"]),
            "sha256": str(self.manifest["sha256"]),
            "method": self.method,
        }
        return told | {"may_abstain": "no"} if self._banned else told

    def close(self) -> None:
        """Nothing to free: the networks go with the object."""


def _types(question: LinkedQuestion) -> list[tuple[str, ...]]:
    return [link.types for link in question.links[:MAX_REFS]]


def _query(written: Written) -> Query:
    # A form that ran out of options or of length is as good as none.
    form = " ".join(written.lexemes) if written.complete else ABSTAIN
    return Query(None, form, written.lexemes, written.scores())
