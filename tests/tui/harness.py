"""The chat's screen with a controller that reports what a test tells it to report."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from html import unescape
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import Input

from ehrqa_cli.cli.answer_options import AnswerOptions
from ehrqa_cli.engine import Mode
from ehrqa_cli.engine.chat import events
from ehrqa_cli.engine.chat.events import Event
from ehrqa_cli.engine.chat.values import Turn
from ehrqa_cli.engine.chat.views import Evidence
from ehrqa_cli.tui.app import ChatApp
from ehrqa_cli.tui.base import Reported

from . import samples

SCREENS = Path(__file__).parent / "screens"
SIZES = ((80, 24), (160, 50))


def options(db: Path = Path("demo.sqlite"), **given: Any) -> AnswerOptions:
    """Those of a chat without flags."""
    parts: dict[str, Any] = {"as_of": None, "patient": None, "scope": None, "model": "local"}
    parts |= {"log": False, "mode": Mode.NORMAL, "goal": None, "thresholds": None}
    return AnswerOptions(db=db, **{**parts, "scene_graphs": None, **given})


class FakeController:
    """Records what the screen wishes for, as (name, arguments); reports what it is told to."""

    def __init__(self) -> None:
        self.wished: list[tuple[Any, ...]] = []
        self.report: Callable[[int, Event], object] = lambda ticket, event: None
        self.past: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Callable[..., int]:
        def wish(*args: object, **kwargs: object) -> int:
            self.wished.append((name, *args, *kwargs.values()))
            return len(self.wished)

        return wish

    def warm(self) -> int:
        """Everything is open at once."""
        self.report(0, events.Past(self.past))
        self.report(0, events.Opened(samples.ABOUT, samples.complete))
        return self.done()

    def ask(self, text: str, edited: bool = False) -> int:
        """It waits, as a query does."""
        self.wished.append(("run" if edited else "ask", text))
        self.report(len(self.wished), events.Sent(text, edited))
        return len(self.wished)

    def say(self, event: Event) -> int:
        """What needs no work."""
        self.report(len(self.wished) + 1, event)
        return self.done()

    def done(self) -> int:
        """Something that has ended already."""
        self.wished.append(("done",))
        self.report(len(self.wished), events.Done())
        return len(self.wished)

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of what was wished for under this name."""
        return [args for wished, *args in self.wished if wished == name]  # type: ignore[misc]

    def last(self, name: str) -> int:
        """The ticket of the last wish of this name."""
        return max(n for n, wished in enumerate(self.wished, 1) if wished[0] == name)


class Chat:
    """A running screen and its controller."""

    def __init__(self, app: ChatApp, controller: FakeController, pilot: Pilot[int]) -> None:
        self.app, self.controller, self.pilot = app, controller, pilot

    async def type(self, line: str) -> None:
        """Type a line, without Enter: all but its last key at once, which is quicker."""
        focused = self.app.focused
        assert isinstance(focused, Input)
        focused.insert_text_at_cursor(line[:-1])
        if line:
            await self.pilot.press(_KEYS.get(line[-1], line[-1]))

    async def ask(self, question: str) -> int:
        """Put a question in and press Enter; its ticket."""
        self.app.line.put(question)
        await self.pilot.press("enter")
        return self.controller.last("ask")

    async def report(self, ticket: int, *reported: Event) -> None:
        """Let the controller report this."""
        for event in reported:
            self.controller.report(ticket, event)
        await self.pilot.pause()

    async def answer(self, turn: Turn, evidence: Evidence | None = None) -> None:
        """Ask a turn's question, and let it have its answer and its evidence."""
        ticket = await self.ask(turn.typed)
        await self.report(ticket, events.Answered(turn), events.Done())
        if evidence is not None:
            await self.report(0, events.EvidenceRead(turn, evidence))
        await self.pilot.pause()

    @property
    def text(self) -> str:
        """What is on the screen, as characters."""
        return text_of(self.app.export_screenshot(), *self.app.size)


_COLUMN = 12.2  # of a picture, for one of the screen
_TEXT = re.compile(r'<text [^>]*x="([\d.]+)"[^>]*-line-(\d+)\)">(.*?)</text>', re.DOTALL)
_KEYS = {" ": "space", "?": "question_mark", ".": "full_stop"}


def text_of(picture: str, width: int, height: int) -> str:
    """The characters of a picture (SVG) of a screen, line by line, without blanks at the end."""
    lines = [""] * height
    for x, line, found in _TEXT.findall(picture):
        shown = lines[int(line)]
        column = round(float(x) / _COLUMN)
        lines[int(line)] = shown + " " * (column - cell_len(shown)) + unescape(found)
    shown = "\n".join(line.replace("\xa0", " ").replace("\n", "").rstrip() for line in lines)
    return shown + "\n"


def chat(
    script: Callable[[Chat], Awaitable[None]],
    size: tuple[int, int] = (120, 30),
    controller: FakeController | None = None,
    **given: Any,
) -> ChatApp:
    """Run ``script`` on a screen of ``size``; the app when it has ended."""
    fake = controller or FakeController()
    keys = given.pop("keys", None)
    app = ChatApp(options(**given), theme="textual-dark", keys=keys, controller=fake)  # type: ignore[arg-type]
    fake.report = lambda ticket, event: app.post_message(Reported(ticket, event))

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            app.line.cursor_blink = False
            await pilot.pause()
            await script(Chat(app, fake, pilot))

    asyncio.run(run())
    return app


def same_screen(name: str, text: str) -> None:
    """The screen is as it was kept; a screen that is not kept is, for a person to look at."""
    path = SCREENS / f"{name}.txt"
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        raise AssertionError(f"{path} is new: look at it, and run the test again")
    assert text == path.read_text(encoding="utf-8"), f"if this is right, delete {path}"
