"""Cards: what is read, and that whatever is wrong is named."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.vqa.model import card

from .films import CARD, FIXTURES, PLAIN


def changed(tmp_path: Path, path: str, value: Any) -> Path:
    """The fixture's card with one field changed (path: keys and numbers joined by dots)."""
    data = json.loads(CARD.read_text())
    here: Any = data
    *keys, last = [int(k) if k.isdigit() else k for k in path.split(".")]
    for key in keys:
        here = here[key]
    if value is None:
        del here[last]
    else:
        here[last] = value
    made = tmp_path / "card.json"
    made.write_text(json.dumps(data))
    return made


def test_a_whole_card():
    found = card.load(CARD)
    assert (found.name, found.file) == ("fixture", FIXTURES / "vision.onnx")
    assert [label.name for label in found.labels] == ["Effusion", "Mass", "Nodule", "Hernia"]
    assert found.labels[0].relations == (
        ("", "pleural effusion"),
        ("left lung", "pleural effusion"),
    )
    assert found.validated == {"view", "sex", "heart"}
    assert found.sex is not None and (found.sex.index, found.sex.positive) == (1, "F")
    assert card.load(FIXTURES) == found


def test_a_plain_classifier_has_findings_only():
    found = card.load(PLAIN)
    assert (found.view, found.masks, found.heat, found.outlier) == (None,) * 4
    assert found.input.mean == (0.0, 0.5, 0.2)


def test_the_key_changes_with_the_card_and_with_the_model(tmp_path: Path):
    first = card.load(CARD).key
    assert card.load(changed(tmp_path, "findings.labels.0.threshold", 0.4)).key != first
    assert card.load(changed(tmp_path, "sha256", "0" * 64)).key != first


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("name", None, "name must be a text"),
        ("sha256", 5, "sha256 must be a text"),
        ("input", None, "input is missing"),
        ("input.size", [16], "input.size must be"),
        ("input.size", [16, 99999], "input.size must be"),
        ("input.channels", 2, "input.channels must be 1 or 3"),
        ("input.fit", "squash", "input.fit must be one of stretch, pad, crop"),
        ("input.std", [0.0], "input.std must not be 0"),
        ("input.mean", [0.1, 0.2, 0.3], "input.mean must be 1 numbers"),
        ("findings.labels", [], "findings.labels must be a list"),
        ("findings.labels.1.name", "Effusion", "name a finding twice"),
        ("findings.labels.2.threshold", 1.5, r"findings.labels\[2\].threshold must lie between"),
        ("findings.labels.2.temperature", 0, "temperature must be above 0"),
        ("findings.labels.2.no_below", 0.9, "no_below must not be above"),
        ("findings.labels.0.relations", [["lung"]], r"relations must be \[object, attribute\]"),
        ("findings.labels.0.relations", [["", "plural effusion"]], "'pleural effusion'"),
        ("findings.labels.0.relations", [["left lungs", "pneumonia"]], "'left lung'"),
        ("view.positive", "lateral", "view.positive must be one of PA, AP"),
        ("view.no_below", 0.9, "view.no_below must not be above"),
        pytest.param("findings.labels.0.bias", 10**400, "bias must be finite", id="overflow"),
        ("findings.labels.0.ratio", "wide", "ratio must be a number"),
        ("sex.index", 0.5, "sex.index must be a whole number"),
        ("masks.labels", ["heart"], "masks.labels must be heart"),
        ("outlier.limit", "high", "outlier.limit must be a number"),
        ("validated.heart", "yes", "validated.heart must be true or false"),
        ("validated.spine", True, "validated.spine must be"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, path: str, value: Any, said: str):
    with pytest.raises(UsageError, match=said) as raised:
        card.load(changed(tmp_path, path, value))
    assert str(tmp_path) in raised.value.message and raised.value.hint


def test_files_that_are_no_cards(tmp_path: Path):
    with pytest.raises(UsageError, match="cannot read the card"):
        card.load(tmp_path / "none.json")
    (tmp_path / "card.json").write_text("{")
    with pytest.raises(UsageError, match="is not JSON"):
        card.load(tmp_path)
    (tmp_path / "card.json").write_text("[1]")
    with pytest.raises(UsageError, match="is not an object"):
        card.load(tmp_path)
    only = {"name": "x", "file": "y", "sha256": "z", "input": {"size": [16, 16]}}
    (tmp_path / "card.json").write_text(json.dumps(only))
    with pytest.raises(UsageError, match="must say something"):
        card.load(tmp_path)


def test_a_ratio_needs_masks(tmp_path: Path):
    path = changed(tmp_path, "findings.labels.0.ratio", 5.0)
    card.load(path)
    data = json.loads(path.read_text())
    del data["masks"]
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match="a ratio, which needs masks"):
        card.load(path)


ODD = (
    None,
    True,
    -1,
    0,
    10**400,
    1e308,
    -1e308,
    "",
    "x",
    [],
    {},
    [[]],
    ["", ""],
    "\ud800",
    [1] * 9,
)


def scrambled(rng: random.Random, node: Any) -> None:
    """Put something odd into one place of a card, or take it out."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = rng.choice(keys)
        if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.8:
            node = node[key]
        elif rng.random() < 0.2:
            del node[key]
            return
        else:
            node[key] = rng.choice(ODD)
            return


@pytest.mark.parametrize("seed", range(5))
def test_a_scrambled_card_is_a_card_or_an_error_of_one_line(tmp_path: Path, seed: int):
    rng = random.Random(seed)
    path, whole = tmp_path / "card.json", CARD.read_bytes()
    for number in range(200):
        data = bytearray(whole)
        if number % 2:
            raw = json.loads(whole)
            for _ in range(rng.randint(1, 3)):
                scrambled(rng, raw)
            data = bytearray(json.dumps(raw).encode())
        else:
            for _ in range(rng.randint(1, 8)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data)
        try:
            card.load(path)
        except UsageError as error:
            assert error.hint and "\n" not in error.message


def test_a_card_nested_without_end(tmp_path: Path):
    path = tmp_path / "card.json"
    path.write_text("[" * 100_000)
    with pytest.raises(UsageError, match="is not JSON"):
        card.load(path)
