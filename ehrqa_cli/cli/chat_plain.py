"""``ehrqa chat --plain``: a conversation line by line."""

from __future__ import annotations

from ehrqa_cli.cli.options import AnswerOptions


def plain_chat(options: AnswerOptions) -> int:
    """Hold a conversation on stdin and stdout; the exit code."""
    raise NotImplementedError
