"""`ehrqa chat --plain`, and what the screen shares with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ehrqa_cli.cli.answer_options import AnswerOptions
    from ehrqa_cli.engine.chat.controller import Controller
    from ehrqa_cli.engine.chat.worker import Report


def controller_of(options: AnswerOptions, report: Report) -> Controller:
    """The chat that these options ask for, not opened yet."""
    from ehrqa_cli.cli.chat.export import export_chat
    from ehrqa_cli.engine.chat.controller import Controller

    return Controller(
        options.session, report, export=export_chat, patient=options.patient, log=options.log
    )
