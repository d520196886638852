"""Processes that answer chunks of questions, each with a session of its own.

They are started as programs of their own and not by multiprocessing, which would run the caller's
script again in each. What goes through their pipes is pickled, and only between this program and
itself. A worker that ends (for want of memory, or because llama.cpp ended it) is replaced, and its
questions are asked one by one: the one that ends it again becomes an answer of status failed.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from ehrqa_cli.contracts.errors import Cancelled, ModelError
from ehrqa_cli.contracts.types import Answer, Question
from ehrqa_cli.engine.faults import fault

Opener = Callable[[], object]  # of a session
Found = tuple[Answer, list[str]]  # an answer, and warnings on the way to it

MOST = 8  # each has the models and the values of the database in memory
_LOOK = 0.05  # seconds between two looks at whether it was cancelled
_PROGRAM = "from ehrqa_cli.engine import serving; serving.serve()"


def how_many(wanted: int | None) -> int:
    """Of processes: as wanted, else one for each processor this program may use, at most MOST."""
    if wanted is not None:
        return wanted
    count = getattr(os, "sched_getaffinity", None)
    return min(MOST, len(count(0)) if count else os.cpu_count() or 1)


def packed(opener: Opener | None) -> bytes | None:
    """What another process opens the session by; None where it cannot be sent there."""
    if opener is None:
        return None
    try:
        return pickle.dumps(opener)
    except Exception:  # pickle raises whatever an object's own code does
        return None


class Gone(Exception):
    """A worker has ended before its answer."""


class Worker:
    """One process. Raises what opening its session raises, at its first chunk."""

    def __init__(self, opener: bytes) -> None:
        package = str(Path(__file__).resolve().parents[2])
        before = os.environ.get("PYTHONPATH")
        # With threads of their own, the libraries of several processes wait for each other.
        env = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ}
        env["PYTHONPATH"] = os.pathsep.join([package, before] if before else [package])
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._opened = False
        self._send(opener)

    def ask(self, chunk: list[Question]) -> Iterator[Found]:
        """The answers to ``chunk``, each as soon as it is made. Raises Gone."""
        if not self._opened:
            wrong = self._receive()
            if wrong is not None:
                kind, message, hint = wrong
                raise kind(message, hint)
            self._opened = True
        self._send(pickle.dumps(chunk))
        for _ in chunk:
            found: Found = self._receive()
            yield found

    def _send(self, data: bytes) -> None:
        try:
            self._in.write(data)
            self._in.flush()
        except OSError as error:
            raise Gone from error

    def _receive(self) -> Any:
        try:
            return pickle.load(self._out)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise Gone from error

    def close(self) -> int:
        """End it at once; its exit code."""
        self._process.kill()
        code = self._process.wait()
        for pipe in (self._in, self._out):
            try:
                pipe.close()
            except OSError:
                continue  # what was still to be sent has no reader
        return code


@dataclass
class _Chunk:
    """Questions under way to a worker; what became of each comes into ``found``, or the fault that
    ended them all."""

    questions: list[Question]
    found: SimpleQueue[Found | BaseException] = field(default_factory=SimpleQueue)


class Pool:
    """``count`` workers, started when there is something to do."""

    def __init__(self, opener: bytes, count: int) -> None:
        self.count = count
        self._opener = opener
        self._idle: SimpleQueue[Worker | None] = SimpleQueue()
        for _ in range(count):
            self._idle.put(None)
        self._all: set[Worker] = set()
        self._lock = threading.Lock()
        self.closed = False

    def answers(
        self,
        chunks: Iterable[list[Question]],
        warn: Callable[[str], None],
        cancelled: threading.Event,
    ) -> Iterator[Answer]:
        """The answers to all chunks in their order, each as soon as it and those before it are
        made; about two chunks a worker are read ahead.

        Raises Cancelled, and what opening the session raises.
        """
        waiting: deque[_Chunk] = deque()
        executor = ThreadPoolExecutor(self.count)
        try:
            for questions in chunks:
                waiting.append(_Chunk(questions))
                executor.submit(self._ask, waiting[-1])
                if len(waiting) >= 2 * self.count:
                    yield from _next(waiting, warn, cancelled)
            while waiting:
                yield from _next(waiting, warn, cancelled)
        finally:
            if waiting:  # broken off: what the workers are doing is wanted by nobody
                self.close()
            executor.shutdown(cancel_futures=True)

    def _ask(self, chunk: _Chunk) -> None:
        if not chunk.questions:
            return
        worker = self._idle.get()
        left = deque(chunk.questions)
        try:
            try:
                worker = worker or self._start()
                for found in worker.ask(chunk.questions):
                    left.popleft()
                    chunk.found.put(found)
                return
            except Gone:
                worker = self._replaced(worker)
            for question in left:
                try:
                    (found,) = worker.ask([question])
                except Gone:
                    code = worker.close()
                    worker = self._replaced(worker)
                    found = _ended(question, code), []
                chunk.found.put(found)
        except BaseException as error:  # the one who waits for the answers is told
            chunk.found.put(error)
        finally:
            self._idle.put(worker)

    def _start(self) -> Worker:
        with self._lock:
            if self.closed:
                raise Cancelled("cancelled", "")
            worker = Worker(self._opener)
            self._all.add(worker)
            return worker

    def _replaced(self, worker: Worker | None) -> Worker:
        """A new one. Raises ModelError when that ends before it has opened anything, too."""
        if worker is not None:
            worker.close()
            self._all.discard(worker)
        new = self._start()
        try:
            list(new.ask([]))
        except Gone:
            raise ModelError(
                f"a worker process ended by itself (exit code {new.close()})",
                "use --workers 1, or free some memory",
            ) from None
        return new

    def close(self) -> None:
        """End all workers at once, for good."""
        with self._lock:
            self.closed = True
            for worker in list(self._all):
                worker.close()


def _next(
    waiting: deque[_Chunk], warn: Callable[[str], None], cancelled: threading.Event
) -> Iterator[Answer]:
    left = len(waiting[0].questions)
    while left:
        if cancelled.is_set():
            raise Cancelled("cancelled", "")
        try:
            found = waiting[0].found.get(timeout=_LOOK)
        except Empty:
            continue
        if isinstance(found, BaseException):
            raise found
        answer, warnings = found
        for warning in warnings:
            warn(warning)
        left -= 1
        yield answer
    waiting.popleft()


def _ended(question: Question, code: int) -> Answer:
    why = f"signal {-code}" if code < 0 else f"exit code {code}"
    return fault(
        question,
        ModelError(f"the process that answered it ended ({why})", "ask it with `ehrqa ask`"),
    )
