"""A small language for wordings: alternatives, phrases and slots.

``(a|b*3|)`` picks one branch, ``*3`` makes it three times as likely; ``<name>`` stands for a
phrase, looked up first among the words of the template, then among the shared phrases;
``{slot}`` and ``[slot]`` are filled with values. Branches nest.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r"[()|]|<[a-z_0-9]+>|\*\d+(?=[|)])|[\[{][a-z_0-9:]+[\]}]|[^()|<\[{*]+|.")
_SLOT = re.compile(r"[\[{][a-z_0-9:]+[\]}]")
_DEPTH = 12


@dataclass(frozen=True)
class Node:
    """A parsed wording: ``kind`` is text, slot, phrase, sequence or choice."""

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()
    weights: tuple[int, ...] = ()


def parse_wording(wording: str) -> Node:
    """Read one wording. Raises ValueError when its brackets do not match."""
    tokens = _TOKEN.findall(wording)
    node, position = _sequence(tokens, 0)
    if position != len(tokens):
        raise ValueError(f"unbalanced brackets in the wording: {wording}")
    return node


def _sequence(tokens: list[str], position: int) -> tuple[Node, int]:
    parts: list[Node] = []
    while position < len(tokens):
        token = tokens[position]
        if token in ("|", ")") or re.fullmatch(r"\*\d+", token):
            break
        position += 1
        if token == "(":
            node, position = _choice(tokens, position)
            parts.append(node)
        elif token.startswith("<") and token.endswith(">"):
            parts.append(Node("phrase", token[1:-1]))
        elif _SLOT.fullmatch(token):
            parts.append(Node("slot", token[1:-1]))
        else:
            parts.append(Node("text", token))
    return Node("sequence", parts=tuple(parts)), position


def _choice(tokens: list[str], position: int) -> tuple[Node, int]:
    branches: list[Node] = []
    weights: list[int] = []
    while True:
        node, position = _sequence(tokens, position)
        weight = 1
        if position < len(tokens) and tokens[position].startswith("*"):
            weight = int(tokens[position][1:])
            position += 1
        branches.append(node)
        weights.append(weight)
        if position >= len(tokens):
            raise ValueError("a bracket in a wording is not closed")
        closing = tokens[position] == ")"
        position += 1
        if closing:
            return Node("choice", parts=tuple(branches), weights=tuple(weights)), position


Piece = tuple[str, bool]
"""Text, and whether it is a slot's name (to be filled) rather than words."""


def expand(
    node: Node, rng: random.Random, phrase: Callable[[str], Node], depth: int = 0
) -> list[Piece]:
    """One random reading of a wording, as words and slots in order.

    ``phrase`` gives the parsed phrase of a name; it raises KeyError for an unknown one.
    """
    if depth > _DEPTH:
        raise ValueError("phrases refer to each other in a circle")
    if node.kind == "text":
        return [(node.text, False)]
    if node.kind == "slot":
        return [(node.text, True)]
    if node.kind == "phrase":
        return expand(phrase(node.text), rng, phrase, depth + 1)
    if node.kind == "choice":
        branch = rng.choices(node.parts, node.weights)[0]
        return expand(branch, rng, phrase, depth)
    pieces: list[Piece] = []
    for part in node.parts:
        pieces.extend(expand(part, rng, phrase, depth))
    return pieces


class Phrases:
    """The shared phrases, parsed on first use, with a template's own words before them."""

    def __init__(self, shared: Mapping[str, str]) -> None:
        self._shared = shared
        self._parsed: dict[str, Node] = {}

    def lookup(self, words: Mapping[str, str]) -> Callable[[str], Node]:
        """A function from a phrase's name to the phrase, ``words`` first."""

        def find(name: str) -> Node:
            text = words.get(name)
            if text is None:
                text = self._shared[name]
            node = self._parsed.get(text)
            if node is None:
                node = self._parsed[text] = parse_wording(text)
            return node

        return find
