"""How far answers about real films can be trusted: questions that radiologists asked (VQA-RAD).

    python tests/benchmarks/vqa_rad.py --rad DIR [--vision CARD] [--show]

``DIR`` has questions.jsonl (image, question, answer, answer_type, question_type) and images/
(VQA-RAD, chest only: Lau et al. 2018, CC0). Each question is asked of its film as ``ehrqa vqa FILE
QUESTION`` asks it. A closed question is right when yes is said for yes and no for no; a view or
another name when it is the gold answer's, both in small letters without punctuation, man and male
the same. A given answer that this cannot match is wrong; --show prints all of them.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from shared import rows_of

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.vqa.film import films_of

_SAME = {"man": "male", "woman": "female"}


def main() -> None:
    """Ask everything, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rad", type=Path, required=True)
    parser.add_argument("--vision", help="Another model than the shipped one.")
    parser.add_argument("--show", action="store_true", help="Print each answer that is wrong.")
    given = parser.parse_args()
    rows = rows_of(given.rad / "questions.jsonl")
    said = answers(rows, given.rad / "images", given.vision)
    print(json.dumps(summary(rows, said), indent=1))
    for row, answer in zip(rows, said, strict=True):
        if given.show and answer and not is_right(row, answer):
            print(row["image"], "|", row["question"], "| gold:", row["answer"], "|", answer.text)
            print("   ", answer.confidence, answer.description)


def answers(rows: list[dict[str, str]], images: Path, vision: str | None) -> list[Answer | None]:
    """What is said to each question; None where nothing is."""
    films = films_of(None, vision)
    out: list[Answer | None] = []
    for row in rows:
        try:
            answer = films.answer(Question(text=row["question"]), images / row["image"])
        except ImageError:
            out.append(None)
        else:
            out.append(answer if answer.status is Status.ANSWERED else None)
    return out


def is_right(row: dict[str, str], answer: Answer) -> bool:
    """Is the value the gold answer?"""
    words = {0: "no", 1: "yes"}
    values = answer.value if isinstance(answer.value, list) else [answer.value]
    said = ", ".join(words.get(v, str(v)) if isinstance(v, int) else str(v) for v in values)
    return _plain(said or "none") == _plain(row["answer"])


def _plain(text: str) -> str:
    return " ".join(_SAME.get(word, word) for word in re.findall(r"[a-z0-9]+", text.lower()))


def summary(rows: list[dict[str, str]], said: list[Answer | None]) -> dict[str, Any]:
    """Counts of all, and by type of answer and of question."""
    groups: dict[str, list[tuple[bool, bool, str]]] = {}
    for row, answer in zip(rows, said, strict=True):
        right = answer is not None and is_right(row, answer)
        word = answer.text.rpartition(": ")[2].rstrip(".") if answer else ""
        for key in ("all", row["answer_type"], row["question_type"]):
            groups.setdefault(key, []).append((answer is not None, right, word))
    return {key: _figures(found) for key, found in groups.items()}


def _figures(found: list[tuple[bool, bool, str]]) -> dict[str, Any]:
    given = [(right, word) for answered, right, word in found if answered]
    right = sum(r for r, _ in given)
    return {
        "questions": len(found),
        "answered": len(given),
        "right": right,
        "precision": round(right / len(given), 3) if given else None,
        "coverage": round(len(given) / len(found), 3),
        "wrong by what was said": dict(Counter(word for r, word in given if not r).most_common()),
    }


if __name__ == "__main__":
    main()
