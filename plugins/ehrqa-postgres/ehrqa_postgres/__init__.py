"""The plugin ``postgres`` of the group ``ehrqa.database``."""

from __future__ import annotations

from ehrqa_postgres.backend import PostgresDatabase

__all__ = ["PostgresDatabase"]
