"""Singers and their concerts, as tables.json describes a database."""

from __future__ import annotations

from typing import Any

import pytest
from ehrqa_papers.spider.schemas import SpiderSchema, make_schema

ENTRY: dict[str, Any] = {
    "db_id": "shows",
    "table_names_original": ["Singer", "Concert", "Venue"],
    "column_names_original": [
        [-1, "*"],
        [0, "Singer_ID"],
        [0, "Name"],
        [0, "Age"],
        [1, "Concert_ID"],
        [1, "Singer_ID"],
        [1, "Year"],
        [1, "Venue_ID"],
        [2, "Venue_ID"],
        [2, "City"],
    ],
    "foreign_keys": [[5, 1], [7, 8]],
}


@pytest.fixture
def schema() -> SpiderSchema:
    return make_schema(ENTRY)
