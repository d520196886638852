"""The card of a vision model: what goes in, what comes out, and what its outputs stand for.

A card is a JSON file beside an ONNX file (docs/vqa.md has all its fields). Any classifier of
chest X-rays can be used through one; nothing of our own model is known here.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.images import ANYWHERE, Relation
from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, OBJECTS

FITS = ("stretch", "pad", "crop")
ACTIVATIONS = ("sigmoid", "none")
MASKS = ("heart", "left_lung", "right_lung")


@dataclass(frozen=True)
class Input:
    """``size`` is (height, width); the input is (pixels * scale - mean) / std, NCHW."""

    name: str
    size: tuple[int, int]
    channels: int
    scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]
    fit: str


@dataclass(frozen=True)
class Label:
    """One finding: its calibration, where it counts as present, and the relations it stands for.

    Between ``no_below`` and ``threshold`` neither presence nor absence is said. ``ratio`` times
    what the cardiothoracic ratio has above a half is added to the logit; then nothing is said
    without a ratio to be believed.
    """

    name: str
    temperature: float
    bias: float
    threshold: float
    no_below: float | None
    relations: tuple[Relation, ...]
    ratio: float = 0.0


@dataclass(frozen=True)
class Findings:
    """An output of shape (N, labels)."""

    output: str
    activation: str
    labels: tuple[Label, ...]


@dataclass(frozen=True)
class Binary:
    """View or sex: column ``index`` of an output is the logit (or probability) of ``positive``.

    Between ``no_below`` and ``threshold`` neither is said.
    """

    output: str
    activation: str
    index: int
    positive: str
    temperature: float
    bias: float
    threshold: float
    no_below: float | None = None

    def is_told(self, p: float) -> bool:
        """Is ``p``, of ``positive``, sure enough to say which it is? NaN is not."""
        return p >= self.threshold or p < (
            self.threshold if self.no_below is None else self.no_below
        )


@dataclass(frozen=True)
class Masks:
    """An output of shape (N, labels, h, w). A cardiothoracic ratio within ``margin`` of the limit
    that is asked about is not told."""

    output: str
    activation: str
    labels: tuple[str, ...]
    threshold: float
    margin: float = 0.0


@dataclass(frozen=True)
class Outlier:
    """An output of one number for each image, larger is stranger; above ``limit`` it is no X-ray
    of the kind that the model knows."""

    output: str
    limit: float


@dataclass(frozen=True)
class Card:
    """A card that was read and checked; ``digest`` changes with every byte of it."""

    path: Path
    name: str
    file: Path
    sha256: str
    digest: str
    input: Input
    findings: Findings | None = None
    view: Binary | None = None
    sex: Binary | None = None
    masks: Masks | None = None
    heat: str | None = None
    outlier: Outlier | None = None
    validated: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """32 hex digits that name the model and its card, for caches."""
        return hashlib.sha256(f"{self.sha256}:{self.digest}".encode()).hexdigest()[:32]

    @property
    def labels(self) -> tuple[Label, ...]:
        """The findings' labels; none without a section of findings."""
        return self.findings.labels if self.findings else ()


def load(path: Path) -> Card:
    """Read the card at ``path``, or ``card.json`` in that folder. Raises UsageError."""
    path = path / "card.json" if path.is_dir() else path
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read the card {path}: {error.strerror}", "name a card.json with --vision"
        ) from None
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}", "mend it; see docs/vqa.md") from None
    root = _Part(path, "", data)
    optional = {
        name: read(root.part(name))
        for name, read in _SECTIONS.items()
        if root.data.get(name) is not None
    }
    if not set(optional) - {"outlier", "heat"}:
        raise root.wrong("findings", "is missing: a model must say something of an image")
    if "masks" not in optional and any(one.ratio for one in _labels(optional)):
        raise root.wrong("findings.labels", "name a ratio, which needs masks")
    return Card(
        path=path,
        name=root.text("name"),
        file=path.parent / root.text("file"),
        sha256=root.text("sha256").lower(),
        digest=hashlib.sha256(raw).hexdigest(),
        input=_input(root.part("input")),
        validated=_validated(root),
        **optional,
    )


