"""``openai`` of the groups ``ehrqa.text2sql``, ``ehrqa.note_reader`` and ``ehrqa.judge``."""

from __future__ import annotations

from ehrqa_openai.judge import OpenAiJudge
from ehrqa_openai.note_reader import OpenAiNoteReader
from ehrqa_openai.text2sql import OpenAiText2Sql

__all__ = ["OpenAiJudge", "OpenAiNoteReader", "OpenAiText2Sql"]
