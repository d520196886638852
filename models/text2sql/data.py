"""Prepared pairs as batches of token ids."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from vocabulary import Vocabulary

from ehrqa_cli.text2sql.tokens import FORM, encode_form, encode_question

LONGEST = 256


@dataclass(frozen=True)
class Example:
    """Token ids of question and form together; ``start`` is the index of the form's first."""

    ids: tuple[int, ...]
    start: int
    source: str
    template: str


def rows(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Objects of JSON Lines files."""
    for path in paths:
        with path.open() as lines:
            yield from (json.loads(line) for line in lines if line.strip())


def encode(found: Iterable[dict[str, Any]], vocabulary: Vocabulary) -> list[Example]:
    """Examples of prepared rows; those over 256 tokens are left out."""
    ids, bpe = vocabulary.ids, vocabulary.encoder()
    out = []
    for row in found:
        question = encode_question(row["text"], ids, bpe)
        tokens = (*question, *encode_form(row["form"], ids))
        if len(tokens) <= LONGEST:
            source, template = row.get("source", "built"), row.get("template", "")
            out.append(Example(tokens, len(question), source, template))
    return out


def is_dev(text: str, share: float) -> bool:
    """Whether a linked question is held out: by its hash, so that copies never straddle."""
    return zlib.crc32(text.encode()) % 10_000 < share * 10_000


@dataclass(frozen=True)
class Batch:
    """``ids`` (batch, length); ``where`` flat positions that predict; ``target`` their tokens."""

    ids: Tensor
    where: Tensor
    target: Tensor
    row: Tensor


def collate(examples: list[Example], pad: int, multiple: int = 8) -> Batch:
    """Right-padded batch whose length is a multiple of ``multiple`` (few shapes to compile)."""
    length = -(-max(len(e.ids) - 1 for e in examples) // multiple) * multiple
    ids = torch.full((len(examples), length), pad)
    where: list[int] = []
    target: list[int] = []
    row: list[int] = []
    for i, e in enumerate(examples):
        ids[i, : len(e.ids) - 1] = torch.tensor(e.ids[:-1])
        # The token before the form (<form>) predicts its first lexeme.
        where += range(i * length + e.start - 1, i * length + len(e.ids) - 1)
        target += e.ids[e.start :]
        row += [i] * (len(e.ids) - e.start)
    return Batch(ids, torch.tensor(where), torch.tensor(target), torch.tensor(row))


def batches(
    examples: list[Example], tokens: int, generator: np.random.Generator, repeat: dict[str, int]
) -> Iterator[list[Example]]:
    """One shuffled epoch in batches of about ``tokens`` positions and alike lengths.

    ``repeat`` says how often a source is seen in an epoch (1 where it does not say).
    """
    order = [i for i, e in enumerate(examples) for _ in range(repeat.get(e.source, 1))]
    order = [order[i] for i in generator.permutation(len(order))]
    found: list[list[Example]] = []
    for start in range(0, len(order), 4096):
        window = sorted(order[start : start + 4096], key=lambda i: len(examples[i].ids))
        batch: list[Example] = []
        for i in window:
            if batch and (len(batch) + 1) * len(examples[i].ids) > tokens:
                found.append(batch)
                batch = []
            batch.append(examples[i])
        found.append(batch)
    for i in generator.permutation(len(found)):
        yield found[i]


def form_start(vocabulary: Vocabulary) -> int:
    """Id of the token after which the form begins; also used as padding."""
    return vocabulary.ids[FORM]
