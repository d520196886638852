"""What may be measured on a benchmark: this program, its variants, baselines, a file.

Every benchmark has ``ours`` (what `ehrqa ask` answers with), ``gold`` (its own gold answers, which
score 100 where its files are whole) and ``abstain`` (declines everything).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.contracts.errors import UsageError

OURS, GOLD, ABSTAIN = "ours", "gold", "abstain"
CAREFUL, UNCHECKED = "ours-careful", "ours-unchecked"
FIXED, BM25, NEAREST = "fewshot-fixed", "fewshot-bm25", "nearest"
FEW_SHOT = (FIXED, BM25)

# What each name stands for, as --help says it.
_ABOUT = {
    OURS: "what `ehrqa ask` answers",
    GOLD: "the gold answers: 100 where the files are whole",
    ABSTAIN: "declines every question",
}
_OF_QUERIES = {
    CAREFUL: "with the opinion of a larger model",
    UNCHECKED: "whatever the model writes is answered, with no check",
    FIXED: "a GGUF model (--model FILE) with the same examples for every question",
    BM25: "the same with the nearest examples",
    NEAREST: "the query of the nearest training question, as it is",
}
OWN = {**_ABOUT}
EHRSQL = {**_ABOUT, **_OF_QUERIES}
EHRXQA = {
    **_ABOUT,
    **_OF_QUERIES,
    "always-yes": "yes to everything",
    "always-no": "no to everything",
    "most-common": "the most common answer of training",
    "most-common-per-template": "that of the question's template",
}
CXR_VQA = {
    **_ABOUT,
    "most-common": "Prior (Most): the most common answer of training",
    "most-common-per-template": "Prior (Question): that of the question's template",
}
EHRNOTEQA = {
    **_ABOUT,
    "most-common": "multi-choice: the letter that is right most often",
    "longest": "multi-choice: the longest option",
    "random": "multi-choice: any option, by --seed",
}


@dataclass(frozen=True)
class Chosen:
    """One of the names, or None for a file of ``predictions``."""

    name: str | None
    predictions: Path | None = None

    @property
    def asks(self) -> bool:
        """Is this program asked?"""
        return self.name is not None and self.name.startswith(OURS)


def choose(
    system: str | None, predictions: Path | None, known: Mapping[str, str], default: str = OURS
) -> Chosen:
    """What ``--system NAME|FILE`` and ``--predictions FILE`` name. Raises UsageError."""
    if predictions is not None:
        if system is not None:
            raise UsageError(
                "--system and --predictions exclude each other", "leave one of them out"
            )
        return Chosen(None, predictions)
    name = system or default
    if name in known:
        return Chosen(name)
    if Path(name).is_file():
        return Chosen(None, Path(name))
    raise UsageError(
        f"there is no system '{name}', and no file of that name",
        f"the systems are {', '.join(known)}; or give a file of predictions",
    )
