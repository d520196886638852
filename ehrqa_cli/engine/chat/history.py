"""Conversations written down, in a file that only its owner can read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.engine.chat.values import Turn


@dataclass(frozen=True)
class ChatInfo:
    """One conversation of the history."""

    chat_id: int
    started_at: str
    title: str
    turns: int
    database: str
    patient_id: int | None
    as_of: str | None


@dataclass(frozen=True)
class Found:
    """One turn that a search found."""

    chat_id: int
    number: int
    question: str
    text: str
    at: str


@dataclass(frozen=True)
class ChatHistory:
    """The history at ``path``."""

    path: Path

    def add(
        self, chat_id: int | None, turn: Turn, *, database: str = "", as_of: str | None = None
    ) -> int:
        """Keep one turn; the id of its conversation."""
        raise NotImplementedError

    def chats(self, limit: int = 50) -> list[ChatInfo]:
        """The conversations, newest first."""
        raise NotImplementedError

    def info(self, chat_id: int) -> ChatInfo:
        """One conversation."""
        raise NotImplementedError

    def search(self, words: str, limit: int = 50) -> list[Found]:
        """Turns with these words."""
        raise NotImplementedError

    def turns(self, chat_id: int) -> list[Turn]:
        """The turns of one conversation."""
        raise NotImplementedError

    def forget(self, chat_id: int) -> None:
        """Delete one conversation."""
        raise NotImplementedError

    def purge(self) -> bool:
        """Delete all of it."""
        raise NotImplementedError


def history_of(log: bool = True) -> ChatHistory | None:
    """The history that the settings name; None when it is off."""
    return None
