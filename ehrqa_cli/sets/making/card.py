"""The data card of a set: what it was made from and how, what is in it, what was checked, and the
SHA-256 of every file. ``card.json`` for programs, ``README.md`` for people; written last, so that a
set with a card is complete."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.sets.making.files import Plain, replace_text, writing
from ehrqa_cli.sets.making.journal import CARD, WORK, Journal

README = "README.md"
_TIMES = {
    "global": re.compile(
        r"\b(in|since|before_date|since_ago|until_ago) [\"\d]|\b(this|last)_(year|month)\b"
        r"|\b(today|yesterday)\b|\b(visit|icu) \w+"
    ),
    "exact": re.compile(r"(?<!visit )(?<!icu )\b(first|last|second|second_last|third)\b"),
    "within": re.compile(r"\bsame(visit|month|day|time|period)\b|\bwithin \""),
}


def tally(records: Iterable[Plain], fields: Sequence[str]) -> dict[str, Any]:
    """Counts of a set: by split, by each of the ``fields``, by template, by kind of answer, and by
    the kinds of time filter that the forms have; questions and answers that should not be."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("split", *fields)}
    templates: Counter[str] = Counter()
    answers: Counter[str] = Counter()
    times: Counter[str] = Counter()
    seen: set[bytes] = set()
    twice = empty = 0
    for record in records:
        for name, counter in counts.items():
            counter[str(record[name])] += 1
        templates[f"{record['family']}: {record['template']}"] += 1
        answers[_kind(record)] += 1
        times.update(n for n, p in _TIMES.items() if p.search(record.get("form") or ""))
        mark = hashlib.blake2b(_asked(record).encode(), digest_size=10).digest()
        twice += mark in seen
        seen.add(mark)
        empty += record["answer"] == []
    return {
        "questions": sum(templates.values()),
        **{f"by_{name}": dict(sorted(counter.items())) for name, counter in counts.items()},
        "by_answer": dict(sorted(answers.items())),
        "by_time_filter": dict(sorted(times.items())),
        "by_template": dict(sorted(templates.items())),
        "duplicate_questions": twice,
        "empty_answers": empty,
    }


def failures(lines: Iterable[Plain], templates: Sequence[str]) -> dict[str, Any]:
    """Attempts that gave no question, why, and the templates that gave none at all."""
    why: Counter[str] = Counter()
    count = 0
    filled: set[str] = set()
    for line in lines:
        if "failed" not in line:
            filled.add(f"{line['family']}: {line['template']}")
            continue
        count += 1
        why.update(line["why"])
    lacking = [name for name in templates if name not in filled]
    return {
        "templates": len(templates),
        "templates_filled": len(templates) - len(lacking),
        "templates_not_filled": lacking,
        "attempts_without_a_question": count,
        "reasons": dict(sorted(why.items())),
    }


def write_card(out: Path, card: Mapping[str, Any], readme: str) -> Plain:
    """Hash every file of the set and write the card. Raises BuildError."""
    with writing(out):
        complete = {**card, "sha256": hashes(out)}
        text = readme.rstrip("\n") + "\n\n" + _files(complete["sha256"])
        replace_text(out / README, text)
        replace_text(out / CARD, json.dumps(complete, indent=1, ensure_ascii=False) + "\n")
    return complete


def finish(journal: Journal, card: Mapping[str, Any], readme: str) -> Plain:
    """Write the card of a set, which is then complete. Returns it. Raises BuildError."""
    complete = write_card(journal.out, card, readme)
    journal.clear()
    return complete


def kept(journal: Journal) -> Plain:
    """The card of a set that is complete already. Raises BuildError when its files changed."""
    card = read_card(journal.out)
    refuse_changed(journal.out, card, "build into another folder, or delete that one")
    return card


def refuse_changed(out: Path, card: Mapping[str, Any], hint: str) -> None:
    """Raises BuildError when files of a complete set are not as they were written, or are gone."""
    now = hashes(out)
    changed = sorted(name for name, value in card["sha256"].items() if now.get(name) != value)
    if changed:
        shown = ", ".join(changed[:3])
        raise BuildError(f"{out} was changed since it was built ({shown})", hint)


def read_card(out: Path) -> Plain:
    """The card of a complete set."""
    card: Plain = json.loads((out / CARD).read_text(encoding="utf-8"))
    return card


def hashes(out: Path) -> dict[str, str]:
    """SHA-256 by file, all but the card and its README."""
    found = {}
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out).as_posix()
        if path.is_file() and name not in (CARD, README) and not name.startswith(WORK):
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def readme(kind: str, card: Mapping[str, Any], **more: object) -> str:
    """What a set's README says, from its card, by the template readme/KIND.md.jinja; ``more`` is
    what the template asks for beside the card."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    pages = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("readme")),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    pages.filters["number"] = "{:,}".format
    return pages.get_template(f"{kind}.md.jinja").render(**card, **more)


def _files(found: Mapping[str, str]) -> str:
    rows = "".join(f"| `{name}` | `{value}` |\n" for name, value in found.items())
    return f"## Files\n\n| file | SHA-256 |\n|---|---|\n{rows}"


def _kind(record: Plain) -> str:
    if record["answer"] is None:
        return "none"
    if record["key"] in ("yes", "no"):
        return str(record["key"])
    return "one value" if len(record["answer"]) == 1 else "several"


def _asked(record: Plain) -> str:
    # A question about one image says nothing of the image in its words.
    return f"{record.get('study_id', '')} " + " ".join(record["question"].lower().split())
