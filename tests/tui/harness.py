"""The chat's screen with a worker that says what a test tells it to say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Input

from ehrqa_cli.cli.options import AnswerOptions
from ehrqa_cli.engine import Mode
from ehrqa_cli.engine.chat import Turn
from ehrqa_cli.tui import messages as say
from ehrqa_cli.tui.app import ChatApp

from . import samples

SCREENS = Path(__file__).parent / "screens"
SIZES = ((80, 24), (160, 50))


def options(db: Path = Path("demo.sqlite"), **given: Any) -> AnswerOptions:
    """Those of a chat without flags."""
    parts: dict[str, Any] = {"as_of": None, "patient": None, "scope": None, "model": "local"}
    parts |= {"log": False, "mode": Mode.NORMAL, "goal": None, "thresholds": None}
    return AnswerOptions(db=db, **{**parts, "scene_graphs": None, **given})


class FakeWork:
    """Records what the screen wants, as (name, arguments); posts what it is told to."""

    def __init__(self) -> None:
        self.wanted: list[tuple[Any, ...]] = []
        self.post: Callable[[Message], Any] = lambda message: None
        self.past: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: self.wanted.append((name, *args, *kwargs.values()))

    def open(self) -> None:
        """Everything is open at once."""
        self.post(say.Opened(samples.ABOUT, samples.complete, self.past))

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of what was wanted under this name."""
        return [args for wanted, *args in self.wanted if wanted == name]  # type: ignore[misc]


class Chat:
    """A running screen and its worker."""

    def __init__(self, app: ChatApp, work: FakeWork, pilot: Pilot[int]) -> None:
        self.app, self.work, self.pilot = app, work, pilot

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
        return self.work.named("ask")[-1][0]

    async def post(self, *messages: Message) -> None:
        """Let the worker say this."""
        for message in messages:
            self.work.post(message)
        await self.pilot.pause()

    async def answer(self, turn: Turn, evidence: say.Evidence | None = None) -> None:
        """Ask a turn's question, and let it have its answer and its evidence."""
        ticket = await self.ask(turn.typed)
        await self.post(say.Answered(ticket, turn))
        if evidence is not None:
            await self.post(say.EvidenceRead(turn, evidence))
        await self.pilot.pause()

    @property
    def text(self) -> str:
        """What is on the screen, as characters."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips) + "\n"


_KEYS = {" ": "space", "?": "question_mark", ".": "full_stop"}


def chat(
    script: Callable[[Chat], Awaitable[None]],
    size: tuple[int, int] = (120, 30),
    work: FakeWork | None = None,
    **given: Any,
) -> ChatApp:
    """Run ``script`` on a screen of ``size``; the app when it has ended."""
    fake = work or FakeWork()
    keys = given.pop("keys", None)
    app = ChatApp(options(**given), theme="textual-dark", keys=keys, work=fake)  # type: ignore[arg-type]
    fake.post = app.post_message

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
