"""The shipped text-to-SQL model: linked question in, logical form out, on this machine's CPU."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from ehrqa_cli.contracts.errors import Cancelled, ModelError
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_cli.logical_form import EOS, LEXEMES, Machine
from ehrqa_cli.text2sql.decoding import ABSTAIN, Written, beam, greedy
from ehrqa_cli.text2sql.tokens import MAX_REFS, encode_question, lexeme_token

MAX_PROMPT = 400
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
        self, path: Path, threads: int = 2, method: str = "greedy", may_abstain: bool = True
    ) -> None:
        if method not in METHODS:
            raise ModelError(f"unknown decoding method {method!r}", f"one of {', '.join(METHODS)}")
        self.manifest = verify(path)
        from ehrqa_cli.llama import Llama

        self._llama = Llama(path, threads)
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
            if self._cancel.is_set():
                raise Cancelled("cancelled", "")
            if on_token is not None:
                on_token(lexeme)

        with self._lock:
            self._cancel.clear()
            prompt = self.encode(question.text)
            types = [link.types for link in question.links[:MAX_REFS]]
            if self.method == "beam":
                found = beam(self._llama, prompt, Machine(types), self._ids, tick, self._banned)
                if found:
                    return [_query(w) for w in found]
            machine = Machine(types)
            return [_query(greedy(self._llama, prompt, machine, self._ids, tick, self._banned))]

    def cancel(self) -> None:
        """End the running ``generate`` before its next token; it raises Cancelled there."""
        self._cancel.set()

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


def _query(written: Written) -> Query:
    # A form that ran out of options or of length is as good as none.
    form = " ".join(written.lexemes) if written.complete else ABSTAIN
    return Query(None, form, written.lexemes, written.scores())
