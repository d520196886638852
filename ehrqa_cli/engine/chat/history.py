"""Conversations written down, in a file that only its owner can read, beside the answer log.

It is off and purged with the answer log (store.py). A turn is kept with its whole answer, so that
a conversation taken up again shows what it showed.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ehrqa_cli import config, sqlitefile
from ehrqa_cli.contracts.types import Question
from ehrqa_cli.engine.chat.values import TITLE, Turn
from ehrqa_cli.store import LogError, PrivateFile, answer_from, answer_record

if TYPE_CHECKING:
    from ehrqa_cli.sqlitefile import Database

FILE = "chats.db"
_WAIT = 2.0  # seconds for another chat that writes
_WORDS = re.compile(r"\w+")

# No id of a conversation or a turn is ever given to another.
_TABLES = """
CREATE TABLE chat (
    id INTEGER PRIMARY KEY AUTOINCREMENT, started_at TEXT NOT NULL, title TEXT NOT NULL,
    database TEXT NOT NULL, patient_id INTEGER, as_of TEXT);
CREATE TABLE turn (
    id INTEGER PRIMARY KEY AUTOINCREMENT, chat INTEGER NOT NULL, number INTEGER NOT NULL,
    at TEXT NOT NULL, typed TEXT NOT NULL, asked TEXT NOT NULL, kind TEXT NOT NULL,
    patient_id INTEGER, text TEXT NOT NULL, record TEXT NOT NULL);
