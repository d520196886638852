"""Many questions at once, by the path of `engine.ask`: what is written is written together.

A chunk of questions goes to the first pause of the path; then the model writes for all that wait
for it in one batch; then each goes on alone. An answer depends on its question and the settings,
never on the questions beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain, islice

from ehrqa_cli.contracts.errors import Cancelled, UsageError
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import Answer, LinkedQuestion, Question
from ehrqa_cli.engine.ask import Asking
from ehrqa_cli.engine.faults import fault
from ehrqa_cli.engine.session_parts import SessionParts

CHUNK = 64  # questions that one worker is given at a time
TOGETHER = 24  # of them are written together: the first of them waits for the last to be written
# Fewer are answered sooner here than by processes that must first open everything themselves.
ENOUGH = 2 * CHUNK

OnWarning = Callable[[str], None]


def ask_many(
    questions: Iterable[Question],
    session: SessionParts,
    *,
    workers: int | None = None,
    on_warning: OnWarning | None = None,
) -> Iterator[Answer]:
    """The answers to ``questions``, in their order; a fault of one is an Answer of status failed.

    At most a few chunks of ``questions`` are read ahead, so that there may be any number of them.
    ``workers`` is how many processes answer: None for as many as there are processors, where the
    session can be opened again in another process and the questions are worth it; 1 for this
    process alone. The answers are the same. Raises Cancelled after ``session.cancel()``, and what
    opening the session raises.
    """
    rest, size = iter(questions), chunk_of(session)
    chunks = iter(lambda: list(islice(rest, size)), [])
    return ask_chunks(chunks, session, workers=workers, on_warning=on_warning)


def ask_chunks(
    chunks: Iterable[list[Question]],
    session: SessionParts,
    *,
    workers: int | None = None,
    on_warning: OnWarning | None = None,
) -> Generator[Answer, None, None]:
    """As `ask_many`, for one who cuts the chunks: at most `chunk_of` the session questions each."""
    warn = on_warning or (lambda _: None)
    rest = iter(chunks)
    first = list(islice(rest, ENOUGH // CHUNK))
    enough = 2 if session.large else ENOUGH
    pool = session.workers(workers) if sum(map(len, first)) >= enough else None
    whole = chain(first, rest)
    try:
        if pool is not None:
            yield from pool.answers(whole, warn, session.cancelled)
            return
        session.warm()
        for chunk in whole:
            yield from ask_chunk(chunk, session, warn)
    finally:
        session.resume()


def chunk_of(session: SessionParts) -> int:
    """How many questions are taken together. With a large model each takes long, and a chunk that
    another process is killed in is lost."""
    return 1 if session.large else CHUNK


def ask_chunk(
    questions: list[Question], session: SessionParts, warn: OnWarning
) -> Iterator[Answer]:
    """The answers to a few questions; each is given as soon as it is made. Raises Cancelled."""
    for first in range(0, len(questions), TOGETHER):
        some = questions[first : first + TOGETHER]
        begun = [_begun(question, session, warn) for question in some]
        waiting = {a: a.waiting for a in begun if isinstance(a, Asking) and a.waiting is not None}
        if len(waiting) > 1 and _writes_together(session):
            _write_together(waiting, session)
        for asking in begun:
            yield asking if isinstance(asking, Answer) else _finished(asking)


def _begun(question: Question, session: SessionParts, warn: OnWarning) -> Asking | Answer:
    """The question up to the first pause of its path. One's fault must not end the others."""

    def event(name: str, what: object) -> None:
        if name == "warning":
            warn(str(what))

    try:
        asking = Asking(question, session, event)
    except UsageError as error:
        return fault(question, error)
    try:
        asking.go()
    except Cancelled:
        raise
    except Exception as error:
        return fault(asking.run.question, error)
    return asking


def _finished(asking: Asking) -> Answer:
    try:
        return asking.finish()
    except Cancelled:
        raise
    except Exception as error:
        return fault(asking.run.question, error)


def _writes_together(session: SessionParts) -> bool:
    """Does its model gain by it? One that writes for each in turn would only delay the first."""
    return type(session.model).generate_many is not Text2Sql.generate_many


def _write_together(waiting: dict[Asking, LinkedQuestion], session: SessionParts) -> None:
    """Give each what the model writes for it among the others."""
    started = time.perf_counter()
    try:
        written = session.model.generate_many(list(waiting.values()))
    except Cancelled:
        raise
    except Exception:  # of one of them, perhaps: alone, each shows its own
        return
    seconds = (time.perf_counter() - started) / len(waiting)
    for asking, queries in zip(waiting, written, strict=True):
        asking.written = queries
        asking.run.timings["write_together"] = seconds
