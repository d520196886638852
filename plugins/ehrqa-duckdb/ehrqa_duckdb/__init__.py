"""The plugin ``duckdb`` of the group ``ehrqa.database``."""

from __future__ import annotations

from ehrqa_duckdb.backend import DuckDbDatabase

__all__ = ["DuckDbDatabase"]
