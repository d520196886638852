"""The screen of a review: decisions, the form, undo, filter, and what is on the disk after each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from ehrqa_cli.sets.notes.review import Review, load_set
from ehrqa_cli.tui.panes.note import Lines
from ehrqa_cli.tui.review import ReviewApp

from .harness import SIZES, same_screen, text_of

CHOICES = {"A": "20 mg", "B": "40 mg", "C": "80 mg", "D": "10 mg", "E": "none"}


def write_set(folder: Path) -> Path:
    """Three questions over two notes of one patient; what they say looks like markup."""
    folder.mkdir()
    rows = (
        ("q1", "What dose of [bold]furosemide[/bold]?", "A", [("7-a", "Furosemide 20 mg")]),
        ("q2", "How is Colace taken?\x1b]0;bad\x07", "B", [("7-b", "Colace twice a day")]),
        ("q3", "What of the gout?", None, []),
    )
    questions = [
        {"id": k, "patient_id": "7", "question": q, "choices": CHOICES, "answer": a,
         "evidence": [{"note_id": n, "text": t} for n, t in e], "category": "medication",
         "flags": ["not all words of E stand in the notes"] if k == "q1" else []}
        for k, q, a, e in rows
    ]  # fmt: skip
    long = "\n".join(f"Day {k}: [red]well[/red]." for k in range(1, 61))
    texts = {"7-a": "First stay.\nFurosemide 20 mg.", "7-b": f"Second stay.\n{long}\n"
             "Colace twice a day."}  # fmt: skip
    notes = [
        {"note_id": k, "patient_id": "7", "charttime": f"2100-0{i}-01", "text": text}
        for i, (k, text) in enumerate(texts.items(), 1)
    ]
    for name, lines in (("questions.jsonl", questions), ("notes.jsonl", notes)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


class Screen:
    """A running review."""

    def __init__(self, app: ReviewApp, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def fill(self, name: str, value: str) -> None:
        """Put a text into a field of the form, as a paste would."""
        widget = self.app.query_one(f"#field-{name}")
        if isinstance(widget, TextArea):
            widget.text = value
        else:
            assert isinstance(widget, Input)
            widget.value = value
        await self.pilot.pause()

    @property
    def text(self) -> str:
        return text_of(self.app.export_screenshot(), *self.app.size)

    @property
    def lines(self) -> list[dict[str, object]]:
        """The journal, as it is on the disk now."""
        path = self.app.review.data.folder / "review" / "ann.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def review(
    folder: Path, script: Callable[[Screen], Awaitable[None]], size: tuple[int, int] = (120, 40)
) -> None:
    """Run ``script`` on the screen; each look at the clock is a second later."""
    seconds = iter(range(10_000))

    async def run(app: ReviewApp) -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(Screen(app, pilot))

    with Review(load_set(folder), "ann") as opened:
        app = ReviewApp(opened, theme="textual-dark", clock=lambda: float(next(seconds)))
        asyncio.run(run(app))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_set(tmp_path / "set")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["item", "edit"])
def test_it_looks_as_it_was_kept(folder, name, size) -> None:
    async def script(screen: Screen) -> None:
        if name == "edit":
            await screen.press("e")
            for field in screen.app.query("Input, TextArea"):
                field.cursor_blink = False  # type: ignore[attr-defined]
            await screen.pilot.pause()
        for _ in range(100):  # the line of keys is drawn after all else
            if screen.text.splitlines()[-1].strip():
                break
            await screen.pilot.pause(0.05)
        same_screen(f"review-{name}-{size[0]}x{size[1]}", screen.text)

    review(folder, script, size)


def test_every_key_has_its_place_on_a_small_screen(folder) -> None:
    async def script(screen: Screen) -> None:
        await screen.pilot.pause(0.2)
        last = screen.text.splitlines()[-1]
        for shown in ("a Accept", "e Edit", "d Drop", "u Undo", "f Open", "? Help", "q Quit"):
            assert shown in last, last

    review(folder, script, (80, 24))


def test_accept_drop_and_undo_are_on_the_disk_before_the_next_item(folder) -> None:
    async def script(screen: Screen) -> None:
        assert "[bold]furosemide[/bold]" in screen.text  # clinical text is no markup
        await screen.press("a")
        assert screen.lines == [{"id": "q1", "decision": "accepted"}]
        assert "How is Colace taken?" in screen.text and "\x1b" not in screen.text
        await screen.press("d")
        assert screen.lines[-1] == {"id": "q2", "decision": "dropped"}
        assert "What of the gout?" in screen.text and "1 undecided" in screen.text
        await screen.press("u")
        assert screen.lines[-1] == {"undo": "q2"}
        assert "How is Colace taken?" in screen.text and "taken back" in screen.text
        await screen.press("u", "u")
        assert "nothing to undo" in screen.text and "3 undecided" in screen.text

    review(folder, script)


def test_the_evidence_is_in_sight_and_marked(folder) -> None:
    async def script(screen: Screen) -> None:
        assert "▌Furosemide 20 mg." in screen.text
        await screen.press("j")  # its evidence is on the last line of a long note
        assert "▌Colace twice a day." in screen.text and "7-b" in screen.text
        assert "[red]well[/red]" in screen.text
        await screen.press("right_square_bracket")
        assert "First stay." in screen.text
        await screen.press("j")  # without evidence the first note, from its beginning
        assert "First stay." in screen.text and screen.app.query_one(Lines).scroll_offset.y == 0

    review(folder, script)


def test_evidence_deep_in_a_long_paragraph_is_in_sight(tmp_path) -> None:
    folder = write_set(tmp_path / "set")
    rows = (folder / "notes.jsonl").read_text().splitlines()
    note = json.loads(rows[0])
    note["text"] = "Course: " + "He was well. " * 250 + "Furosemide 20 mg. " + "So it was. " * 250
    (folder / "notes.jsonl").write_text(json.dumps(note) + "\n" + rows[1] + "\n")

    async def script(screen: Screen) -> None:
        assert "Furosemide 20 mg." in screen.text.partition("7-a:")[2]

    review(folder, script, (80, 24))


def test_it_goes_on_where_it_was_left(folder) -> None:
    async def first(screen: Screen) -> None:
        await screen.press("a", "q")
        assert screen.app.return_value == 0

    async def second(screen: Screen) -> None:
        assert "2 of 3" in screen.text and "How is Colace taken?" in screen.text
        await screen.press("k")
        assert "✓ accepted" in screen.text

    review(folder, first)
    review(folder, second)


def test_an_edit_is_kept_and_shown(folder) -> None:
    async def script(screen: Screen) -> None:
        await screen.press("e")
        await screen.fill("question", "Which dose of furosemide was given?")
        await screen.fill("B", "60 mg")
        await screen.press("a", "d")  # letters go into the field, not to the keys
        assert screen.lines == []
        await screen.fill("question", "Which dose?")
        await screen.press("ctrl+s")
        (line,) = screen.lines
        assert line["decision"] == "edited"
        assert line["item"]["question"] == "Which dose?"  # type: ignore[index]
        assert line["item"]["choices"] == {**CHOICES, "B": "60 mg"}  # type: ignore[index]
        await screen.press("k")
        assert "changed: question, choice B" in screen.text and "✎ edited" in screen.text
        await screen.press("a")  # accepting what was edited leaves it edited
        assert len(screen.lines) == 1 and "stays edited" in screen.text
        assert screen.app.review.drafts() == {}

    review(folder, script)


def test_an_edit_that_changes_nothing_accepts_the_item(folder) -> None:
    async def script(screen: Screen) -> None:
        await screen.press("j", "e", "ctrl+s")  # a question with control characters
        assert screen.lines == [{"id": "q2", "decision": "accepted"}]

    review(folder, script)


def test_what_a_set_cannot_hold_is_said_and_the_form_stays(folder) -> None:
    async def script(screen: Screen) -> None:
        await screen.press("e")
        await screen.fill("evidence", "Furosemide 30 mg")
        await screen.press("ctrl+s")
        assert "this is not in the notes" in screen.text and screen.lines == []
        await screen.fill("evidence", "first   stay.")
        await screen.press("ctrl+s")
        assert screen.lines[0]["item"]["evidence"] == [["7-a", "First stay."]]  # type: ignore[index]

    review(folder, script)


def test_a_broken_off_edit_is_a_draft(folder) -> None:
    async def killed(screen: Screen) -> None:
        await screen.press("j", "e")
        await screen.fill("C", "70 mg")

    async def again(screen: Screen) -> None:
        assert "2 of 3" in screen.text and "begun and not kept" in screen.text
        await screen.press("e")
        assert screen.app.query_one("#field-C", Input).value == "70 mg"
        await screen.press("escape")
        assert "kept as a draft" in screen.text and screen.lines == []
        await screen.press("e", "ctrl+r")
        assert screen.app.query_one("#field-C", Input).value == "80 mg"
        await screen.press("escape")
        assert screen.app.review.drafts() == {} and "draft" not in screen.text

    review(folder, killed)
    review(folder, again)


def test_only_undecided_ones(folder) -> None:
    async def script(screen: Screen) -> None:
        await screen.press("j", "a", "k", "k")
        assert "1 of 3" in screen.text
        await screen.press("f", "j")  # q2 is decided
        assert "3 of 3 (undecided only)" in screen.text
        await screen.press("j")
        assert "1 of 3" in screen.text
        await screen.press("f", "j")
        assert "2 of 3" in screen.text
        await screen.press("f")  # from a decided one to the next that is not
        assert "3 of 3" in screen.text

    review(folder, script)


def test_all_decided(folder) -> None:
    async def script(screen: Screen) -> None:
        await screen.press("a", "a", "d")
        assert "all items are decided" in screen.text and "0 undecided" in screen.text
        await screen.press("s")
        assert "accepted as they were" in screen.text and "2 of 3 (66.7%)" in screen.text
        assert "median of 3" in screen.text
        await screen.press("escape", "question_mark")
        assert "drop it" in screen.text

    review(folder, script)


def test_a_full_disk_is_said_and_the_item_stays(folder, monkeypatch) -> None:
    async def script(screen: Screen) -> None:
        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
        await screen.press("a")
        said = " ".join(screen.text.split())  # over several lines, as the path is long
        assert "No space left on device; make room" in said and "1 of 3" in said
        monkeypatch.undo()
        assert screen.lines == []
        await screen.press("a")
        assert screen.lines == [{"id": "q1", "decision": "accepted"}]

    review(folder, script)
