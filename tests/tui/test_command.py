"""`ehrqa chat` before there is a screen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.cli import main
from ehrqa_cli.cli.chat import plain as chat_plain
from ehrqa_cli.tui import command

from .harness import options


def test_without_a_terminal_it_talks_line_by_line(
    ehr: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[Any] = []
    monkeypatch.setattr(chat_plain, "plain_chat", lambda given: got.append(given) or 0)
    assert main.run(["chat", "--db", str(ehr), "--patient", "7"]) == 0
    assert main.run(["chat", "--db", str(ehr), "--plain"]) == 0
    assert [given.patient for given in got] == [7, None]


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_draw_has_no_screen(
    term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", term)
    assert not command.has_screen()
    monkeypatch.setenv("TERM", "xterm")
    assert command.has_screen()


def test_a_theme_that_there_is_not_is_a_usage_error(ehr: Path) -> None:
    with pytest.raises(command.UsageError, match="no theme 'pink'") as refused:
        command.run(options(ehr), "pink")
    assert "nord" in refused.value.hint


def test_help_says_how_to_leave(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["chat", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Ctrl-Q leaves" in shown and "--plain" in shown
