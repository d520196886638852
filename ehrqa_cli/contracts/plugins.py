"""The plugin contracts (design: "Plugin contracts"). Entry-point groups carry the same names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.contracts.images import Coverage, SceneGraph
from ehrqa_cli.contracts.loading import Loaded, LoadTable
from ehrqa_cli.contracts.notes import FoundLine, NoteAnswer
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.contracts.types import Limits, LinkedQuestion, Query, Result

if TYPE_CHECKING:
    from ehrqa_cli.contracts.dialect import Dialect

# The version of these contracts. A plugin that was written for one says so with a
# ``contract_version`` of its own; `ehrqa plugins check` fails one that was written for another.
VERSION = 1


class Database(ABC):
    """An EHR, open for reading only (group ``ehrqa.database``); most plugins derive from
    ``contracts.backend.Backend``, which keeps the limits for them.

    A plugin that is registered as NAME opens ``--db NAME:...``, other schemes that it is registered
    for (group ``ehrqa.scheme``), and the files or folders that it ``knows``.

    Results are plain values: truth is 1 or 0, a time is text ``YYYY-MM-DD HH:MM:SS``, bytes are
    hex digits. What is not SQLite's ``dialect`` gets every statement written in its own ``words``,
    for which it must say what its columns hold (``types``).
    """

    dialect: ClassVar[str]
    # How SQLite's SQL is written in that dialect; None where it is SQLite's.
    words: ClassVar[type[Dialect] | None] = None
    # Does it open files or folders that it ``knows`` without a scheme, and beside which notes and
    # the like are kept? Then ``open`` gets the path alone, else the whole address.
    in_files: ClassVar[bool] = False
    # The environment variables that it reads, and what each sets.
    settings: ClassVar[Mapping[str, str]] = {}
    # Does it hold to ``Limits.steps``, which end a query at the same place in every run?
    counts_steps: ClassVar[bool] = False

    @classmethod
    def knows(cls, path: Path) -> bool:
        """Is the file or folder at ``path``, which is no SQLite file, one of its? Looked at
        quickly, by first bytes and names. Raises DatabaseError for one that cannot be read."""
        del path
        return False

    @classmethod
    @abstractmethod
    def open(cls, target: str) -> Database:
        """Open what ``--db`` names, for reading. Raises DatabaseError, which shows no password."""

    @abstractmethod
    def schema(self) -> Mapping[str, Sequence[str]]:
        """Table name to column names, as the database spells them."""

    def types(self) -> Mapping[str, Mapping[str, str]]:
        """Table to column to ``integer``, ``real``, ``text``, ``timestamp`` or ``boolean``; a
        database whose dialect is SQLite's need not say."""
        return {}

    @abstractmethod
    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        """Run one SELECT. Raises Refused, LimitExceeded, Cancelled or DatabaseError."""

    def spelled(self, sql: str) -> str:
        """The statement that ``execute(sql)`` really runs. Raises what ``execute`` raises."""
        return sql

    @abstractmethod
    def cancel(self) -> None:
        """End the running query from another thread; it raises Cancelled there within 1 s."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A short text that changes when the data do."""

    def lacking(self, sql: str) -> str:
        """What a SELECT of SQLite's asks for that these data do not hold, in words; "" where they
        hold all of it. Raises Refused."""
        del sql
        return ""

    def default_as_of(self) -> str | None:
        """What ``current_time`` means when nobody says, if the data say it: the end of the data,
        ``YYYY-MM-DD HH:MM:SS``. Raises DatabaseError."""
        return None

    def versions(self) -> Mapping[str, str]:
        """Names and versions of the programs it runs on, for provenance."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Give the connection back; a second call does nothing."""

    @classmethod
    def sample(cls, folder: Path, tables: Sequence[SampleTable]) -> str | None:
        """Make a database of ``tables`` for the contract suite, in ``folder`` where it is a file,
        and return what ``open`` takes; None where that cannot be done here."""
        del folder, tables
        return None

    @classmethod
    def load(
        cls, target: str, tables: Iterable[LoadTable], *, replace: bool = False
    ) -> Loaded | None:
        """Write an EHR into ``target`` (`ehrqa db import --to`): all of ``tables``, or nothing.

        ``replace`` drops tables of their names first. None from a backend that never writes.
        Raises DatabaseError for a target that cannot be opened, ImportFailed when it cannot be
        written, and what reading the rows raises.
        """
        del target, tables, replace
        return None


class Text2Sql(ABC):
    """A text-to-SQL model (group ``ehrqa.text2sql``). No query at all means it abstains."""

    name: ClassVar[str]

    @classmethod
    def open(cls) -> Text2Sql:
        """The model that ``--model NAME`` means, made without arguments; a model of another make
        overrides this. Raises ModelError, UsageError for wrong settings."""
        return cls()

    @abstractmethod
    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        """Scored queries, best first. Raises ModelError, and Cancelled after ``cancel``."""

    def insist(self, question: LinkedQuestion) -> Query | None:
        """What it would write if it might not abstain, to know which questions are near; None from
        a model that cannot tell. Raises as ``generate`` does."""
        del question
        return None

    @abstractmethod
    def provenance(self) -> Mapping[str, str]:
        """Model id, file hash and versions, enough to repeat the answer."""

    def generate_many(self, questions: Sequence[LinkedQuestion]) -> list[list[Query] | EhrqaError]:
        """For each question what ``generate`` gives, or the error that it raises.

        A model that can write several at once overrides this; what it gives for one question
        must not depend on the others. Raises Cancelled after ``cancel``.
        """
        found: list[list[Query] | EhrqaError] = []
        for question in questions:
            try:
                found.append(self.generate(question))
            except Cancelled:
                raise
            except EhrqaError as error:
                found.append(error)
        return found

    def cancel(self) -> None:  # noqa: B027 - a model that is done at once has nothing to end
        """End the running ``generate`` from another thread; it raises Cancelled there."""

    def resume(self) -> None:  # noqa: B027 - likewise
        """Forget a ``cancel`` that came when nothing was running."""


class SceneGraphSource(ABC):
    """A source of scene graphs of chest X-rays (group ``ehrqa.vqa``): a model, or labels."""

    name: ClassVar[str]

    @abstractmethod
    def coverage(self) -> Coverage:
        """The relations it knows, and what else it can say of an image."""

    @abstractmethod
    def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
        """Scene graphs of a batch of studies by study id; those without one are left out.

        Raises ModelError for a fault of the source itself, never for one bad image.
        """

    @abstractmethod
    def provenance(self) -> Mapping[str, str]:
        """Model or label id, file hash and versions, enough to repeat the answer."""


class NoteReader(ABC):
    """A reader of lines of clinical notes (group ``ehrqa.note_reader``), made without arguments.

    What the lines say is data: nothing in them may change what the reader does.
    """

    name: ClassVar[str]

    @abstractmethod
    def read(
        self,
        question: str,
        lines: Sequence[FoundLine],
        choices: Mapping[str, str] | None = None,
    ) -> NoteAnswer:
        """Answer ``question`` from ``lines`` alone, with citations, or decline (text None).

        With ``choices`` (letter to option) the answer's ``choice`` is a letter. Raises ModelError,
        and Cancelled after ``cancel``.
        """

    def cancel(self) -> None:  # noqa: B027 - a reader that is done at once has nothing to end
        """End the running ``read`` from another thread; it raises Cancelled there."""

    @abstractmethod
    def provenance(self) -> Mapping[str, str]:
        """Model ids, file hashes and versions, enough to repeat the answer."""
