"""Annotation files of i2b2's challenges, read as facts.

Medications (Uzuner et al. 2010a), relations (Uzuner et al. 2011), co-reference (Uzuner et al. 2012)
and heart disease risk factors (Stubbs and Uzuner 2015), the sources that Pampari et al. 2018,
section 4.3, lists beside smoking and obesity. Lines count from 1 and words from 0 in the first
three; the fourth counts characters.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as Xml

from ehrqa_cli.contracts.errors import BuildError
from ehrqa_papers.emrqa_sets.facts import AnnotatedNote, Fact, Lines, Mention

MEDICATION, RELATIONS, RISK = "medication", "relations", "risk"
_FIELD = re.compile(r'^(?P<name>\w+)="(?P<text>.*)"(?P<place>(?:\s+\d+:\d+\s+\d+:\d+,?)*)$')
_PLACE = re.compile(r"(\d+):(\d+)\s+(\d+):(\d+)")
_NOT_MENTIONED = "nm"
# Of an entry of the medication challenge.
_ROLES = {"m": "medication", "do": "dosage", "mo": "route", "f": "frequency", "du": "duration",
          "r": "reason"}  # fmt: skip
# Of a relation: the roles of what stands before and after it.
_RELATIONS = {"Tr": ("treatment", "problem"), "Te": ("test", "problem"), "PI": ("problem", "other")}
_STEM = re.compile(r"(\.txt)?\.(chains|con|ast|rel|entries|i2b2(\.entries)?)$|_gold\.entries$")


@dataclass(frozen=True)
class _Files:
    """The files about one note, by kind, and its text."""

    stem: str
    text: Path
    by_kind: Mapping[str, Path]


def tree_sha256(folder: Path) -> str:
    """A SHA-256 of the names and bytes of all files under the folder."""
    summed = hashlib.sha256()
    try:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            summed.update(f"{path.relative_to(folder).as_posix()}\0{digest}\n".encode())
    except OSError as error:
        raise BuildError(f"cannot read {folder}: {error.strerror}", "check the path") from None
    return summed.hexdigest()


def read_annotations(folder: Path) -> Iterator[AnnotatedNote]:
    """Every annotated note under the folder: medications, relations, risk factors, in the order of
    their names. Raises BuildError for a folder without any, and a file that is broken."""
    if not folder.is_dir():
        raise BuildError(f"{folder} is not a folder", "give that of the annotations")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    texts: dict[str, list[Path]] = defaultdict(list)
    for path in paths:
        if path.suffix.lower() == ".txt" or not path.suffix:
            texts[path.name.removesuffix(".txt")].append(path)
    for found in _annotated(paths, texts, {"entries", "i2b2"}):
        yield _medications(found)
    for found in _annotated(paths, texts, {"con", "ast", "rel", "chains"}):
        yield _relations(found)
    for path in paths:
        if path.suffix.lower() == ".xml":
            yield from _risk(path)


def _annotated(
    paths: Iterable[Path], texts: Mapping[str, Sequence[Path]], kinds: set[str]
) -> Iterator[_Files]:
    by_stem: dict[str, dict[str, Path]] = defaultdict(dict)
    for path in paths:
        if path.suffix[1:].lower() in kinds:
            by_stem[_STEM.sub("", path.name)][path.suffix[1:].lower()] = path
    for stem, found in sorted(by_stem.items()):
        first = next(iter(found.values()))
        near = [t for t in texts.get(stem, ()) if t not in found.values()]
        if not near:
            raise BuildError(
                f"{first} annotates a note that is not there",
                f"put {stem}.txt into the same folder tree",
            )
        # Two challenges may have notes of one name: the text is the one that lies nearest.
        near.sort(key=lambda text: (-_shared(text, first), text.as_posix()))
        yield _Files(stem, near[0], found)


def _shared(one: Path, other: Path) -> int:
    count = 0
    for a, b in zip(one.parts, other.parts, strict=False):
        if a != b:
            break
        count += 1
    return count


class _Reader:
    """The entries of one note's files, with their words as they stand in the note."""

    def __init__(self, text: str) -> None:
        self.lines = Lines(text)
        self.lost = 0

    def entries(self, path: Path) -> Iterator[list[tuple[str, Mention | str | None]]]:
        """The fields of each line: a name with a mention, with plain text, or with None where it
        is not mentioned or does not stand where it says (which is counted)."""
        for number, line in enumerate(_read(path).splitlines(), 1):
            if line.strip():
                yield [self._field(part, path, number) for part in line.strip().split("||")]

    def _field(self, part: str, path: Path, number: int) -> tuple[str, Mention | str | None]:
        found = _FIELD.match(part.strip())
        if found is None:
            raise BuildError(
                f"line {number} of {path} is no annotation: {part[:40]!r}",
                'expected fields such as m="aspirin" 12:0 12:0, with || between',
            )
        name, said = found["name"], found["text"]
        place = _PLACE.search(found["place"])
        if place is None:
            return name, None if said == _NOT_MENTIONED else said
        return name, self.mention(said, *map(int, place.groups()))

    def mention(self, said: str, first: int, start: int, last: int, end: int) -> Mention | None:
        """The piece of the note that an annotation points at; None where other words are there."""
        text = self.lines.words(first - 1, start, last - 1, end)
        if text is None or _plain(text) not in _plain(said):  # pieces with gaps name all of them
            self.lost += 1
            return None
        return Mention(text, first - 1, last - 1, start)