def _labels(sections: Mapping[str, Any]) -> tuple[Label, ...]:
    return sections["findings"].labels if "findings" in sections else ()


class _Part:
    """A part of a card, whose fields are read by type; what is wrong is a UsageError."""

    def __init__(self, path: Path, where: str, data: Any) -> None:
        self.path, self.where = path, where
        if not isinstance(data, Mapping):
            raise UsageError(f"{path}: {where or 'the card'} is not an object", _SEE)
        self.data = data

    def wrong(self, key: str, what: str) -> UsageError:
        """An error that names the field."""
        field = f"{self.where}.{key}" if self.where else key
        return UsageError(f"{self.path}: {field} {what}", _SEE)

    def part(self, key: str) -> _Part:
        """An object."""
        if key not in self.data:
            raise self.wrong(key, "is missing")
        return _Part(self.path, f"{self.where}.{key}" if self.where else key, self.data[key])

    def parts(self, key: str) -> list[_Part]:
        """A list of objects that is not empty."""
        value = self.data.get(key)
        if not isinstance(value, list) or not value:
            raise self.wrong(key, "must be a list of objects")
        base = f"{self.where}.{key}" if self.where else key
        return [_Part(self.path, f"{base}[{k}]", item) for k, item in enumerate(value)]

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty."""
        value = self.data.get(key, default)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, f"must be a text, not {value!r}")
        return value

    def choice(self, key: str, known: tuple[str, ...], default: str | None = None) -> str:
        """One of some texts."""
        value = self.text(key, default)
        if value not in known:
            raise self.wrong(key, f"must be one of {', '.join(known)}, not '{value}'")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number."""
        value = self.data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, f"must be a number, not {value!r}")
        try:
            found = float(value)
        except OverflowError:
            found = math.inf
        if not math.isfinite(found):
            raise self.wrong(key, "must be finite")
        return found

    def share(self, key: str, default: float | None = None) -> float:
        """A number from 0 to 1."""
        value = self.number(key, default)
        if not 0 <= value <= 1:
            raise self.wrong(key, f"must lie between 0 and 1, not {value:g}")
        return value

    def above_zero(self, key: str, default: float | None = None) -> float:
        """A number above 0."""
        value = self.number(key, default)
        if value <= 0:
            raise self.wrong(key, f"must be above 0, not {value:g}")
        return value

    def numbers(self, key: str, count: int, default: float) -> tuple[float, ...]:
        """A number for each channel; one stands for all."""
        value = self.data.get(key, [default])
        values = value if isinstance(value, list) else [value]
        if len(values) not in (1, count):
            raise self.wrong(key, f"must be {count} numbers")
        checked = [_Part(self.path, self.where, {key: v}).number(key) for v in values]
        return tuple(checked * count if len(checked) == 1 else checked)


_SEE = "docs/vqa.md describes a card"


def _input(part: _Part) -> Input:
    size = part.data.get("size")
    if (
        not isinstance(size, list)
        or len(size) != 2
        or not all(isinstance(n, int) and not isinstance(n, bool) and 8 <= n <= 4096 for n in size)
    ):
        raise part.wrong("size", "must be [height, width], each from 8 to 4096")
    channels = part.number("channels", 1)
    if channels not in (1, 3):
        raise part.wrong("channels", f"must be 1 or 3, not {channels:g}")
    std = part.numbers("std", int(channels), 1.0)
    if not all(std):
        raise part.wrong("std", "must not be 0")
    return Input(
        name=part.text("name", "image"),
        size=(size[0], size[1]),
        channels=int(channels),
        scale=part.number("scale", 1.0),
        mean=part.numbers("mean", int(channels), 0.0),
        std=std,
        fit=part.choice("fit", FITS, "stretch"),
    )


