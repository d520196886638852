"""A database that does not speak SQLite's dialect, seen as one that does.

Everything above writes SQLite's SQL; this writes each statement in the backend's own words right
before it runs, so that nothing above knows which database it is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from ehrqa_cli.contracts.errors import PluginError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.dialects import translate
from ehrqa_cli.ehr import schema as ehr_schema
from ehrqa_cli.ehr.backend.rewritten import Rewritten


class Translated(Rewritten):
    """``backend`` with every statement translated."""

    def __init__(self, backend: Database, name: str = "") -> None:
        """``name`` is what the user called it, for messages. Raises PluginError for a plugin of
        another dialect without ``words``."""
        super().__init__(backend, name)
        if backend.words is None:
            raise PluginError(
                f"the plugin for {self.name} does not say how SQL is written in {backend.dialect}",
                "its class needs `words`, a dialect of ehrqa_cli.contracts.dialect",
            )
        self._words = backend.words
        self._types = backend.types()

    def types(self) -> Mapping[str, Mapping[str, str]]:
        """What each column holds."""
        return self._types

    def spelled(self, sql: str) -> str:
        """The statement in the backend's dialect. Raises Refused or DatabaseError."""
        return self.rewritten(sql)

    def rewrite(self, sql: str, limits: Limits) -> str:
        """A checked statement in the backend's dialect. Raises Refused, LimitExceeded or
        DatabaseError."""
        deadline = time.monotonic() + limits.seconds
        return translate(sql, self._words, self._types, now=limits.now, deadline=deadline)

    def dated(self) -> Iterator[tuple[str, str]]:
        """(table, column) of what dates events."""
        present = {name.lower() for name in self.schema()}
        for name, table in ehr_schema.BY_NAME.items():
            if table.time is not None and name in present:
                yield name, table.time
