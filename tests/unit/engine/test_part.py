"""Parts of a session: opened at first use, given ready, seen without being opened, closed."""

from __future__ import annotations

import pytest

from ehrqa_cli.engine import Session
from ehrqa_cli.engine.part import Part

from .fakes import MemoryDatabase


class Desk:
    """Has a drawer that can be closed, and a lamp that is missing."""

    def __init__(self) -> None:
        self.opened: dict[str, object] = {}
        self.made: list[str] = []

    @Part
    def drawer(self) -> MemoryDatabase:
        """A drawer."""
        self.made.append("drawer")
        return MemoryDatabase()

    @Part
    def lamp(self) -> str | None:
        """No lamp."""
        self.made.append("lamp")
        return None


def test_a_part_is_made_once_and_again_after_it_was_closed() -> None:
    desk = Desk()
    assert not Desk.drawer.is_open(desk) and Desk.drawer.open(desk) is None and not desk.made
    first = desk.drawer
    assert desk.drawer is first is Desk.drawer.open(desk) and desk.made == ["drawer"]
    Desk.drawer.close(desk)
    with pytest.raises(Exception, match="closed"):
        first.connection.execute("SELECT 1")
    assert not Desk.drawer.is_open(desk)
    assert desk.drawer is not first and desk.made == ["drawer", "drawer"]


def test_a_part_that_is_missing_is_looked_for_once() -> None:
    desk = Desk()
    assert desk.lamp is None and desk.lamp is None and desk.made == ["lamp"]
    Desk.lamp.tell(desk, "shine")
    Desk.lamp.close(desk)
    assert not Desk.lamp.is_open(desk)


def test_a_given_part_is_not_made() -> None:
    desk = Desk()
    mine = desk.drawer = MemoryDatabase()
    assert desk.drawer is mine and not desk.made


def test_a_session_takes_parts_by_name_and_no_others() -> None:
    mine = MemoryDatabase()
    session = Session(database=mine, judge=None, graphs=None)
    assert session.database is mine and session.judge is None
    assert not Session.graphs.is_open(session), "None given: it is looked for when needed"
    with pytest.raises(TypeError, match="'lniker'"):
        Session(lniker=None)