def _plain(text: str) -> str:
    return "".join(text.lower().split())


def _medications(files: _Files) -> AnnotatedNote:
    text = _read(files.text)
    reader = _Reader(text)
    facts = []
    for path in files.by_kind.values():
        for entry in reader.entries(path):
            roles = {
                _ROLES[name]: found
                for name, found in entry
                if name in _ROLES and isinstance(found, Mention)
            }
            if "medication" in roles:
                facts.append(Fact(MEDICATION, roles))
    return AnnotatedNote(MEDICATION, files.stem, files.stem, text, tuple(facts), lost=reader.lost)


def _relations(files: _Files) -> AnnotatedNote:
    text = _read(files.text)
    reader = _Reader(text)
    facts: list[Fact] = []
    chains = []
    for kind, path in sorted(files.by_kind.items()):
        for entry in reader.entries(path):
            mentions = [found for name, found in entry if name == "c"]
            said = {name: found for name, found in entry if isinstance(found, str)}
            fact = _fact(kind, mentions, said)
            if fact is not None:
                facts.append(fact)
            elif kind == "chains":
                chains.append(tuple(m for m in mentions if isinstance(m, Mention)))
    return AnnotatedNote(
        RELATIONS, files.stem, files.stem, text, tuple(facts), tuple(chains), lost=reader.lost
    )


def _fact(
    kind: str, mentions: Sequence[Mention | str | None], said: Mapping[str, str]
) -> Fact | None:
    placed = [m for m in mentions if isinstance(m, Mention)]
    if len(placed) < len(mentions) or not placed:
        return None
    if kind == "con":
        return Fact(said.get("t", ""), {said.get("t", ""): placed[0]})
    if kind == "ast":
        return Fact(said.get("a", ""), {"problem": placed[0]})
    if kind == "rel" and len(placed) == 2:
        roles = _RELATIONS.get(said.get("r", "")[:2])
        return Fact(said["r"], dict(zip(roles, placed, strict=True))) if roles else None
    return None


# The tags of the risk factor challenge whose annotations say what kind they are in these fields.
_RISK_KINDS = ("indicator", "type1", "status")


def _risk(path: Path) -> Iterator[AnnotatedNote]:
    try:
        root = Xml.fromstring(_read(path))
    except Xml.ParseError as error:
        raise BuildError(
            f"{path} is not XML: {error}", "it may be half a download; fetch it again"
        ) from None
    text, tags = root.findtext("TEXT"), root.find("TAGS")
    if text is None or tags is None:
        return  # smoking's and obesity's files are read elsewhere
    lines = Lines(text)
    facts, lost = [], 0
    for tag in tags.iter():
        if tag.get("start") in (None, "-1"):  # said of the whole note
            continue
        mention = _at(lines, text, tag)
        if mention is None:
            lost += 1
            continue
        roles = {"value": mention}
        if tag.get("type1"):
            roles["medclass"] = Mention(tag.get("type1", "").lower())
        kind = next((tag.get(name) for name in _RISK_KINDS if tag.get(name)), "mention")
        name = tag.tag.lower()
        kind = "" if name in ("medication", "family_hist") else f": {str(kind).lower()}"
        facts.append(Fact(f"{name}{kind}", roles))
        if tag.get("time"):
            facts.append(Fact(f"{name}{kind}, {tag.get('time', '').lower()}", roles))
    # 220-03: the third note of patient 220.
    yield AnnotatedNote(RISK, path.stem, path.stem.split("-")[0], text, tuple(facts), lost=lost)


def _at(lines: Lines, text: str, tag: Xml.Element) -> Mention | None:
    try:
        start, end = int(tag.get("start", "")), int(tag.get("end", ""))
    except ValueError:
        return None
    found = text[start:end] if 0 <= start < end <= len(text) else ""
    if not found.strip() or _plain(found) != _plain(tag.get("text", "")):
        return None
    first = lines.line_at(start)
    token = len(text[lines.start(first) : start].split())
    return Mention(found, first, lines.line_at(end - 1), token)


def _read(path: Path) -> str:
    try:
        # A line break is one character here as in the challenge's own counting.
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return path.read_text(encoding="latin-1")
    except OSError as error:
        raise BuildError(f"cannot read {path}: {error.strerror}", "check the path") from None