def _findings(part: _Part) -> Findings:
    labels = tuple(_label(item) for item in part.parts("labels"))
    names = [label.name for label in labels]
    if len(set(names)) < len(names):
        raise part.wrong("labels", "name a finding twice")
    return Findings(part.text("output"), part.choice("activation", ACTIVATIONS, "sigmoid"), labels)


def _label(part: _Part) -> Label:
    threshold, no_below = _limits(part)
    relations = part.data.get("relations", [])
    if not isinstance(relations, list):
        raise part.wrong("relations", "must be a list of [object, attribute]")
    return Label(
        name=part.text("name"),
        temperature=part.above_zero("temperature", 1.0),
        bias=part.number("bias", 0.0),
        threshold=threshold,
        no_below=no_below,
        relations=tuple(_relation(part, pair) for pair in relations),
        ratio=part.number("ratio", 0.0),
    )


def _limits(part: _Part) -> tuple[float, float | None]:
    """``threshold`` and ``no_below`` of a label, a view or a sex."""
    threshold = part.share("threshold", 0.5)
    if part.data.get("no_below") is None:
        return threshold, None
    no_below = part.share("no_below")
    if no_below > threshold:
        raise part.wrong("no_below", "must not be above the threshold")
    return threshold, no_below


def _relation(part: _Part, pair: Any) -> Relation:
    if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(t, str) for t in pair)):
        raise part.wrong("relations", f"must be [object, attribute] each, not {pair!r}")
    place, name = pair
    for text, known in ((place, {ANYWHERE, *OBJECTS}), (name, set(ATTRIBUTES))):
        if text not in known:
            near = get_close_matches(text, known, n=1)
            raise part.wrong(
                "relations",
                f"has '{text}', which is not in the vocabulary"
                + (f"; did you mean '{near[0]}'?" if near else ""),
            )
    return place, name


def _binary(options: tuple[str, str], part: _Part) -> Binary:
    index = part.number("index", 0)
    if index < 0 or index != int(index):
        raise part.wrong("index", "must be a whole number from 0")
    threshold, no_below = _limits(part)
    return Binary(
        output=part.text("output"),
        activation=part.choice("activation", ACTIVATIONS, "sigmoid"),
        index=int(index),
        positive=part.choice("positive", options, options[0]),
        temperature=part.above_zero("temperature", 1.0),
        bias=part.number("bias", 0.0),
        threshold=threshold,
        no_below=no_below,
    )


def _masks(part: _Part) -> Masks:
    labels = part.data.get("labels")
    if not isinstance(labels, list) or sorted(map(str, labels)) != sorted(MASKS):
        raise part.wrong("labels", f"must be {', '.join(MASKS)}, in the order of the output")
    return Masks(
        output=part.text("output"),
        activation=part.choice("activation", ACTIVATIONS, "sigmoid"),
        labels=tuple(labels),
        threshold=part.share("threshold", 0.5),
        margin=part.number("margin", 0.0),
    )


def _outlier(part: _Part) -> Outlier:
    return Outlier(part.text("output"), part.number("limit"))


_SECTIONS: dict[str, Any] = {
    "findings": _findings,
    "view": lambda part: _binary(("PA", "AP"), part),
    "sex": lambda part: _binary(("F", "M"), part),
    "masks": _masks,
    "heat": lambda part: part.text("output"),
    "outlier": _outlier,
}


def _validated(root: _Part) -> frozenset[str]:
    known = ("view", "sex", "heart", "mediastinum")
    if root.data.get("validated") is None:
        return frozenset()
    part = root.part("validated")
    for name, value in part.data.items():
        if name not in known or not isinstance(value, bool):
            raise part.wrong(name, f"must be true or false, of one of {', '.join(known)}")
    return frozenset(name for name, value in part.data.items() if value)
