"""The authored questions (models/corpus/questions) as pairs for the trainer.

``python authored.py --db EHR.sqlite --out authored.jsonl FILE...``. A question's placeholders are
filled with values, the linker reads it as it reads a user's, and the form gets the numbers of the
links. What the linker does not find is said in a name that the database has; what it still does
not find is dropped, counted and reported.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prepare import writable

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.ehr import cxr_vocabulary
from ehrqa_cli.encoder.tokens import THEN
from ehrqa_cli.logical_form import normalise, parse, print_form
from ehrqa_cli.logical_form.form import Arg, Event, Filter, Form, Lit, Ref, map_args, map_events
from ehrqa_cli.logical_form.grammar import INT_SLOTS, RESTRICTIONS

SLOT = re.compile(r"\{(\w+):([^{}]+)\}")
DATES = ("year", "ym", "ymd", "md", "stamp", "mon", "quarter", "num")
_TRIES = 4
_MONTHS = ["January", "March", "April", "June", "July", "August", "October", "November", "December"]


@dataclass(frozen=True)
class Slot:
    """A placeholder: its type, and where its words stand in the filled question."""

    kind: str
    start: int
    end: int
    words: str


class Writer:
    """Fills and links questions over one database."""

    def __init__(self, database: str) -> None:
        from ehrqa_cli.engine.session import Session

        session = Session(db=Path(database))
        linker: Any = session.linker
        self.linker, index = linker, linker.index
        self.numbers = {
            "pat": sorted(index.patients),
            "study": sorted(index.studies),
            "adm": sorted(index.admissions),
            "stay": sorted(index.stays),
        }
        self.names = {kind: sorted(values) for kind, values in index.strings.items()}
        found: dict[str, list[str]] = {}
        for kind, name, _ in cxr_vocabulary.entries():
            found.setdefault(kind, []).append(name)
        self.names.update({kind: sorted(set(names)) for kind, names in found.items()})

    def name(self, kind: str, words: str, rng: random.Random) -> str:
        """Another value of this type, as plain as can be."""
        if kind == "num":
            whole = re.fullmatch(r"\d+(\.\d+)?", words)
            return words if whole else str(rng.randint(2, 99))
        if kind == "dur":
            unit = next((u for u in ("hour", "week", "month", "year") if u[:2] in words), "day")
            return f"{rng.randint(2, 60)} {unit}s"
        if kind == "agegrp":
            return f"{rng.randint(2, 8)}0s"
        if kind == "dow":
            return rng.choice(
                ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
            )
        if kind == "date":
            year, month = rng.randint(2110, 2190), rng.choice(_MONTHS)
            return rng.choice(
                [f"{year}", f"{month} {year}", f"{month} {rng.randint(1, 28)}, {year}"]
            )
        return rng.choice(self.names.get(kind) or [words])

    def fill(self, text: str, other: frozenset[int], rng: random.Random) -> tuple[str, list[Slot]]:
        """The question with its placeholders' words, those of the slots ``other`` replaced."""
        made, slots, place = "", [], 0
        chosen: dict[tuple[str, str], str] = {}
        for number, match in enumerate(SLOT.finditer(text)):
            kind, words = match.groups()
            if kind in self.numbers:
                said = str(rng.choice(self.numbers[kind] or [words]))
            else:
                said = self.name(kind, words, rng) if number in other else words
            said = chosen.setdefault((kind, words), said)
            made += text[place : match.start()]
            slots.append(Slot(kind, len(made), len(made) + len(said), said))
            made, place = made + said, match.end()
        return made + text[place:], slots

    def linked(
        self, text: str, other: frozenset[int], rng: random.Random
    ) -> tuple[LinkedQuestion, list[Slot], list[int | str | None], frozenset[int]]:
        """The filled question with its links, its slots and what they became; a slot whose words
        are not found is said in another name (``other``: all that are). Raises EhrqaError."""
        for _ in range(_TRIES):
            made, slots = self.fill(text, other, rng)
            linked = self.linker.link(made)
            found = found_links(slots, linked)
            missed = unlinked(slots, found)
            if not missed:
                break
            other |= missed
        return linked, slots, found, other


def unlinked(slots: Sequence[Slot], found: Sequence[int | str | None]) -> frozenset[int]:
    """The slots that became no link; a single digit may stay a number in the form."""
    return frozenset(
        k
        for k, (slot, to) in enumerate(zip(slots, found, strict=True))
        if to is None and not (slot.kind == "num" and slot.words.isdigit() and len(slot.words) < 2)
    )


def _fits(slot: Slot, link: Link) -> bool:
    wanted = (
        DATES if slot.kind == "date" else ("attr", "cat") if slot.kind == "attr" else (slot.kind,)
    )
    overlaps = link.start < slot.end and slot.start < link.end
    return overlaps and bool(set(wanted) & set(link.types))


def found_links(slots: Sequence[Slot], linked: LinkedQuestion) -> list[int | str | None]:
    """For each slot the number of its link (from 1), the kind of restriction that it became, or
    None."""
    found: list[int | str | None] = []
    for slot in slots:
        number = next((k for k, link in enumerate(linked.links, 1) if _fits(slot, link)), None)
        limits = (x for x in linked.restrictions if x.start < slot.end and slot.start < x.end)
        limit = next(limits, None)
        found.append(number or (limit.types[0] if limit else None))
    return found


