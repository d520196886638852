"""Text from a question, a note or an answer, as it may stand in a prompt: on one line, as data."""

from __future__ import annotations

import re

# What model servers read as the frame of a conversation even inside a message.
_FRAME = re.compile(r"<(?=[|/a-z｜])|\[(?=/?INST\])|(?<=[|｜])>", re.IGNORECASE)


def plain(text: str, most: int) -> str:
    """``text`` on one line of at most ``most`` characters, none of it a mark of a chat format."""
    shown = "".join(c if c.isprintable() else " " for c in text[: 4 * most])
    line = " ".join(_FRAME.sub(_apart, shown).split())
    return line[:most]


def _apart(mark: re.Match[str]) -> str:
    return f" {mark[0]}" if mark[0] == ">" else f"{mark[0]} "