"""


def _tables(db: Database) -> None:
    db.executescript(_TABLES)
    db.table("turn").create_index(("chat", "id"), "turn_chat")


def _words(db: Database) -> None:
    """The words of turns, which triggers keep up; they were a copy, in version 1."""
    db.table("words").drop(ignore=True)
    words = ("typed", "asked", "text")
    db.table("turn").enable_fts(words, create_triggers=True, tokenize="unicode61")


_STEPS = (_tables, _words)


@dataclass(frozen=True)
class ChatInfo:
    """One conversation of the history. ``started_at`` is UTC; ``turns`` is how many it has."""

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
class ChatHistory(PrivateFile):
    """The conversations kept at ``path``. Every method raises LogError with the next step."""

    what: ClassVar[str] = "history of conversations"

    def add(
        self, chat_id: int | None, turn: Turn, *, database: str = "", as_of: str | None = None
    ) -> int:
        """Keep one turn; the id of its conversation, a new one where there is none (any more)."""
        with self._open("write", create=True) as connection:
            where = (database, turn.patient_id, as_of)
            if chat_id is None or not self._has(connection, chat_id):
                cursor = connection.execute(
                    "INSERT INTO chat (database, patient_id, as_of, started_at, title)"
                    " VALUES (?, ?, ?, ?, ?)",
                    (*map(_stored, where), turn.at, _stored(turn.typed[:TITLE])),
                )
                chat_id = int(cursor.lastrowid or 0)
            else:
                connection.execute(
                    "UPDATE chat SET database = ?, patient_id = ?, as_of = ? WHERE id = ?",
                    (*map(_stored, where), chat_id),
                )
            self._insert(connection, chat_id, turn)
        return chat_id

    def chats(self, limit: int = 50) -> list[ChatInfo]:
        """The conversations, the one spoken in last first."""
        return self._infos("GROUP BY chat.id ORDER BY max(turn.id) DESC LIMIT ?", limit)

    def info(self, chat_id: int) -> ChatInfo:
        """One conversation."""
        found = self._infos("WHERE chat.id = ? GROUP BY chat.id", chat_id)
        if not found:
            raise _no_chat(chat_id)
        return found[0]

    def search(self, words: str, limit: int = 50) -> list[Found]:
        """The turns that have all these words, or words that begin so, best first."""
        match = " ".join(f'"{word}"*' for word in _WORDS.findall(words))
        if not match or not self.path.exists():
            return []
        with self._open("search") as connection:
            rows = connection.execute(
                "SELECT chat, number, turn.typed, turn.text, at FROM turn_fts"
                " JOIN turn ON turn.id = turn_fts.rowid WHERE turn_fts MATCH ?"
                " ORDER BY rank LIMIT ?",
                (match, limit),
            ).fetchall()
        return [Found(*row) for row in rows]

    def turns(self, chat_id: int) -> list[Turn]:
        """The turns of one conversation, with their answers."""
        if not self.path.exists():
            raise _no_chat(chat_id)
        with self._open("read") as connection:
            rows = connection.execute(
                "SELECT number, typed, asked, patient_id, kind, at, record FROM turn"
                " WHERE chat = ? ORDER BY id",
                (chat_id,),
            ).fetchall()
        if not rows:
            raise _no_chat(chat_id)
        try:
            return [_turn(*row) for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.error("read", error) from error

    def forget(self, chat_id: int) -> None:
        """Delete one conversation; what it said is overwritten."""
        if not self.path.exists():
            return
        with self._open("write") as connection:
            connection.execute("DELETE FROM turn WHERE chat = ?", (chat_id,))
            connection.execute("DELETE FROM chat WHERE id = ?", (chat_id,))
            # Deleted words stay in the index until it is made again.
            sqlitefile.database(connection).table("turn").rebuild_fts()

    @contextmanager
    def _open(self, verb: str, create: bool = False) -> Iterator[sqlite3.Connection]:
        try:
            if create:
                self.make_private()
            with closing(sqlite3.connect(self.path, timeout=_WAIT)) as connection:
                connection.execute("PRAGMA secure_delete = ON")
                version = sqlitefile.version_of(connection)
                if version or create:
                    version = sqlitefile.upgrade(connection, _STEPS)
                if version != len(_STEPS):
                    raise LogError(
                        f"{self.path} is not a {self.what} of this version of ehrqa",
                        "delete it with `ehrqa log purge`, or move it away",
                    )
                with connection:
                    yield connection
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise self.error(verb, error) from error

    @staticmethod
    def _has(connection: sqlite3.Connection, chat_id: int) -> bool:
        sql = "SELECT 1 FROM chat WHERE id = ?"
        return connection.execute(sql, (chat_id,)).fetchone() is not None

    @staticmethod
    def _insert(connection: sqlite3.Connection, chat_id: int, turn: Turn) -> None:
        said = (_stored(turn.typed), _stored(turn.asked), _stored(turn.answer.text))
        row = (
            chat_id, turn.number, turn.at, said[0], said[1], turn.kind, turn.patient_id, said[2],
            _record(turn),
        )  # fmt: skip
        connection.execute(
            "INSERT INTO turn (chat, number, at, typed, asked, kind, patient_id, text, record)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )

    def _infos(self, where: str, value: int) -> list[ChatInfo]:
        if not self.path.exists():
            return []
        with self._open("read") as connection:
            rows = connection.execute(
                "SELECT chat.id, started_at, title, count(turn.id), database, chat.patient_id,"
                f" as_of FROM chat JOIN turn ON turn.chat = chat.id {where}",
                (value,),
            ).fetchall()
        return [ChatInfo(*row) for row in rows]


def chats_path(settings: config.Settings) -> Path:
    """Where the conversations are kept: beside the answer log."""
    return settings.log_path().with_name(FILE)


def history_of(log: bool = True) -> ChatHistory | None:
    """The history that the settings name; None when it is off, here or there."""
    settings = config.load()
    return ChatHistory(chats_path(settings)) if log and settings.log else None


def _no_chat(chat_id: int) -> LogError:
    return LogError(f"there is no conversation {chat_id}", "list them with /history")


def _stored(value: Any) -> Any:
    """Half a surrogate pair has no UTF-8, which is what SQLite keeps."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


def _record(turn: Turn) -> str:
    question = asdict(turn.answer.question)
    answer = answer_record(turn.answer)
    whole = {"question": question, "answer": answer, "carried": list(turn.carried)}
    return json.dumps(whole, default=str)


def _turn(
    number: int, typed: str, asked: str, patient_id: int | None, kind: str, at: str, record: str
) -> Turn:
    whole = json.loads(record)
    told = whole["question"]
    told["images"] = tuple(told["images"])
    told["choices"] = tuple((letter, text) for letter, text in told["choices"])
    answer = answer_from(whole["answer"], Question(**told))
    return Turn(number, typed, asked, answer, patient_id, tuple(whole["carried"]), kind, at)
