"""The other end of `workers`: the program that a worker process runs."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import IO

from ehrqa_cli import llama
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import Question
from ehrqa_cli.engine.many import ask_chunk
from ehrqa_cli.engine.session_parts import SessionParts


def serve() -> None:
    """What a worker does: open the session, then answer chunks until its input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that started it decides
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed must not be read as an answer
    source: IO[bytes] = sys.stdin.buffer
    llama.THREADS = 1
    try:
        session: SessionParts = pickle.load(source)()
        session.warm()
    except EhrqaError as error:
        _reply(out, (type(error), error.message, error.hint))
        return
    _reply(out, None)
    while True:
        try:
            chunk: list[Question] = pickle.load(source)
        except EOFError:
            return
        warnings: list[str] = []
        for answer in ask_chunk(chunk, session, warnings.append):
            _reply(out, (answer, warnings))
            warnings.clear()


def _reply(out: IO[bytes], value: object) -> None:
    pickle.dump(value, out)
    out.flush()
