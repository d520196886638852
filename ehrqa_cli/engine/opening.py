"""A session from what a user names: a database, a time, files, plugins."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.plugins import NoteReader, Text2Sql
from ehrqa_cli.contracts.types import Scope
from ehrqa_cli.engine.parts import Mode
from ehrqa_cli.engine.risk import Thresholds, goal_key
from ehrqa_cli.engine.session import Session
from ehrqa_cli.engine.times import check_time

if TYPE_CHECKING:
    from ehrqa_cli.contracts.images import ImageReader


def open_session(
    db: Path | str | None,
    *,
    model: str | Text2Sql = "local",
    as_of: str | None = None,
    log: bool = True,
    scope: Scope | None = None,
    thresholds: Thresholds | Path | None = None,
    mode: Mode = Mode.NORMAL,
    goal: str | None = None,
    graphs: ImageReader | None = None,
    reader: str | NoteReader = "embedded",
    vision: str | None = None,
    concepts: Iterable[Path] = (),
    tentative: bool = False,
    taught: bool = False,
) -> Session:
    """A session over the EHR in ``db``; nothing is opened before it is needed.

    ``db`` is a path, or as a text whatever else ``--db`` takes; None for questions that each name
    an image file, which ``vision`` (a model's name or card) looks at.
    ``model`` and ``reader`` (of the notes) are a plugin's name or a ready one, which the session
    closes.
    ``as_of`` is YYYY-MM-DD, with HH:MM or HH:MM:SS if wanted, or ``now`` for the wall clock.
    ``goal`` is one that the thresholds have a limit for, such as ``penalty=5``; ``graphs`` answers
    questions about images (``ehrqa_cli.vqa.Vqa``), which are declined without it.
    ``concepts`` are files of the user's own (docs/concepts.md), over the one beside ``db``.
    ``tentative``: where it is only doubted whether the question was read rightly, the reading is
    run and its answer marked; ``taught``: wordings that were taught on this computer are answered,
    as the commands do (docs/declining.md).
    Raises UsageError for a wrong time, goal, thresholds or concepts file.
    """
    from ehrqa_cli.ehr.open import path_of

    db = path_of(db) if isinstance(db, str) else db
    if as_of is not None:
        as_of = check_time(as_of)
    named: dict[str, Any] = {"as_of": as_of, "log": log, "scope": scope, "mode": mode}
    named |= {"vision": vision, "model": model, "reader": reader, "concepts": tuple(concepts)}
    named |= {"tentative": tentative, "taught": taught}
    again = partial(open_session, db, thresholds=thresholds, goal=goal, **named)
    told = "the caller"
    if isinstance(thresholds, Path):
        told = f"the file {thresholds.name}"
        thresholds = Thresholds.load(thresholds)
    if goal is not None:
        goal = goal_key(goal)
        thresholds = thresholds.for_goal(goal) if thresholds else None
    session = Session(db, thresholds=thresholds, goal=goal, graphs=graphs, **named)
    session.thresholds_from = told
    _ = session.own_concepts
    # Parts that are ready are this process's alone.
    if isinstance(model, str) and isinstance(reader, str) and graphs is None:
        session.reopen = again
    return session
