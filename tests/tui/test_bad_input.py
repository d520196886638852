"""What may not end the chat, be lost, or be taken for anything but text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual import events

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.types import Result
from ehrqa_cli.engine.chat import events as said
from ehrqa_cli.engine.chat.views import Evidence, NoteLine, NoteView
from ehrqa_cli.tui.question_line import MOST

from . import samples
from .harness import Chat, chat

EVIL = "[red]x[/red] [@click=app.quit]y[/] \x1b]0;title\x07\x1b[31m\x9b2J\u202e"


async def _paste(chat: Chat, text: str) -> None:
    chat.app.line.post_message(events.Paste(text))
    await chat.pilot.pause()


def test_a_pasted_megabyte_is_refused_kindly_and_kept(tmp_path: Path) -> None:
    async def script(chat: Chat) -> None:
        await chat.type("my draft")
        await _paste(chat, "word " * 200_000)
        assert chat.app.line.value == "my draft"
        assert "1,000,000 characters" in chat.text and "the command palette can save" in chat.text
        kept = tmp_path / "pasted.txt"
        offered = {one.title: one for one in chat.app.get_system_commands(chat.app.screen)}
        offered["Save the pasted text"].callback()
        await chat.pilot.pause()
        await chat.pilot.press("ctrl+u")
        chat.app.screen.query_one("Input").value = str(kept)  # type: ignore[attr-defined]
        await chat.pilot.press("enter")
        assert kept.read_text() == "word " * 200_000 and kept.stat().st_mode & 0o077 == 0

    chat(script, (80, 24))


def test_several_pasted_lines_become_one() -> None:
    async def script(chat: Chat) -> None:
        await _paste(chat, "last sodium\n  of patient\t7?\n")
        assert chat.app.line.value == "last sodium of patient 7?"

    chat(script)


@pytest.mark.parametrize("pasted", ["a\x00b", "\x1b[31mred", "\x7fELF\x02"])
def test_pasted_control_characters_are_refused(pasted: str) -> None:
    async def script(chat: Chat) -> None:
        await _paste(chat, pasted)
        assert chat.app.line.value == "" and "control characters" in chat.text

    chat(script)


def test_no_question_grows_beyond_what_may_be_asked() -> None:
    async def script(chat: Chat) -> None:
        chat.app.line.put("x" * MOST)
        await chat.type("yz")
        assert chat.app.line.value == "x" * MOST

    chat(script)


def test_clinical_text_is_never_markup_and_cannot_move_the_cursor() -> None:
    answer = replace(
        samples.TABLE.answer,
        text=EVIL,
        columns=(EVIL,),
        rows=((EVIL,),),
        description=EVIL,
        neuralsql=EVIL,
        suggestions=(EVIL,),
    )
    turn = replace(samples.TABLE, answer=answer, asked=EVIL, carried=(EVIL,))
    note = NoteView(EVIL, 7, None, EVIL, (NoteLine(EVIL, ((0, 8),)),))
    evidence = Evidence(
        rows=((EVIL, Result((EVIL,), ((EVIL,),))),),
        notes=(note,),
        problems=(DatabaseError(EVIL, ""),),
    )

    async def script(chat: Chat) -> None:
        await chat.answer(turn, evidence)
        await chat.report(0, said.PatientRead(7, replace(samples.PATIENT, sex=EVIL), "2100"))
        await chat.report(0, said.Said(EVIL, bad=True))
        for key in ("f3", "f4", "f5", "f7"):
            await chat.pilot.press(key)
            await chat.pilot.pause(0.05)
            shown = chat.text
            assert "[red]x[/red]" in shown and "\\x1b" in shown
            assert not set(shown) & set("\x1b\x07\x9b\u202e")

    chat(script, (160, 50))


def test_a_terminal_that_is_too_small_says_so_and_loses_nothing() -> None:
    async def script(chat: Chat) -> None:
        await chat.answer(samples.TABLE, samples.ROWS)
        await chat.type("my draft")
        for size in ((20, 5), (1, 1), (39, 24), (80, 9)):
            await chat.pilot.resize_terminal(*size)
            await chat.pilot.pause()
            if size != (1, 1):
                assert "is too small" in " ".join(chat.text.split())
            await chat.pilot.press("f3", "f6", "escape")
        await chat.pilot.resize_terminal(80, 24)
        await chat.pilot.pause()
        assert "read as:" in chat.text and "› my draft" in chat.text

    chat(script)


def test_more_questions_than_may_wait_stay_in_the_line() -> None:
    async def script(chat: Chat) -> None:
        for number in range(20):
            await chat.ask(f"{number}?")
        chat.app.line.put("one more?")
        await chat.pilot.press("enter")
        assert chat.app.line.value == "one more?" and len(chat.controller.named("ask")) == 20
        assert "stays in the line" in chat.text

    chat(script)


def test_a_huge_note_and_a_thousand_rows_are_shown() -> None:
    lines = tuple(NoteLine(f"line {n} " + "x" * 300) for n in range(20_000))
    huge = NoteLine("y" * 500_000 + " here it is " + "z" * 500_000, ((500_001, 500_011),))
    cited = (*lines[:15_000], NoteLine("here it is", ((0, 4),)), huge, *lines[15_000:])
    note = NoteView("big", 7, None, "discharge summary", cited, first_marked=15_000)
    wide = replace(
        samples.TABLE.answer, columns=("a", "b"), rows=tuple((n, "y" * 999) for n in range(1000))
    )

    async def script(chat: Chat) -> None:
        await chat.answer(samples.NOTE, Evidence(notes=(note,)))
        await chat.pilot.pause(0.1)
        assert "▌here it is" in chat.text
        await chat.answer(replace(samples.TABLE, answer=wide))
        assert "Answer (1,000 rows)" in chat.text

    chat(script)
