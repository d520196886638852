"""The question templates: complete, well formed, and every wording says what its form does."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

from ehrqa_cli.sets.pairs.slots import canonical
from ehrqa_cli.sets.pairs.templates import Template, load_library
from ehrqa_cli.sets.pairs.wording import expand

LIBRARY = load_library()
TABLE = LIBRARY.families["table"]


def expansions(template: Template, times: int) -> list[tuple[str, set[str]]]:
    """Random readings of all wordings: the text with its slots' names, and their set."""
    rng = random.Random(5)
    find = LIBRARY.phrases.lookup(template.words)
    found = []
    for node in template.wordings:
        for _ in range(times):
            pieces = [(canonical(t) if s else t, s) for t, s in expand(node, rng, find)]
            text = "".join("{" + t + "}" if s else t for t, s in pieces)
            found.append((" ".join(text.split()), {t for t, s in pieces if s}))
    return found


def test_every_published_table_template_has_an_entry(shared_data: Path) -> None:
    with (shared_data / "ehrxqa" / "templates.tsv").open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row]
    published = {row[-1] for row in rows if row[0] == "table"}
    assert len(published) == 174
    assert {template.text for template in TABLE} == published


def test_no_template_is_given_twice() -> None:
    assert len({template.text for template in TABLE}) == len(TABLE) == 174


@pytest.mark.parametrize("family", ["table", "compose"])
def test_a_wording_has_exactly_the_slots_of_its_form(family: str) -> None:
    for template in LIBRARY.families[family]:
        needed = {name.partition(":")[0] for name in template.slots}
        for text, slots in expansions(template, 15):
            assert slots == needed, f"{template.text}: {text}"


def test_every_table_template_has_many_wordings() -> None:
    skeletons = {t.text: {text for text, _ in expansions(t, 40)} for t in TABLE}
    fewest = min(skeletons, key=lambda text: len(skeletons[text]))
    assert len(skeletons[fewest]) >= 100, fewest
    assert len(set().union(*skeletons.values())) >= 12_000


def test_unanswerable_families_are_many() -> None:
    families = LIBRARY.families["unanswerable"]
    assert len(families) >= 100
    assert len({template.text for template in families}) == len(families)
    assert all(template.pieces == (("abstain", False),) for template in families)
