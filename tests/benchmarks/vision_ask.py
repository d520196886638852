"""Real chest X-rays end to end: registered, indexed, and asked about through ``ask``.

    python tests/benchmarks/vision_ask.py --nih DIR --templates vqa_templates.tsv [--films N]

``DIR`` has labels.csv and images/ (NIH ChestX-ray14). Its validation films are registered with
``images add`` in a demo EHR, their scene graphs computed with ``images index``, and every question
is asked of the engine. Says of how many of the 48 types any question is answered, how many answers
are given, and of those whose gold the labels tell, how many are right.
"""

from __future__ import annotations

import argparse
import csv
import json
import string
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from films import valid_films

from ehrqa_cli.cli.image_options import read_graphs
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.engine import ask, open_session

# What the labels say of the paper's attributes: the NIH findings that are the same thing.
LABELS = {
    "atelectasis": {"Atelectasis"},
    "enlarged cardiac silhouette": {"Cardiomegaly"},
    "consolidation": {"Consolidation"},
    "pulmonary edema/hazy opacity": {"Edema"},
    "pleural effusion": {"Effusion"},
    "copd/emphysema": {"Emphysema"},
    "hernia": {"Hernia"},
    "infiltration": {"Infiltration"},
    "mass/nodule (not otherwise specified)": {"Mass", "Nodule"},
    "pneumonia": {"Pneumonia"},
    "pneumothorax": {"Pneumothorax"},
}
OBJECTS = (("left lung", "right lung"), ("right lower lung zone", "left lower lung zone"),
           ("cardiac silhouette", "mediastinum"))  # fmt: skip
CATEGORIES = (("anatomical findings", "diseases"), ("devices", "tubes/lines"),
              ("technical assessments", "anatomical findings"))  # fmt: skip
FIRST = 90_000_000  # study ids of the films


@dataclass(frozen=True)
class Asked:
    """One question about one film; ``gold`` is None where the labels do not tell."""

    kind: int
    text: str
    study: int
    gold: frozenset[str] | None


def slots(k: int) -> dict[str, str]:
    """Values for a template's slots: the k-th choice, in a fixed order."""
    names = list(LABELS)
    one, two = names[k % len(names)], names[(k * 5 + 3) % len(names)]
    first, second = OBJECTS[k % 3]
    category, other = CATEGORIES[k % 3]
    return {
        "attribute": one, "attribute_1": one, "attribute_2": two if two != one else names[0],
        "object": first, "object_1": first, "object_2": second,
        "category": category, "category_1": category, "category_2": other,
        "viewpos": ("AP", "PA")[k % 2], "gender": ("male", "female")[k % 2],
    }  # fmt: skip


def gold(kind: int, values: Mapping[str, str], film: Mapping[str, str]) -> frozenset[str] | None:
    """What the labels answer; None for what they do not tell."""
    found = set(film["findings"].split("|"))

    def has(slot: str) -> bool:
        return bool(LABELS[values[slot]] & found)

    def verify(yes: bool) -> frozenset[str]:
        return frozenset({"1" if yes else "0"})

    sex = {"M": "male", "F": "female"}[film["sex"]]
    if kind == 22:
        return verify(has("attribute"))
    if kind == 23:
        return verify(has("attribute_1") and has("attribute_2"))
    if kind == 24:
        return verify(has("attribute_1") or has("attribute_2"))
    if kind == 20:  # the labels name 14 findings only: they can say yes
        return verify(True) if found != {"No Finding"} else None
    if kind == 41:
        return verify(film["view"] == values["viewpos"])
    if kind in {42, 43}:
        return frozenset({film["view"].lower()})
    if kind == 44:
        return verify(sex == values["gender"])
    if kind in {45, 46}:
        return frozenset({sex})
    return None


