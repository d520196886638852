"""The README of a prepared folder: what is in it and how it came about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ehrqa_cli.sets.making import card as cards


def readme(card: Mapping[str, Any]) -> str:
    """The text, from the card."""
    return "\n".join(_lines(card))


def _lines(card: Mapping[str, Any]) -> Iterator[str]:
    settings = card["settings"]
    yield "# An EHR prepared for question sets"
    yield ""
    yield (
        f"Made by ehrqa {settings['ehrqa']} from {settings['source']}, seed {settings['seed']}; "
        f"now is {card['now']}."
    )
    yield ""
    yield "It holds patients' records, moved in time and not anonymised: keep it where they may be."
    yield ""
    for name, about in card["databases"].items():
        yield f"## {name}: {about['kind']}"
        yield ""
        yield f"    ehrqa build questions --db {name}/ehr.sqlite --splits splits.tsv --out DIR"
        if about["labels"]:
            yield f"    ehrqa build vqa --scene-graphs {name}/labels --splits splits.tsv --out DIR"
        yield ""
        yield cards.table(about["patients"], "step", "patients")
        yield cards.table(about["rows"], "table", "rows")
        dropped = {
            f"{table}: {why}": n
            for table, r in about["rows_dropped"].items()
            for why, n in r.items()
        }
        if dropped:
            yield cards.table(dropped, "left out", "rows")
        yield cards.table(about["checks"], "check", "rows")
    if card["images"]:
        yield cards.table(card["images"], "images", "images")
    yield cards.table(card["patients_by_split"], "split", "patients")
