"""The screen over a real session where there are notes and no tables."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from ehrqa_cli.notes.importing import import_notes
from ehrqa_cli.tui.app import ChatApp

from .harness import options, text_of


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """An EHR of which there are only the notes of patient 12345."""
    notes, db = tmp_path / "notes.jsonl", tmp_path / "none.sqlite"
    told = {"note_id": "n1", "subject_id": 12345, "text": "Plan:\nColace 100 mg twice a day."}
    notes.write_text(json.dumps(told) + "\n", encoding="utf-8")
    import_notes(notes, db)
    return db


async def _until(pilot: Pilot[int], *wanted: str) -> str:
    """The screen when all of this is on it."""
    for _ in range(300):
        shown = text_of(pilot.app.export_screenshot(), *pilot.app.size)
        if all(what in shown for what in wanted):
            return shown
        await pilot.pause(0.1)
    raise AssertionError(f"{wanted} did not all appear:\n{shown}")


@pytest.mark.parametrize("patient", [12345, None])
def test_a_patient_of_the_notes_is_talked_about(db: Path, patient: int | None) -> None:
    app = ChatApp(options(db, patient=patient))

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            shown = await _until(pilot, "only notes", "ready")  # it was warmed up
            assert "no database" not in shown
            if patient is None:
                await pilot.press("ctrl+t", *"12345", "enter")
            else:
                await pilot.press("f7")
            await _until(pilot, "Patient 12345", "1 note", "Known only from notes")
            await pilot.press("escape", *"Colace", "enter")
            shown = await _until(pilot, "line of notes")
            assert "is gone" not in shown and "no database" not in shown

    asyncio.run(run())
    assert app.controller.close() and app.error is None


def test_no_database_is_said_to_be_gone_where_there_was_none(db: Path) -> None:
    app = ChatApp(options(db))

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            app.line.put("which dose of Colace did patient 12345 take?")
            await pilot.press("enter")
            assert "is gone" not in await _until(pilot, "line of notes")

    asyncio.run(run())
    assert app.controller.close()
