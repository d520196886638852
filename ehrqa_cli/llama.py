"""llama.cpp through its C interface: one pulled model, with the logits of its steps.

The low-level interface is used because readers need logits and states, and because a model must
be loaded with ``use_extra_bufts`` off: llama.cpp's extra buffers crash on CPUs with AMX (its pull
request 26954).

A step can be ended from another thread: llama.cpp asks a callback before each node of its graph,
and that callback is the C library's ``strlen`` over a byte that `cancel` sets. No Python runs
there, so it costs nothing and waits for no other thread of this process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import Cancelled, ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONTEXT = 1024
BATCH = 512  # tokens in one step
# Of a model that is told no other number. A process that is one of several sets it to 1: threads
# that wait for each other on a busy core make every step many times slower.
THREADS = 2
_ENDED = 2  # llama_decode was ended by its callback
_ASKED, _TOLD = "ehrqa-said-by-system", "ehrqa-said-by-user"  # where the messages go in a template


@dataclass(frozen=True)
class Frame:
    """The tokens that a model's own chat format puts before, between and after a system and a
    user message; ``after`` begins the assistant's."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]


def _library() -> Any:
    try:
        import llama_cpp
    except (ImportError, OSError, RuntimeError) as error:
        raise ModelError(
            f"llama-cpp-python cannot be loaded: {error}", "run `ehrqa doctor`, or `make setup`"
        ) from error
    return llama_cpp


def _strlen(lib: Any) -> Any:
    """The C library's ``strlen`` as a callback: true where the text given to it is not empty."""
    import sys

    library = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
    return ctypes.cast(library.strlen, lib.ggml_abort_callback)


