"""Linking a question to the values of the database, before any model reads it."""

from ehrqa_cli.text2sql.linking.linker import Linker

__all__ = ["Linker"]
