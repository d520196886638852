"""Films that several measurements here look at."""

from __future__ import annotations

import csv
from pathlib import Path


def valid_films(nih: Path) -> list[dict[str, str]]:
    """The labels of the validation films of NIH ChestX-ray14: labels.csv in the folder."""
    with (nih / "labels.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["split"] == "valid"]
