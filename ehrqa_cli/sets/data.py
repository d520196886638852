"""The one reader of the tables that sets are made from: templates, wordings and lists of words."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """What stands in ``sets/NAME.toml``, read once: nobody may change it. Raises
    FileNotFoundError for a name that no file has."""
    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))
