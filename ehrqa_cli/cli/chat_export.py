"""A conversation as a file: Markdown, HTML or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ehrqa_cli.engine.chat import Turn


def export_chat(path: Path, turns: Sequence[Turn], *, title: str = "", force: bool = False) -> Path:
    """Write the turns to ``path``."""
    raise NotImplementedError
