"""How alike two answers in words are: exact match, token F1, and the option that is meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

_TOKEN = re.compile(r"\d+(?:[.,/:]\d+)*%?|[^\W\d_]+")
_ARTICLES = frozenset({"a", "an", "the"})
# The letter alone, or set off from what follows: "A large mass" begins with an article.
_LETTER = re.compile(
    r"^\W*(?i:(?:the\s+)?(?:correct\s+|best\s+)?(?:answer|choice|option)(?:\s+is)?\W*)?"
    r"([A-E])\s*(?:[:.,)\]]|$)"
)


def tokens(text: str) -> list[str]:
    """Words and numbers, lower case, without articles; 2.2 and 120/80 are one token each."""
    return [word for word in _TOKEN.findall(text.lower()) if word not in _ARTICLES]


def exact(gold: str, predicted: str) -> bool:
    """The same tokens in the same order (Rajpurkar et al. 2016, SQuAD, section 6.1; numbers kept
    whole)."""
    found = tokens(gold)
    return bool(found) and found == tokens(predicted)


def token_f1(gold: str, predicted: str) -> float:
    """F1 of the two bags of tokens, 0 to 1; 0 where either has none."""
    a, b = Counter(tokens(gold)), Counter(tokens(predicted))
    same = sum((a & b).values())
    return 2 * same / (sum(a.values()) + sum(b.values())) if same else 0.0


def meant_option(output: str, choices: Mapping[str, str]) -> str | None:
    """The letter of the option that a model's free output means; None where none stands out.

    A letter that it names, else the option with its very words, else the one most like it by
    token F1.
    """
    if (named := _LETTER.match(output)) and named[1] in choices:
        return named[1]
    same = [letter for letter, text in choices.items() if exact(text, output)]
    if len(same) == 1:
        return same[0]
    ranked = sorted(((token_f1(text, output), letter) for letter, text in choices.items()))
    if not ranked or not ranked[-1][0]:
        return None
    if len(ranked) > 1 and ranked[-1][0] == ranked[-2][0]:
        return None
    return ranked[-1][1]
