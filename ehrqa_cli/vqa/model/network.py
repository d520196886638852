"""A vision model at work: pictures in, what it sees of each out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.vqa.imaging.picture import Picture
from ehrqa_cli.vqa.model import card, fit
from ehrqa_cli.vqa.model.session import open_network

Floats = npt.NDArray[np.float32]
# Pictures in colour are no X-rays. Of 255: marks that a viewer burns into a grey picture bring it
# to about 3, a sepia film to 37, muted photographs to 28 and more (tests: test_run.py).
COLOUR_LIMIT = 8.0


@dataclass(frozen=True)
class Seen:
    """What a model says of one picture: probabilities of the card's labels, and maps over its
    input. ``strange`` says why the picture is none that the model knows; it is empty for others.
    """

    findings: Floats
    pa: float | None
    female: float | None
    masks: Floats | None
    heat: Floats | None
    distance: float | None
    strange: str
    where: fit.Frame
    size: tuple[int, int]

    @property
    def in_distribution(self) -> bool:
        """Does it look like what the model was trained on?"""
        return not self.strange


class VisionModel:
    """An ONNX model with its card. The network is opened when the first picture comes."""

    def __init__(
        self, spec: card.Card, *, threads: int | None = None, cuda: bool | None = None
    ) -> None:
        """``threads`` of the CPU [default: its physical cores]; ``cuda``: see open_network."""
        self.card = spec
        self._threads = threads
        self._cuda = cuda

    @classmethod
    def open(cls, path: Path, *, threads: int | None = None) -> VisionModel:
        """The model of the card at ``path``. Raises UsageError for a wrong card."""
        return cls(card.load(path), threads=threads)

    @cached_property
    def _network(self) -> tuple[Any, str]:
        found = open_network(
            self.card.file, self.card.sha256, threads=self._threads, cuda=self._cuda
        )
        self._check(found[0])
        return found

    @property
    def provider(self) -> str:
        """What it runs on, as onnxruntime calls it. Raises ModelError."""
        return self._network[1]

    def see(self, pictures: Sequence[Picture]) -> list[Seen]:
        """What it sees of each picture. Raises ModelError."""
        out: list[Seen] = []
        size = self._fixed or max(1, len(pictures))
        for start in range(0, len(pictures), size):
            out += self._see(pictures[start : start + size])
        return out

    def _see(self, pictures: Sequence[Picture]) -> list[Seen]:
        made = self._run(fit.batch(pictures, self.card.input))
        count, spec = len(pictures), self.card
        findings = self._findings(made, count)
        pa = self._binary(made, spec.view, "PA", count)
        female = self._binary(made, spec.sex, "F", count)
        masks = None
        if spec.masks:
            masks = _activated(made[spec.masks.output], spec.masks.activation)
            self._shape(spec.masks.output, masks, (count, len(spec.masks.labels), None, None))
        heat = made[spec.heat] if spec.heat else None
        if spec.heat and heat is not None:
            self._shape(spec.heat, heat, (count, len(spec.labels), None, None))
        distance = None
        if spec.outlier:
            distance = made[spec.outlier.output].reshape(count, -1)
            self._shape(spec.outlier.output, distance, (count, 1))
        return [
            Seen(
                findings=findings[k],
                pa=None if pa is None else float(pa[k]),
                female=None if female is None else float(female[k]),
                masks=None if masks is None else masks[k],
                heat=None if heat is None else heat[k],
                distance=None if distance is None else float(distance[k, 0]),
                strange=self._strange(picture, None if distance is None else distance[k, 0]),
                where=fit.frame(picture, spec.input),
                size=(picture.width, picture.height),
            )
            for k, picture in enumerate(pictures)
        ]

    def _strange(self, picture: Picture, distance: float | None) -> str:
        """Why a picture is out of distribution, or nothing."""
        if picture.colour > COLOUR_LIMIT:
            return "it is in colour"
        limit = self.card.outlier.limit if self.card.outlier else None
        if limit is not None and distance is not None and not distance <= limit:  # NaN is strange
            return "it is turned, or unlike the X-rays that the model knows"
        return ""

    def _findings(self, made: Mapping[str, Floats], count: int) -> Floats:
        spec = self.card.findings
        if spec is None:
            return np.zeros((count, 0), dtype=np.float32)
        raw = made[spec.output].reshape(count, -1)
        self._shape(spec.output, raw, (count, len(spec.labels)))
        if spec.activation == "none":
            return _unit(raw)
        heat = np.asarray([label.temperature for label in spec.labels], dtype=np.float32)
        bias = np.asarray([label.bias for label in spec.labels], dtype=np.float32)
        return _sigmoid(raw / heat + bias)

    def _binary(
        self, made: Mapping[str, Floats], spec: card.Binary | None, of: str, count: int
    ) -> Floats | None:
        """The probability of ``of``, which may be the card's positive or the other one."""
        if spec is None:
            return None
        raw = made[spec.output].reshape(count, -1)
        if raw.shape[1] <= spec.index:
            raise self._wrong(f"output '{spec.output}' has no column {spec.index}")
        column = raw[:, spec.index]
        plain = spec.activation == "none"
        p = _unit(column) if plain else _sigmoid(column / spec.temperature + spec.bias)
        return p if spec.positive == of else (1 - p).astype(np.float32)

    @property
    def _fixed(self) -> int | None:
        """The only batch size that the network takes, where it was exported with one."""
        size = self._network[0].get_inputs()[0].shape[0]
        return size if isinstance(size, int) and size > 0 else None

    def _run(self, images: Floats) -> dict[str, Floats]:
        network, fixed, count = self._network[0], self._fixed, len(images)
        if fixed and count < fixed:
            images = np.concatenate([images, np.repeat(images[-1:], fixed - count, axis=0)])
        names = self._outputs
        try:
            made = network.run(names, {self.card.input.name: images})
        # onnxruntime raises exceptions of its own native types, derived from nothing narrower.
        except Exception as error:
            raise self._wrong(f"does not run: {str(error).splitlines()[0]}") from error
        return {
            name: np.asarray(value, dtype=np.float32)[:count]
            for name, value in zip(names, made, strict=True)
        }

    @property
    def _outputs(self) -> list[str]:
        spec = self.card
        parts = (spec.findings, spec.view, spec.sex, spec.masks, spec.outlier)
        named = [part.output for part in parts if part is not None]
        return list(dict.fromkeys([*named, *([spec.heat] if spec.heat else [])]))

    def _check(self, network: Any) -> None:
        """Does the network have what the card names? Raises ModelError."""
        inputs = [one.name for one in network.get_inputs()]
        if inputs != [self.card.input.name]:
            raise self._wrong(f"takes {', '.join(inputs)}, not '{self.card.input.name}'")
        known = [one.name for one in network.get_outputs()]
        for name in self._outputs:
            if name not in known:
                raise self._wrong(f"has no output '{name}', but {', '.join(known)}")

    def _shape(self, name: str, value: Floats, wanted: tuple[int | None, ...]) -> None:
        same = len(value.shape) == len(wanted) and all(
            w is None or n == w for n, w in zip(value.shape, wanted, strict=True)
        )
        if not same:
            shape = "x".join("any" if n is None else str(n) for n in wanted)
            got = "x".join(map(str, value.shape))
            raise self._wrong(f"gives '{name}' as {got}, but its card asks for {shape}")

    def _wrong(self, what: str) -> ModelError:
        return ModelError(f"the model {self.card.file} {what}", f"mend its card {self.card.path}")


def _sigmoid(x: Floats) -> Floats:
    half = np.float32(0.5)
    return np.asarray(half + half * np.tanh(half * x), dtype=np.float32)


def _unit(p: Floats) -> Floats:
    return np.asarray(np.clip(p, 0, 1), dtype=np.float32)


def _activated(raw: Floats, activation: str) -> Floats:
    return _sigmoid(raw) if activation == "sigmoid" else _unit(raw)
