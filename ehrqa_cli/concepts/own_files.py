"""The files that a user's own concepts stand in, read into `own_types.Own`."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ehrqa_cli.concepts.own_types import CHANGES, KINDS, Members, Own
from ehrqa_cli.contracts.errors import UsageError

_MEMBERS = ("icd", "items", "drugs", "names")
_KEYS = ("name", "phrases", "kind", *_MEMBERS, *CHANGES)
_COLUMNS = ("name", "code")
_DOMAINS = {"condition": "dx", "drug": "drug", "measurement": "lab", "procedure": "proc"}
_EXAMPLE = 'as in: [[concept]] name = "respiratory failure here", icd = ["J96.*"]'


def from_toml(text: str, path: Path) -> list[Own]:
    """The ``[[concept]]`` tables of a TOML file. Raises UsageError."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is no TOML: {error}", "see docs/concepts.md") from None
    entries = data.get("concept")
    if set(data) != {"concept"} or not isinstance(entries, list):
        odd = next((key for key in data if key != "concept"), "")
        what = f"{path}: what is '{odd}'?" if odd else f"{path} has no [[concept]]"
        raise UsageError(what, _EXAMPLE)
    return [_entry(entry, f"{path}, concept {n}", path) for n, entry in enumerate(entries, 1)]


def _entry(entry: Mapping[str, Any], where: str, path: Path) -> Own:
    for key in entry:
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(_KEYS)}"
            raise UsageError(f"{where}: what is '{key}'?", hint)
    lists = {key: _texts(entry.get(key, []), key, where) for key in ("phrases", *_MEMBERS)}
    name, kind = (_text(entry.get(key, ""), key, where) for key in ("name", "kind"))
    changes = [key for key in CHANGES if key in entry]
    if len(changes) > 1:
        raise UsageError(f"{where}: {' and '.join(changes)} in one", "write a [[concept]] for each")
    if not name and not changes:
        raise UsageError(f"{where} has no name", _EXAMPLE)
    members = _members(**{key: lists[key] for key in _MEMBERS})
    if members == Members():
        raise UsageError(f"{where} has no members", "add icd, items, drugs or names: lists of text")
    change = changes[0] if changes else ""
    return Own(
        name=name,
        phrases=lists["phrases"],
        kind=_kind(kind, where),
        members=members,
        change=change,
        of=_text(entry.get(change, ""), change, where),
        source=str(path),
    )


def _members(
    icd: Iterable[str] = (),
    items: Iterable[str] = (),
    drugs: Iterable[str] = (),
    names: Iterable[str] = (),
    titles: Iterable[str] = (),
) -> Members:
    """Members as they are compared: small letters, codes without dots."""
    codes = (code.lower().replace(".", "") for code in icd)
    rest = (tuple(text.lower() for text in texts) for texts in (items, drugs, names, titles))
    return Members(tuple(codes), *rest)


def _texts(value: object, key: str, where: str) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(text, str | int) for text in value):
        return tuple(str(text).strip() for text in value)
    raise UsageError(f"{where}: {key} is no list of text", f'write {key} = ["...", "..."]')


def _text(value: object, key: str, where: str) -> str:
    if isinstance(value, str):
        return value.strip()
    raise UsageError(f"{where}: {key} is no text", f'write {key} = "..."')


def _kind(kind: str, where: str) -> str:
    if kind and kind not in KINDS:
        raise UsageError(f"{where}: there is no kind '{kind}'", f"known are {', '.join(KINDS)}")
    return kind


def from_csv(text: str, path: Path) -> list[Own]:
    """A table with the columns name and code, and system, kind and phrases (parted by ``|``) if it
    has them: a line a code, one concept a name. Raises UsageError."""
    reader = csv.DictReader(io.StringIO(text))
    reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
    for column in _COLUMNS:
        if column not in reader.fieldnames:
            raise UsageError(
                f"{path} has no column '{column}'",
                "its first line names the columns: name,code and if you like system,kind,phrases",
            )
    lines: dict[str, list[dict[str, str]]] = {}
    for number, row in enumerate(reader, 2):
        cells = {key: (row.get(key) or "").strip() for key in reader.fieldnames}
        if not cells["name"] or not cells["code"]:
            raise UsageError(f"{path}, line {number} has no name or no code", "fill it, or drop it")
        lines.setdefault(cells["name"], []).append(cells | {"line": str(number)})
    return [_of_lines(name, rows, path) for name, rows in lines.items()]


def _of_lines(name: str, rows: Iterable[Mapping[str, str]], path: Path) -> Own:
    icd: list[str] = []
    items: list[str] = []
    phrases: dict[str, None] = {}
    kind = ""
    for row in rows:
        coded = row.get("system", "").lower().startswith("icd")
        (icd if coded else items).append(row["code"])
        phrases |= dict.fromkeys(p.strip() for p in row.get("phrases", "").split("|") if p.strip())
        kind = kind or _kind(row.get("kind", ""), f"{path}, line {row['line']}")
    return Own(name, tuple(phrases), kind, _members(icd=icd, items=items), source=str(path))


def from_omop(text: str, path: Path) -> list[Own]:
    """The concept sets of a JSON file of ATLAS: one expression, one set, or those of a cohort.

    Codes of ICD stand for those below them where descendants are wanted; other codes, concept ids
    and names stand for themselves, and a drug's name for all names that hold it. Raises UsageError.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path} is no JSON: {error}", "export the concept set again") from None
    if isinstance(data, Mapping):
        data = data.get("ConceptSets", data.get("conceptSets", [data]))
    if not isinstance(data, list) or not data:
        raise UsageError(f"{path} has no concept set", "export its expression from ATLAS as JSON")
    return [_concept_set(one, path) for one in data]


def _concept_set(data: object, path: Path) -> Own:
    inner = data.get("expression", data) if isinstance(data, Mapping) else None
    entries = inner.get("items") if isinstance(inner, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(entries, list) or not entries:
        raise UsageError(
            f"{path} has a concept set without items", "export its expression from ATLAS as JSON"
        )
    inside: list[Mapping[str, Any]] = []
    outside: list[Mapping[str, Any]] = []
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("concept"), Mapping):
            raise UsageError(f"{path}, item {number} has no concept", "export it again from ATLAS")
        (outside if entry.get("isExcluded") else inside).append(entry)
    domains = {str(entry["concept"].get("DOMAIN_ID", "")).lower() for entry in inside}
    kind = _DOMAINS.get(domains.pop(), "") if len(domains) == 1 else ""
    name = str(data.get("name") or path.stem)
    return Own(name, (), kind, _omop(inside), _omop(outside), source=str(path))


def _omop(entries: Iterable[Mapping[str, Any]]) -> Members:
    icd: list[str] = []
    items: list[str] = []
    drugs: list[str] = []
    titles: list[str] = []
    for entry in entries:
        concept = entry["concept"]
        code, title = (str(concept.get(key, "")) for key in ("CONCEPT_CODE", "CONCEPT_NAME"))
        below = bool(entry.get("includeDescendants"))
        vocabulary = str(concept.get("VOCABULARY_ID", "")).lower()
        if vocabulary.startswith("icd"):
            icd.append(f"{code}*" if below else code)
            continue
        items += [text for text in (code, str(concept.get("CONCEPT_ID", ""))) if text]
        if title:
            (drugs if below and vocabulary.startswith("rxnorm") else titles).append(title)
    return _members(icd=icd, items=items, drugs=drugs, titles=titles)
