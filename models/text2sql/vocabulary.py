"""The model's own small vocabulary, cut from SmolLM2's.

SmolLM2 has 49,152 tokens, of which some thousands occur in linked questions. Kept are those, all
single bytes (so any text can be written), and the most frequent lower-case words of the base, so
that a synonym that training never saw still has the base's embedding. A merge stays when its
result stays, and what a kept merge needs stays too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ehrqa_cli.logical_form import LEXEMES, TYPES
from ehrqa_cli.text2sql.tokens import pieces, special_tokens

_WORD = re.compile(r"Ġ?[a-z]+")


@dataclass(frozen=True)
class Base:
    """The base's tokens (index = id) and merges, as its GGUF file has them."""

    tokens: list[str]
    merges: list[str]


def read_base(path: Path) -> Base:
    """Vocabulary of the base GGUF."""
    from gguf import GGUFReader

    fields = GGUFReader(path).fields
    return Base(
        fields["tokenizer.ggml.tokens"].contents(), fields["tokenizer.ggml.merges"].contents()
    )


def bpe(tokens: Iterable[str], merges: Iterable[str]) -> Any:
    """A tokenizers.Tokenizer with SmolLM2's splitting: digits singly, then GPT-2's pattern."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocab = {t: i for i, t in enumerate(tokens)}
    pairs = [tuple(m.split(" ")) for m in merges]
    found = Tokenizer(models.BPE(vocab=vocab, merges=pairs))
    found.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    return found


def trim(base: Base, questions: Iterable[str], frequent: int) -> tuple[list[str], list[str]]:
    """Tokens (bytes first, then in the base's order) and merges kept.

    ``frequent``: keep the base's lower-case word tokens with an id below this.
    """
    made = {m.replace(" ", ""): m for m in base.merges}
    whole = bpe(base.tokens, base.merges)
    used: Counter[str] = Counter()
    types = set(TYPES)
    parts: Counter[str] = Counter(
        part for q in questions for special, part in pieces(q, types) if not special
    )
    for encoding, count in zip(
        whole.encode_batch(list(parts), add_special_tokens=False), parts.values(), strict=True
    ):
        for token in encoding.tokens:
            used[token] += count
    keep = set(used) | {t for t in base.tokens[:frequent] if _WORD.fullmatch(t)}
    waiting = list(keep)
    while waiting:
        merge = made.get(waiting.pop())
        for part in merge.split(" ") if merge else ():
            if part not in keep:
                keep.add(part)
                waiting.append(part)
    letters = [t for t in base.tokens if len(t) == 1]
    tokens = letters + [t for t in base.tokens if t in keep and len(t) > 1 and t in made]
    kept = set(tokens)
    merges = [m for m in base.merges if m.replace(" ", "") in kept and set(m.split(" ")) <= kept]
    return tokens, merges


@dataclass(frozen=True)
class Vocabulary:
    """Tokens in id order: the BPE's, then the special ones; ``bpe_size`` divides them."""

    tokens: list[str]
    merges: list[str]
    bpe_size: int

    @property
    def ids(self) -> dict[str, int]:
        """Ids of the special tokens only: text never maps to them."""
        return {t: self.bpe_size + i for i, t in enumerate(self.tokens[self.bpe_size :])}

    def encoder(self) -> Any:
        """A cached function from a plain piece of text to its token ids."""
        tokenizer = bpe(self.tokens[: self.bpe_size], self.merges)

        @lru_cache(maxsize=100_000)
        def encode(part: str) -> tuple[int, ...]:
            return tuple(tokenizer.encode(part, add_special_tokens=False).ids)

        return encode

    def save(self, path: Path) -> None:
        data = {"tokens": self.tokens, "merges": self.merges, "bpe_size": self.bpe_size}
        path.write_text(json.dumps(data, ensure_ascii=False))

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        return cls(**json.loads(path.read_text()))


def build(base: Base, questions: Iterable[str], frequent: int) -> Vocabulary:
    """The trimmed vocabulary with the form's tokens after it."""
    tokens, merges = trim(base, questions, frequent)
    return Vocabulary([*tokens, *special_tokens(TYPES, LEXEMES)], merges, len(tokens))
