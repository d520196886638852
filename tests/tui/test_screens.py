"""Every pane as it is drawn at 80x24 and at 160x50. Delete a kept screen to make it anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from ehrqa_cli.engine.chat import events as said
from ehrqa_cli.engine.chat.history import ChatInfo, Found

from . import samples
from .harness import SIZES, Chat, chat, same_screen


async def _start(chat: Chat) -> None:
    pass


async def _transcript(chat: Chat) -> None:
    await chat.answer(samples.TABLE, samples.ROWS)
    await chat.answer(samples.FAILED)
    await chat.answer(samples.DECLINED)


async def _running(chat: Chat) -> None:
    ticket = await chat.ask("last sodium of patient 7?")
    await chat.report(ticket, said.Doing("finding names"), said.Doing("writing the logical form"))
    await chat.report(ticket, *(said.Wrote(f"{t} ") for t in ("value", "last", "lab")))
    await chat.ask("and before that?")
    await chat.pilot.pause(0.1)


async def _rows(chat: Chat) -> None:
    await chat.answer(samples.TABLE, samples.ROWS)
    await chat.pilot.press("f3")


async def _query(chat: Chat) -> None:
    await chat.answer(samples.TABLE, samples.ROWS)
    await chat.pilot.press("f4")


async def _note(chat: Chat) -> None:
    await chat.answer(samples.NOTE, samples.NOTES)
    await chat.pilot.press("f5")


async def _image(chat: Chat) -> None:
    await chat.answer(samples.IMAGE, samples.IMAGES)
    await chat.pilot.press("f6")


async def _patient(chat: Chat) -> None:
    await chat.report(0, said.PatientRead(7, samples.PATIENT, "2100-12-31 23:59:00"))
    await chat.pilot.press("f7")


async def _candidates(chat: Chat) -> None:
    await chat.type("last sod")


async def _help(chat: Chat) -> None:
    await chat.pilot.press("f1")


async def _history(chat: Chat) -> None:
    await chat.pilot.press("ctrl+r")
    info = ChatInfo(1, "2026-01-01 10:00:00", "last sodium?", 3, "demo.sqlite", 7, None)
    await chat.report(chat.controller.last("search"), said.Listed("", (info,)))


async def _search(chat: Chat) -> None:
    await chat.pilot.press("ctrl+r")
    await chat.type("sodium")
    found = Found(1, 2, "last sodium?", "Value of last lab test sodium: 141.5.", "2026-01-01 10:00")
    await chat.report(chat.controller.last("search"), said.Listed("sodium", (found,)))


async def _export(chat: Chat) -> None:
    await chat.answer(samples.TABLE)
    await chat.pilot.press("ctrl+s")


SCRIPTS: dict[str, Callable[[Chat], Awaitable[None]]] = {
    name.removeprefix("_"): script
    for name, script in list(globals().items())
    if name.startswith("_") and getattr(script, "__module__", "") == __name__
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_looks_as_kept(name: str) -> None:
    async def both(chat: Chat) -> None:
        await SCRIPTS[name](chat)
        for width, height in SIZES:
            await chat.pilot.resize_terminal(width, height)
            await chat.pilot.pause(0.05)
            same_screen(f"{name}-{width}x{height}", chat.text)

    chat(both, SIZES[0])