class Llama:
    """A loaded model with one context of ``context`` tokens, or as many as it can have.

    Not thread-safe but for `cancel`; the caller holds a lock.

    Raises ModelError when llama.cpp refuses the file or a step. The file's hash must have been
    checked before: llama.cpp may end the process on a corrupt one.

    Without ``threads`` it uses THREADS.
    """

    def __init__(self, path: Path, threads: int = 0, context: int = CONTEXT) -> None:
        self._lib = lib = _library()
        self._quiet = lib.llama_log_callback(lambda *_: None)
        lib.llama_log_set(self._quiet, ctypes.c_void_p(0))
        lib.llama_backend_init()
        options = lib.llama_model_default_params()
        options.n_gpu_layers = 0
        options.use_extra_bufts = False
        self._model = lib.llama_model_load_from_file(str(path).encode(), options)
        if not self._model:
            raise ModelError(f"llama.cpp cannot load {path.name}", "run `ehrqa models verify`")
        settings = lib.llama_context_default_params()
        # Never more than it was trained for, but a small model bears CONTEXT.
        self.context = min(context, max(CONTEXT, int(lib.llama_model_n_ctx_train(self._model))))
        settings.n_ctx = self.context
        settings.n_batch = settings.n_ubatch = BATCH
        settings.n_threads = settings.n_threads_batch = threads or THREADS
        self._context = lib.llama_init_from_model(self._model, settings)
        if not self._context:
            lib.llama_model_free(self._model)
            raise ModelError("llama.cpp cannot make a context", "free some memory and try again")
        self._vocab = lib.llama_model_get_vocab(self._model)
        self._memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(BATCH, 0, 1)
        self._stop = ctypes.create_string_buffer(2)
        self._asks = _strlen(lib)
        lib.llama_set_abort_callback(self._context, self._asks, ctypes.addressof(self._stop))
        self.size = int(lib.llama_vocab_n_tokens(self._vocab))

    def tokenize(self, text: str) -> list[int]:
        """Ids of plain text; control tokens spelt in it are not recognised."""
        return self._tokens(text, False, False)

    def _tokens(self, text: str, begins: bool, control: bool) -> list[int]:
        """Ids of ``text``; ``begins`` adds what a text begins with, ``control`` reads control
        tokens spelt in it."""
        raw = text.encode("utf-8", "replace")
        room = (ctypes.c_int32 * (len(raw) + 8))()
        n = self._lib.llama_tokenize(self._vocab, raw, len(raw), room, len(room), begins, control)
        if n < 0:
            raise ModelError("the question cannot be tokenized", "ask it in other words")
        return list(room[:n])

    def frame(self) -> Frame:
        """The model's own chat format. Raises ModelError for a model that has none known.

        Only the format's own words are read as control tokens, never what a message says.
        """
        lib = self._lib
        template = lib.llama_model_chat_template(self._model, None)
        said = (lib.llama_chat_message * 2)(
            lib.llama_chat_message(role=b"system", content=_ASKED.encode()),
            lib.llama_chat_message(role=b"user", content=_TOLD.encode()),
        )
        room = ctypes.create_string_buffer(4096)
        n = (
            lib.llama_chat_apply_template(template, said, 2, True, room, len(room))
            if template
            else -1
        )
        text = room.raw[: max(n, 0)].decode("utf-8", "replace")
        before, found, rest = text.partition(_ASKED)
        between, also, after = rest.partition(_TOLD)
        if not (0 < n <= len(room) and found and also):
            raise ModelError(
                "the model has no chat format that llama.cpp knows", "name an instruction model"
            )
        return Frame(
            tuple(self._tokens(before, True, True)),
            tuple(self._tokens(between, False, True)),
            tuple(self._tokens(after, False, True)),
        )

    def is_end(self, token: int) -> bool:
        """Does this token end what the model says?"""
        return bool(self._lib.llama_vocab_is_eog(self._vocab, token))

    def clear(self) -> None:
        """Forget all sequences."""
        self._lib.llama_memory_clear(self._memory, True)

    def truncate(self, length: int) -> None:
        """Keep only the first ``length`` positions of sequence 0."""
        self._lib.llama_memory_seq_rm(self._memory, 0, length, -1)

    def text_of(self, ids: Sequence[int]) -> str:
        """The plain text of tokens; control tokens have none."""
        room = ctypes.create_string_buffer(256)
        raw = b""
        for token in ids:
            n = self._lib.llama_token_to_piece(self._vocab, token, room, len(room), 0, False)
            raw += room.raw[: max(n, 0)]
        return raw.decode("utf-8", "replace")

    def decode(self, entries: Sequence[tuple[int, int, int, bool]]) -> list[NDArray[np.float32]]:
        """Run (token, position, sequence, wants logits); logits (vocabulary,) where wanted.

        The arrays are copies. Raises ModelError when llama.cpp reports a failure, and Cancelled
        after `cancel`; what the model then holds of these entries is unknown.
        """
        import numpy as np

        lib, batch = self._lib, self._batch
        for i, (token, position, sequence, wanted) in enumerate(entries):
            batch.token[i], batch.pos[i], batch.logits[i] = token, position, wanted
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, sequence
        batch.n_tokens = len(entries)
        code = lib.llama_decode(self._context, batch)
        if code == _ENDED:
            raise Cancelled("cancelled", "")
        if code != 0:
            raise ModelError(f"llama.cpp failed with code {code}", "run `ehrqa doctor`")
        found = []
        for i, entry in enumerate(entries):
            if entry[3]:
                view = lib.llama_get_logits_ith(self._context, i)
                found.append(np.ctypeslib.as_array(view, shape=(self.size,)).copy())
        return found

    def cancel(self) -> None:
        """End the running step, and every later one until `resume`, from any thread."""
        self._stop.value = b"x"

    def resume(self) -> None:
        """Let steps run again after `cancel`."""
        self._stop.value = b""

    def state(self, sequence: int = 0) -> bytes:
        """What the model holds of a sequence, for `restore` with the same file and context.

        llama_state_seq_get_data rather than llama_state_seq_save_file: the caller decides who may
        read the file, and checks it before llama.cpp sees it again.
        """
        size = self._lib.llama_state_seq_get_size(self._context, sequence)
        room = (ctypes.c_uint8 * size)()
        written = self._lib.llama_state_seq_get_data(self._context, room, size, sequence)
        if not written:
            raise ModelError("llama.cpp cannot save what it has read", "free some memory")
        return bytes(memoryview(room)[:written])

    def restore(self, state: bytes, sequence: int = 0) -> None:
        """Make ``sequence`` what it was when `state` was called. Raises ModelError."""
        room = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if not self._lib.llama_state_seq_set_data(self._context, room, len(state), sequence):
            raise ModelError("llama.cpp refuses a saved state", "remove the saved states")

    def close(self) -> None:
        """Free the model; a second call does nothing."""
        if self._model:
            self._lib.llama_batch_free(self._batch)
            self._lib.llama_free(self._context)
            self._lib.llama_model_free(self._model)
            self._model = None
