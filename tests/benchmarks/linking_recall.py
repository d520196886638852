"""How many literals of EHRSQL's gold queries does linking find, and how fast?

    python tests/benchmarks/linking_recall.py DATA/ehrsql-2024 [--split train] [--misses 20]

For every answerable question: do all literals of its gold SQL stand among the links, with the
right type and value? Printed: recall (questions and literals, by type), links per question that no
literal needs, milliseconds per question. Misses are shown for train only: valid is not tuned on.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import time
from collections import Counter
from pathlib import Path

from ehrqa_cli.contracts.types import Link
from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.text2sql.linking import Linker

Literal = tuple[str, str | int | float]

COLUMNS = {
    "prescriptions.drug": "drug",
    "d_labitems.label": "lab",
    "d_icd_diagnoses.long_title": "dx",
    "d_icd_procedures.long_title": "proc",
    "microbiologyevents.spec_type_desc": "specimen",
    "microbiologyevents.test_name": "mtest",
    "microbiologyevents.org_name": "organism",
    "transfers.careunit": "careunit",
    "prescriptions.route": "route",
    "admissions.admission_location": "admloc",
    "admissions.admission_type": "admtype",
    "admissions.discharge_location": "dischloc",
    "admissions.insurance": "insurance",
    "admissions.language": "language",
    "admissions.marital_status": "marital",
    "d_items.abbreviation": "abbrev",
}
EVENTS = {"inputevents": "intake", "outputevents": "output", "chartevents": "vital"}
FORMATS = {"%Y": "year", "%Y-%m": "ym", "%Y-%m-%d": "ymd", "%m-%d": "md", "%m": "num", "%d": "num"}


def literals(sql: str) -> set[Literal]:
    """The (type, value) pairs that a gold query of EHRSQL-2024 compares with."""
    found: set[Literal] = set()
    for column, value in re.findall(r"(\w+\.\w+) = '((?:[^']|'')*)'", sql):
        if column in COLUMNS:
            found.add((COLUMNS[column], value.replace("''", "'")))
    for column, inside in re.findall(r"(\w+\.\w+) IN \(((?: *'(?:[^']|'')*',?)+) *\)", sql):
        if column in COLUMNS:
            texts = re.findall(r"'((?:[^']|'')*)'", inside)
            found |= {(COLUMNS[column], text.replace("''", "'")) for text in texts}
    item = r"d_items\.label = '((?:[^']|'')*)' AND d_items\.linksto = '(\w+)'"
    found |= {(EVENTS[table], text.replace("''", "'")) for text, table in re.findall(item, sql)}
    found |= {("pat", int(number)) for number in re.findall(r"\bsubject_id = (\d+)", sql)}
    for form, value in re.findall(r"strftime\('(%[^']+)',[^()]+\) (?:=|>=|<=|<|>) '([\d-]+)'", sql):
        kind = FORMATS[form]
        found.add((kind, int(value) if kind == "num" else value))
    found |= {("stamp", t) for t in re.findall(r"= '(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)'", sql)}
    rest = re.sub(r"'start of \w+','-\d+ \w+'", "", sql)
    found |= {("dur", text) for text in re.findall(r"'[-+](\d+ (?:day|month|year|hour))'", rest)}
    found |= {("num", int(n)) for n in re.findall(r"T\d\.C\d (?:<=|=|>=) (\d+)\b(?!\.)", sql)}
    found |= {("num", float(n)) for n in re.findall(r"valuenum (?:=|<|>) (\d+\.\d+)", sql)}
    ages = re.findall(r"\.age BETWEEN (\d+) AND (\d+)", sql)
    found |= {("agegrp", f"{first}-{last}") for first, last in ages}
    found |= {("agegrp", f"{first}+") for first in re.findall(r"\.age >= (\d+)", sql)}
    for number, part in re.findall(r">?=? (\d+) \* 365(?:/(\d+))?", sql):
        found.add(("dur", f"{12 // int(part)} month" if part else f"{number} year"))
    return found


def holds(links: tuple[Link, ...], literal: Literal) -> bool:
    kind, value = literal
    return any(kind in link.types and link.value == value for link in links)


def measure(linker: Linker, data: Path, split: str, fuzzy: bool, misses: int) -> None:
    questions = json.loads((data / split / "data.json").read_text())["data"]
    gold = json.loads((data / split / "label.json").read_text())
    asked, missed = Counter[str](), Counter[str]()
    whole = answerable = spurious = links = 0
    extra, shown = Counter[str](), []
    begin = time.perf_counter()
    linked = {q["id"]: linker.link(q["question"], fuzzy=fuzzy) for q in questions}
    elapsed = time.perf_counter() - begin
    for question in questions:
        sql, found = gold[question["id"]], linked[question["id"]]
        if sql == "null":
            continue
        answerable += 1
        needed = literals(sql)
        asked.update(kind for kind, _ in needed)
        lacking = [literal for literal in needed if not holds(found.links, literal)]
        missed.update(kind for kind, _ in lacking)
        whole += not lacking
        links += len(found.links)
        for link in found.links:
            if not any((kind, link.value) in needed for kind in link.types):
                spurious += 1
                extra[f"{''.join(link.types)}:{question['question'][link.start : link.end]}"] += 1
        if lacking:
            shown.append((question["question"], lacking))
    total = sum(asked.values())
    print(f"{split}: {answerable} answerable questions, fuzzy={fuzzy}")
    print(f"  all literals found: {whole / answerable:.2%} of questions")
    print(f"  literals found: {1 - sum(missed.values()) / total:.2%} of {total}")
    lost = ", ".join(f"{kind} {count}/{asked[kind]}" for kind, count in missed.most_common())
    print(f"  missed by type: {lost or 'none'}")
    print(f"  links per question: {links / answerable:.2f}; spurious {spurious / answerable:.3f}")
    print(f"  {1000 * elapsed / len(questions):.3f} ms per question")
    if split == "train":
        for text, lacking in shown[:misses]:
            print("   -", text, lacking)
        print("   spurious:", dict(extra.most_common(misses)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the ehrsql-2024 folder")
    parser.add_argument("--split", choices=("train", "valid"), action="append")
    parser.add_argument("--fuzzy", action="store_true", help="with synonyms and misspellings")
    parser.add_argument("--misses", type=int, default=0, help="show this many misses (train)")
    args = parser.parse_args()
    file = (args.data / "mimic_iv.sqlite").resolve()
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    linker = Linker(ValueIndex.build(connection))
    for split in args.split or ("train", "valid"):
        measure(linker, args.data, split, args.fuzzy, args.misses)


if __name__ == "__main__":
    main()