def questions(templates: list[dict[str, str]], films: list[dict[str, str]]) -> Iterator[Asked]:
    """Every type about every film, each film with other values."""
    for n, film in enumerate(films):
        for row in templates:
            kind = int(row["index"])
            values = slots(n + kind)
            text = string.Template(row["template"]).substitute(values)
            said = f"Given study {FIRST + n}, {text[0].lower()}{text[1:]}"
            yield Asked(kind, said, FIRST + n, gold(kind, values, film))


def given(answer: Answer) -> frozenset[str]:
    """The values of an answer, in lower case."""
    return frozenset(str(value).lower() for row in answer.rows for value in row)


def prepare(work: Path, nih: Path, films: list[dict[str, str]], vision: Path | None) -> Path:
    """A demo EHR with the films registered and indexed, by the commands a user has."""
    db, folder = work / "ehr.sqlite", work / "films"
    folder.mkdir()
    with (folder / "films.csv").open("w", encoding="utf-8", newline="") as file:
        sheet = csv.writer(file)
        sheet.writerow(["image", "patient_id", "study_id", "time", "view", "sex", "age"])
        for n, film in enumerate(films):
            (folder / film["file"]).symlink_to(nih / "images" / film["file"])
            sheet.writerow(
                [film["file"], 50_000_000 + int(film["patient_id"]), FIRST + n,
                 f"2100-06-{1 + n % 28:02d} 10:00:00", film["view"], film["sex"], film["age"]]
            )  # fmt: skip
    tool = [sys.executable, "-m", "ehrqa_cli"]
    subprocess.run([*tool, "db", "demo", "--out", str(db)], check=True, stdout=sys.stderr)
    add = [*tool, "images", "add", str(folder), "--db", str(db), "--new-patients"]
    index = [*tool, "images", "index", "--db", str(db)]
    subprocess.run(add, check=True, stdout=sys.stderr)
    # 1 says that some film is unlike those that the model knows: questions about it are declined
    ran = subprocess.run(
        index + (["--vision", str(vision)] if vision else []), check=False, stdout=sys.stderr
    )
    assert ran.returncode in (0, 1), ran.returncode
    return db


def main() -> None:
    """Ask everything and print a report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nih", type=Path, required=True)
    parser.add_argument("--templates", type=Path, required=True)
    parser.add_argument("--films", type=int)
    parser.add_argument("--vision", type=Path)
    args = parser.parse_args()
    films = valid_films(args.nih)[: args.films]
    with args.templates.open(encoding="utf-8", newline="") as file:
        templates = list(csv.DictReader(file, delimiter="\t"))
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        db = prepare(Path(temporary), args.nih, films, args.vision)
        graphs = read_graphs(None, db=db, vision=str(args.vision) if args.vision else None)
        with open_session(db, log=False, graphs=graphs) as session:
            for item in questions(templates, films):
                answer = ask(Question(item.text), session)
                here = counts[item.kind]
                here["asked"] += 1
                here[str(answer.status.value)] += 1
                if item.gold is not None:
                    here["with gold"] += 1
                    if answer.status is Status.ANSWERED:
                        right = given(answer) == item.gold
                        here["right" if right else "wrong"] += 1
                        if not right and len(wrong) < 40:
                            wrong.append(f"{item.text} -> {sorted(given(answer))}")
    print(json.dumps(report(counts) | {"films": len(films), "wrong": wrong}, indent=1))


def report(counts: Mapping[int, Counter[str]]) -> dict[str, Any]:
    """By type and in all."""
    whole: Counter[str] = Counter()
    for here in counts.values():
        whole.update(here)
    answered = [kind for kind, here in counts.items() if here["answered"]]
    judged = whole["right"] + whole["wrong"]
    return {
        "types answered at all": len(answered),
        "in all": dict(whole),
        "right of the answers with gold": round(whole["right"] / judged, 4) if judged else None,
        "by type": {kind: dict(here) for kind, here in sorted(counts.items())},
    }


if __name__ == "__main__":
    main()