def renumbered(
    form: str, slots: Sequence[Slot], found: Sequence[int | str | None], links: Sequence[Link] = ()
) -> Form | None:
    """The form over links; without what the linker takes as a restriction. None: it cannot be.

    A small number that the form has as it is becomes the link that says it, where there is one.
    """
    lost = False
    used = {to for to in found if isinstance(to, int)}

    def number(arg: Arg, slot: str) -> Arg:
        nonlocal lost
        if isinstance(arg, Lit):
            said = (k for k, x in enumerate(links, 1) if x.types == ("num",) and k not in used)
            same = next((k for k in said if links[k - 1].value == arg.value), None)
            if slot not in INT_SLOTS or same is None:
                return arg
            used.add(same)
            return Ref(same)
        to = found[arg.n - 1]
        if isinstance(to, int):
            return Ref(to)
        words = slots[arg.n - 1].words
        if to is None and slot in INT_SLOTS and words.isdigit() and 1 <= int(words) <= 10:
            return Lit(int(words))
        lost = lost or to is None or slot not in RESTRICTIONS
        return Ref(arg.n) if to is None else Lit(f"{RESTRICTED}{to}")

    def unrestricted(event: Event) -> Event:
        return replace(event, filters=tuple(f for f in event.filters if not _restricts(f)))

    made = map_args(parse(form), number)
    return None if lost else normalise(map_events(made, unrestricted))


RESTRICTED = "\0"


def _restricts(item: Filter) -> bool:
    args = [a for a in item.args if isinstance(a, Lit) and str(a.value).startswith(RESTRICTED)]
    return bool(args)


_writer: Writer | None = None


def _start(database: str) -> None:
    global _writer
    _writer = Writer(database)


def pair(job: tuple[dict[str, Any], int]) -> tuple[dict[str, Any] | None, str]:
    """The row of one question (``variant`` > 0: in other names) or None, and why."""
    assert _writer is not None
    row, variant = job
    rng = random.Random(f"{row['id']}/{variant}")
    count = len(SLOT.findall(row["q"]))
    other = frozenset(range(count)) if variant else frozenset()
    try:
        linked, slots, found, other = _writer.linked(row["q"], other, rng)
    except EhrqaError as error:
        return None, f"error {error}"
    missed = unlinked(slots, found)
    if len(linked.links) > 16:
        return None, "over 16 links"
    form: str | None = row["form"]
    if form != "abstain":
        if missed:
            return None, f"unlinked {slots[min(missed)].kind}"
        try:
            made = renumbered(row["form"], slots, found, linked.links)
        except EhrqaError as error:
            return None, f"error {error}"
        if made is None:
            return None, "restriction"
        form = print_form(made)
        if not writable(form, linked.links):
            return None, "not writable"
    out = {
        "text": linked.text,
        "form": form,
        "types": [link.types for link in linked.links],
        "source": row.get("source", "authored"),
        "template": row["id"],
        "family": row.get("family", ""),
        "split": row.get("split", "train"),
    }
    return out, "kept"


def rows(paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """One row a question: of a conversation the first, and each follow-up as a whole question and
    (its id ends in ``+``) as it was said, after what was asked before."""
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip():
                continue
            row = json.loads(line)
            key = row.get("id") or f"{path.stem}-{number}"
            shared = {k: row[k] for k in ("split", "source") if k in row}
            if "turns" not in row:
                yield {**shared, "id": key, "q": row["q"], "form": row.get("form", "abstain")}
                continue
            yield from _turns(row["turns"], key, shared)


def _turns(
    turns: list[dict[str, str]], key: str, shared: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    before = ""
    for number, turn in enumerate(turns):
        whole = turn.get("full", turn["q"])
        yield {**shared, "id": f"{key}.{number}", "q": whole, "form": turn["form"]}
        if number and (form := _after(before, turn)) is not None:
            said = f"{before} {THEN} {turn['q']}"
            yield {**shared, "id": f"{key}.{number}+", "q": said, "form": form}
        before = whole


def _after(before: str, turn: dict[str, str]) -> str | None:
    """The form of a follow-up over the placeholders of what was asked before and of what is said
    now; None where it needs one that neither has."""
    found = SLOT.findall(f"{before} {turn['q']}")
    last = {slot: number for number, slot in enumerate(found, 1)}
    slots = SLOT.findall(turn["full"])
    if not set(slots) <= set(last):
        return None
    return re.sub(r"#(\d+)", lambda m: f"#{last[slots[int(m[1]) - 1]]}", turn["form"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--db", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--split", default="train", help="train, tune, held or family")
    parser.add_argument("--variants", type=int, default=2)
    parser.add_argument("--dropped", type=Path, help="write what was dropped, and why, here")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    dropped = args.dropped.open("w") if args.dropped else None
    found = (row for row in rows(args.files) if row.get("split", args.split) == args.split)
    work = [(row, v) for row in found for v in range(args.variants)]
    with multiprocessing.Pool(args.workers, _start, (args.db,)) as pool, args.out.open("w") as out:
        for (row, _), (made, why) in zip(work, pool.imap(pair, work, chunksize=32), strict=True):
            if made and (made["text"], made["form"]) in seen:
                made, why = None, "repeated"
            counts[why] += 1
            if made:
                seen.add((made["text"], made["form"]))
                out.write(json.dumps(made) + "\n")
            elif dropped and why != "repeated":
                dropped.write(
                    json.dumps({"why": why, "id": row["id"], "q": row["q"], "form": row["form"]})
                    + "\n"
                )
    for why, n in counts.most_common():
        print(f"{why:30} {n:7}", file=sys.stderr)


if __name__ == "__main__":
    main()
