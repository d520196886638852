"""How often a yes or a no about a real film is false, asked in plain words.

    python tests/benchmarks/vision_words.py --nih DIR [--vision CARD]

``DIR`` has labels.csv and images/ (NIH ChestX-ray14); each finding is asked of each validation film
as ``ehrqa vqa FILE QUESTION`` asks it. Prints shares: of films with the finding that are told no
(false no), without it told yes (false yes), told anything, and of what is told the share that is
right (films with and without the finding weighed alike). The limits were chosen on these films:
``models/vision/operate.py`` says what holds of films left out. Of view and sex: told, and right of
what is told.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from films import valid_films

from ehrqa_cli.contracts.images import NO_STUDY
from ehrqa_cli.vqa.film import films_of
from ehrqa_cli.vqa.model.source import OneGraph
from ehrqa_cli.vqa.reader import Vqa

WORDS = {
    "Atelectasis": ("Is there atelectasis?", {"Atelectasis"}),
    "Cardiomegaly": ("Is the heart enlarged?", {"Cardiomegaly"}),
    "Consolidation": ("Is there consolidation?", {"Consolidation"}),
    "Edema": ("Is there pulmonary edema?", {"Edema"}),
    "Effusion": ("Is there a pleural effusion?", {"Effusion"}),
    "Emphysema": ("Is there emphysema?", {"Emphysema"}),
    "Infiltration": ("Is there an infiltrate?", {"Infiltration"}),
    "Mass or nodule": ("Is there a mass or nodule?", {"Mass", "Nodule"}),
    "Pneumonia": ("Is there pneumonia?", {"Pneumonia"}),
    "Pneumothorax": ("Is there a pneumothorax?", {"Pneumothorax"}),
}
FACTS = {
    "view": ("Is this a PA film?", "PA"),
    "sex": ("Is the patient female?", "F"),
}


def main() -> None:
    """Ask everything, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nih", type=Path, required=True)
    parser.add_argument("--vision", help="Another model than the shipped one.")
    given = parser.parse_args()
    rows, films = valid_films(given.nih), films_of(None, given.vision)
    graphs = [films.look(given.nih / "images" / row["file"])[0].graph for row in rows]
    readers = [Vqa(OneGraph(films.source, graph), films.source.thresholds()) for graph in graphs]
    report: dict[str, Any] = {
        "films": len(rows),
        "unlike": sum(r.graph(NO_STUDY) is None for r in readers),
    }
    for name, (question, labels) in WORDS.items():
        has = [bool(labels & set(row["findings"].split("|"))) for row in rows]
        report[name] = _finding([_said(reader, question) for reader in readers], has)
    for name, (question, positive) in FACTS.items():
        said = [_said(reader, question) for reader in readers]
        told = [
            (s, row[name] == positive) for s, row in zip(said, rows, strict=True) if s is not None
        ]
        report[name] = {
            "told": round(len(told) / len(rows), 3),
            "right": round(sum(s == t for s, t in told) / max(1, len(told)), 3),
        }
    print(json.dumps(report, indent=1))


def _said(reader: Vqa, question: str) -> bool | None:
    values = reader.detail(question, NO_STUDY).values
    return bool(values[0]) if values else None


def _finding(said: list[bool | None], has: list[bool]) -> dict[str, Any]:
    def share(what: bool | None, of: bool) -> float:
        of_these = [s for s, h in zip(said, has, strict=True) if h is of]
        return sum(s is what for s in of_these) / len(of_these)

    right, wrong = share(False, False) + share(True, True), share(False, True) + share(True, False)
    return {
        "with": sum(has),
        "no to films without": round(share(False, False), 3),
        "false no": round(share(False, True), 3),
        "yes to films with": round(share(True, True), 3),
        "false yes": round(share(True, False), 3),
        "told": round((right + wrong) / 2, 3),
        "right": round(right / (right + wrong), 3) if right + wrong else None,
    }


if __name__ == "__main__":
    main()
