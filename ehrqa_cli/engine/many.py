"""Many questions at once, by the steps of `engine.ask`: what is written is written together.

A chunk of questions is taken up to where the model writes; then it writes for all of them in one
batch; then each goes on alone. An answer depends on its question and the settings, never on the
questions beside it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError, UsageError
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import Answer, Query, Question, Status
from ehrqa_cli.engine.ask import advance, begin, choose, end
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.draft import Draft, Step
from ehrqa_cli.engine.query_path import link, take_written, write
from ehrqa_cli.engine.session import Session

CHUNK = 64  # questions that one worker is given at a time
TOGETHER = 24  # of them are written together: the first of them waits for the last to be written
# Fewer are answered sooner here than by processes that must first open everything themselves.
ENOUGH = 2 * CHUNK
# Steps that cost little and lead to what is written together; what follows may take a minute.
_TO_WRITING = (choose, link)

OnWarning = Callable[[str], None]
Result = TypeVar("Result", Draft, Answer)


def ask_many(
    questions: Iterable[Question],
    session: Session,
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
    chunks = _chunks(iter(questions), chunk_of(session))
    return ask_chunks(chunks, session, workers=workers, on_warning=on_warning)


def ask_chunks(
    chunks: Iterable[list[Question]],
    session: Session,
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


def chunk_of(session: Session) -> int:
    """How many questions are taken together. With a large model each takes long, and a chunk that
    another process is killed in is lost."""
    return 1 if session.large else CHUNK


def _chunks(questions: Iterator[Question], size: int) -> Iterator[list[Question]]:
    while chunk := list(islice(questions, size)):
        yield chunk


def ask_chunk(questions: list[Question], session: Session, warn: OnWarning) -> Iterator[Answer]:
    """The answers to a few questions; each is given as soon as it is made. Raises Cancelled."""
    for first in range(0, len(questions), TOGETHER):
        some = questions[first : first + TOGETHER]
        begun = [_begun(question, session, warn) for question in some]
        found = deque(_guarded(d, _to_writing) for d in begun)
        waiting = [d for d in found if isinstance(d, Draft) and _writes(d)]
        if len(waiting) > 1 and _writes_together(session):
            _write_together(waiting, session)
        while found:
            yield _guarded(_guarded(found.popleft(), _to_end), end)


def _begun(question: Question, session: Session, warn: OnWarning) -> Draft | Answer:
    def event(name: str, what: object) -> None:
        if name == "warning":
            warn(str(what))

    try:
        return begin(question, session, event)
    except UsageError as error:
        return fault(question, error)


def _to_writing(draft: Draft) -> Draft:
    advance(draft, _TO_WRITING)
    return draft


def _to_end(draft: Draft) -> Draft:
    advance(draft)
    return draft


def _writes_together(session: Session) -> bool:
    """Does its model gain by it? One that writes for each in turn would only delay the first."""
    return type(session.model).generate_many is not Text2Sql.generate_many


def _writes(draft: Draft) -> bool:
    return bool(draft.steps) and draft.steps[0] is write


def _guarded(draft: Draft | Answer, go: Callable[[Draft], Result]) -> Result | Answer:
    """What ``go`` makes of the draft. One question's fault must not end the others."""
    if isinstance(draft, Answer):
        return draft
    try:
        return go(draft)
    except Cancelled:
        raise
    except Exception as error:
        return fault(draft.question, error)


def _write_together(drafts: list[Draft], session: Session) -> None:
    """Put what the model writes for each in place of the step that would write it alone."""
    started = time.perf_counter()
    try:
        written = session.model.generate_many([d.linked for d in drafts if d.linked is not None])
    except Cancelled:
        raise
    except Exception:  # of one of them, perhaps: alone, each shows its own
        for draft in drafts:
            draft.steps[0] = _alone
        return
    seconds = (time.perf_counter() - started) / len(drafts)
    for draft, queries in zip(drafts, written, strict=True):
        draft.steps[0] = _written(queries)
        draft.timings["write_together"] = seconds


def _written(queries: list[Query] | EhrqaError) -> Step:
    def take(draft: Draft) -> Reason | None:
        if isinstance(queries, EhrqaError):
            raise queries
        return take_written(draft, queries)

    take.__name__ = write.__name__
    return take


def _alone(draft: Draft) -> Reason | None:
    return write(draft)


_alone.__name__ = write.__name__


def fault(question: Question, error: Exception) -> Answer:
    """What became of a question that cannot even be asked, or that an unforeseen error ended."""
    if isinstance(error, EhrqaError):
        told = {"message": error.message, "hint": error.hint}
    else:
        told = {
            "message": f"unexpected {type(error).__name__}: {error}",
            "hint": "ask this question with `ehrqa ask` and EHRQA_DEBUG=1 for the traceback",
        }
    return Answer(question, Status.FAILED, text=f"Failed: {told['message']}.", error=told)
