"""How different the wordings of a question type are, and what its logical form asks for.

Pampari et al. 2018, section 5: of each type one wording is drawn as the reference, and the others
are held against it by BLEU (Papineni et al. 2002) and by Jaccard's share of common words; table 3
counts what the logical forms of the wordings hold.
"""

from __future__ import annotations

import math
import random
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ehrqa_papers.emrqa_sets.templates import Type

_WORD = re.compile(r"\|\w+\||\w+|[^\w\s]")
_MOST = 4  # words in a row
_ATTRIBUTE = re.compile(r"\w+=x")
_ENTITY = re.compile(r"Event \(x\)")
_OPERATOR = re.compile(r"[<>]|\bsort\(|=null")
_KNOWLEDGE = re.compile(r"\.ref(?:high|low)")
_RELATION = re.compile(
    r"[)}\]] (?:not )?(?:given|conducted|reveals|improves|worsens|causes|indicates)"
)


def words_of(text: str) -> list[str]:
    """Words, marks and slots, as lengths are counted."""
    return _WORD.findall(text.lower())


def bleu(reference: str, other: str) -> float:
    """BLEU of up to four words, 0 to 1; counts of two words and more have one added (Lin and Och
    2004), as a single sentence seldom shares four in a row."""
    gold, said = words_of(reference), words_of(other)
    if not gold or not said:
        return 0.0
    total = 0.0
    for size in range(1, _MOST + 1):
        a, b = _runs(gold, size), _runs(said, size)
        same, count = sum((a & b).values()), sum(b.values())
        plus = 0 if size == 1 else 1
        if not same + plus:
            return 0.0
        total += math.log((same + plus) / max(count + plus, 1)) / _MOST
    short = min(0.0, 1 - len(gold) / len(said))
    return math.exp(short + total)


def _runs(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[k : k + size]) for k in range(len(words) - size + 1))


def jaccard(one: str, other: str) -> float:
    """The share of the words of both that are in each, 0 to 1."""
    a, b = set(words_of(one)), set(words_of(other))
    return len(a & b) / len(a | b) if a | b else 0.0


def paraphrase_figures(types: Sequence[Type], seed: int) -> dict[str, Any]:
    """Wordings for each type, and mean and standard deviation of BLEU and Jaccard."""
    rng = random.Random(f"{seed} paraphrases")
    bleus, jaccards = [], []
    for one in types:
        reference = rng.randrange(len(one.wordings))
        for place, wording in enumerate(one.wordings):
            if place != reference:
                bleus.append(bleu(one.wordings[reference], wording))
                jaccards.append(jaccard(one.wordings[reference], wording))
    count = sum(len(one.wordings) for one in types)
    return {
        "question_types": len(types),
        "wordings": count,
        "wordings_per_type": round(count / len(types), 2) if types else 0.0,
        "bleu": _spread(bleus),
        "jaccard": _spread(jaccards),
    }


def properties(types: Sequence[Type]) -> dict[str, float]:
    """Shares of the wordings whose forms ask for an attribute, for an entity, have an operator,
    need reference values, and relate two events (table 3)."""
    tests = {
        "fine_grained_answer": _ATTRIBUTE,
        "coarse_grained_answer": _ENTITY,
        "operators": _OPERATOR,
        "medical_knowledge": _KNOWLEDGE,
        "event_relations": _RELATION,
    }
    count = sum(len(one.wordings) for one in types)
    return {
        name: round(sum(len(t.wordings) for t in types if test.search(t.form)) / count, 3)
        if count
        else 0.0
        for name, test in tests.items()
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {"mean": 0.0, "deviation": 0.0}
    return {
        "mean": round(statistics.fmean(values), 3),
        "deviation": round(statistics.pstdev(values), 3),
    }
