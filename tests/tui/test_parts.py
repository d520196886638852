"""Keys, pictures, lines of text: what needs no screen, or hardly one."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widgets import Static

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.engine.chat import events
from ehrqa_cli.engine.chat.values import Turn
from ehrqa_cli.engine.chat.views import Evidence
from ehrqa_cli.tui import graphics, show
from ehrqa_cli.tui.keys import check_keys, every
from ehrqa_cli.tui.panes.image import drawn
from ehrqa_cli.tui.picture import Grey, HalfBlocks, fitted, half_blocks, load
from ehrqa_cli.tui.top import header

from . import samples
from .harness import Chat, chat

# What a picture of the screen draws around it, and as the terminal's own colours: those of text
# and of what is behind it, and the same dimmed.
WINDOW = {"#ff5f57", "#febc2e", "#28c840"}
DEFAULT = {"#c5c8c6", "#292929", "#868887", "#676867"}


def test_keys_are_the_settings_own() -> None:
    async def script(chat: Chat) -> None:
        await chat.pilot.press("f9")
        assert chat.app.screen.query("#help")
        await chat.pilot.press("escape", "f1")
        assert not chat.app.screen.query("#help")

    chat(script, keys=check_keys({"help": "f9"}))


@pytest.mark.parametrize(
    ("keys", "said"),
    [({"fly": "f9"}, "no action 'fly'"), ({"help": "hyper"}, "no key 'hyper'")],
)
def test_keys_that_there_are_not_are_refused(keys: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_keys(keys)
    assert said in refused.value.message and refused.value.hint


def test_no_two_keys_are_the_same() -> None:
    from ehrqa_cli.tui.keys import APP_KEYS

    keys = [key.key for key in APP_KEYS]
    assert len(keys) == len(set(keys))
    names = [key.id for key in every()]
    assert len(names) == len(set(names))


def test_every_tab_has_its_key() -> None:
    from ehrqa_cli.tui.evidence import TABS
    from ehrqa_cli.tui.keys import APP_KEYS

    keys = [key.action for key in APP_KEYS if key.action.startswith("tab(")]
    assert keys == [f"tab('{name}')" for name in TABS]


def test_a_tab_needs_no_more_than_its_line_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    from ehrqa_cli.tui.evidence import TABS, Tab

    def fill(pane: Static, turn: Turn | None, found: Evidence | None) -> None:
        pane.update(f"{turn and turn.typed}: {found and len(found.rows)} tables")

    monkeypatch.setitem(TABS, "sum", Tab("Sum", Static, fill, cites=True))

    async def script(chat: Chat) -> None:
        await chat.answer(samples.TABLE)
        chat.app.show_tab("sum")
        await chat.pilot.pause()
        assert f"{samples.TABLE.typed}: None tables" in chat.text
        await chat.report(0, events.EvidenceRead(samples.TABLE, samples.ROWS))
        assert f"{samples.TABLE.typed}: 1 tables" in chat.text

    chat(script)


def test_a_picture_keeps_its_shape() -> None:
    assert fitted(Grey(100, 100, b""), 80, 24) == (48, 24)
    assert fitted(Grey(200, 100, b""), 80, 24) == (80, 20)
    assert fitted(Grey(10, 5000, b""), 80, 24) == (1, 24)


def test_half_blocks_hold_two_shades_each() -> None:
    lines = half_blocks(Grey(2, 2, bytes([0, 255, 255, 0])), 2, 1)
    [line] = lines
    assert line.text == "▀▀"
    first = next(iter(line)).style
    assert first is not None and first.color is not None and first.bgcolor is not None
    assert first.color.get_truecolor().red == 0 and first.bgcolor.get_truecolor().red == 255


def test_without_colour_a_picture_is_characters() -> None:
    grey = Grey(4, 4, bytes([0] * 8 + [255] * 8))
    lines = half_blocks(grey, 4, 2, colour=False)
    assert [line.text for line in lines] == ["    ", "@@@@"]
    assert all(segment.style is None for line in lines for segment in line)


def test_without_colour_nothing_is_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def script(chat: Chat) -> None:
        for turn in (samples.TABLE, samples.DECLINED):
            await chat.answer(turn, samples.ROWS)
        await chat.answer(samples.IMAGE, samples.IMAGES)
        await chat.pilot.pause()
        picture = chat.app.export_screenshot()
        colours = set(re.findall(r'fill(?:: |=")(#\w+)', picture))
        assert colours <= WINDOW | DEFAULT
        assert "@" in chat.text  # the picture is still one

    chat(script, (160, 50))


def test_an_image_file_is_loaded_small(tmp_path: Path) -> None:
    from PIL import Image

    Image.linear_gradient("L").resize((3000, 2000)).save(tmp_path / "film.png")
    grey = load(tmp_path / "film.png")
    assert max(grey.width, grey.height) <= 1024 and len(grey.pixels) == grey.width * grey.height


@pytest.mark.parametrize(
    ("environ", "promises"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM": "foot"}, True),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "tmux-256color", "TERM_PROGRAM": "tmux"}, False),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, False),
        ({}, False),
    ],
)
def test_only_terminals_that_promise_graphics_are_asked(
    environ: dict[str, str], promises: bool
) -> None:
    assert graphics.promised(environ) is promises


def test_a_terminal_with_graphics_gets_its_own_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    from textual_image.widget import TGPImage

    picture = samples.IMAGES.images[0].picture
    assert isinstance(drawn(picture), HalfBlocks)
    monkeypatch.setattr(graphics, "_found", [TGPImage])
    widget = drawn(picture)
    assert isinstance(widget, TGPImage) and widget.image is not None


def test_sparklines() -> None:
    assert show.sparkline(()) == ""
    assert show.sparkline((1.0, 1.0)) == "▄▄"
    assert show.sparkline((0.0, 7.0, 3.5)) == "▁█▅"


@pytest.mark.parametrize("width", [10, 40, 60, 80, 120])
def test_the_header_fits(width: int) -> None:
    line = header("d" * 8, 10018081, samples.ABOUT, width)
    assert cell_len(line.plain) <= width or width < 10
    assert line.plain.startswith("d" * 8)


def test_bytes_that_are_no_utf8_do_not_end_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    from textual.drivers import linux_driver

    from ehrqa_cli.tui.driver import tolerate_bytes

    monkeypatch.setattr(linux_driver, "getincrementaldecoder", codecs.getincrementaldecoder)
    tolerate_bytes()
    decode = linux_driver.getincrementaldecoder("utf-8")().decode  # type: ignore[attr-defined]
    assert decode(b"a\xff\xc3") == "a\ufffd" and decode(b"\xa9") == "é"
