"""A set in EHRNoteQA's manner from end to end: sample, make or go on, write, count."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ehrqa_cli import __version__
from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.notes.store import NoteStore
from ehrqa_cli.sets.making import card as cards
from ehrqa_cli.sets.making.files import Plain, write_lines, writing
from ehrqa_cli.sets.making.journal import Journal
from ehrqa_cli.sets.making.shares import PARTS, SPLITS, splits_of
from ehrqa_cli.sets.notes import prompts
from ehrqa_cli.sets.notes.author import Author
from ehrqa_cli.sets.notes.layout import notes_line, question_line, write_gold
from ehrqa_cli.sets.notes.make import NoteItems, Plan
from ehrqa_cli.sets.notes.sample import STRATA, Sample, draw

Progress = Callable[[int, int, str], None]
DISCHARGE, ANY = "discharge summary", "any"


@dataclass(frozen=True)
class NotesOrder:
    """What to build: items over the notes beside the EHR ``db``, of one ``category`` ("any": all),
    as ``plan`` says, written by ``author``."""

    db: Path
    out: Path
    plan: Plan
    author: Author
    category: str = DISCHARGE

    def settings(self, store: NoteStore) -> Plain:
        """What the set depends on; the same settings give the same bytes on one machine."""
        return {
            "set": "notes",
            **asdict(self.plan),
            "notes": {"name": store.path.name, "fingerprint": store.fingerprint()},
            "category": self.category,
            "model": dict(self.author.provenance()),
            "strata": dict(STRATA),
            "splits": dict(zip(SPLITS, PARTS, strict=True)),
            "prompts_sha256": prompts_sha256(),
            "ehrqa": __version__,
        }


def prompts_sha256() -> str:
    """The SHA-256 of everything that the model is told."""
    told = [prompts.SYSTEM, *map(prompts.question_prompt, prompts.TOPICS)]
    told += [prompts.choices_prompt(""), prompts.choices_begun("", "")]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()


def build_notes(order: NotesOrder, progress: Progress = lambda _d, _a, _w: None) -> Plain:
    """Build, or go on. Returns the card. Raises UsageError for a folder that holds something else,
    BuildError when nothing can be made or written, DatabaseError without notes, ModelError."""
    with NoteStore.open(order.db) as store:
        journal = Journal(order.out, order.settings(store))
        if journal.complete:
            return cards.kept(journal)
        maker = _maker(order, store, progress)

        def attempt(done: Plain | None) -> Plain | None:
            found = maker.attempt(done)
            progress(maker.made, order.plan.size, "items")
            return found

        try:
            journal.run(attempt)
        finally:
            order.author.close()
        lines = list(journal.lines())
        items = [line for line in lines if "failed" not in line]
        card = {
            "settings": journal.settings,
            "sample": _sampled(lines[0]["sample"]),
            "counts": counts(items),
            "attempts": _attempts(lines),
        }
        if not items:
            why = ", ".join(f"{n} x {w}" for w, n in card["attempts"]["failed"].items())
            raise BuildError(
                f"no question could be made over the notes of {order.db} ({why or 'no patient'})",
                "try a larger model with --model, or --category any",
            )
        _write(journal, items, lambda patient: _of_category(order, store, patient))
    return cards.finish(journal, card, cards.readme("notes", card))


def _maker(order: NotesOrder, store: NoteStore, progress: Progress) -> NoteItems:
    patients = store.patients()
    splits = splits_of(patients, order.plan.seed)

    def notes_of(patient: int) -> list[Note]:
        return _of_category(order, store, patient)

    def drawn() -> Sample:
        wanted = math.ceil(order.plan.size / order.plan.per_patient)
        sample = draw(
            patients,
            notes_of,
            wanted,
            order.plan.seed,
            lambda done, all_: progress(done, all_, "patients"),
        )
        if not any(sample.patients.values()):
            raise BuildError(
                f"no patient of {order.db} has notes of the lengths that are asked about",
                f"import notes, or take those of every kind with --category {ANY}",
            )
        return sample

    return NoteItems(order.plan, order.author, drawn, notes_of, splits.__getitem__)


def _of_category(order: NotesOrder, store: NoteStore, patient: int) -> list[Note]:
    return [n for n in store.notes(patient) if order.category in (ANY, n.category)]


def counts(items: Iterable[Plain]) -> Plain:
    """Counts of items as the paper's tables 2 and 3 have them, by split, level and number of
    notes, category, and right letter."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    total = longest = flagged = copied = told = 0
    for item in items:
        total += 1
        found["split"][item.get("split") or "all"] += 1
        found["level"][f"level {item['level']}, {item['num_notes']} notes"] += 1
        found["category"][item["category"]] += 1
        found["answer"][str(item["answer"] or "none")] += 1
        flagged += bool(item.get("flags"))
        copied += bool(item.get("checks", {}).get("evidence_copied"))
        told += bool(item.get("checks", {}).get("answer_told"))
        right = item["choices"].get(item["answer"] or "")
        if right is not None:
            others = [v for k, v in item["choices"].items() if k != item["answer"]]
            longest += all(len(right) > len(text) for text in others)
    return {
        "questions": total,
        **{f"by_{name}": dict(sorted(rows.items())) for name, rows in sorted(found.items())},
        "right_choice_is_the_longest": longest,
        "flagged_for_the_reviewer": flagged,
        "evidence_copied": copied,
        "step_2_was_told_the_answer": told,
    }


def _sampled(sample: Plain) -> Plain:
    """Patients of the source by stratum, as in table 2, with their mean length in tokens."""
    return {
        name: {"patients": n, "mean_tokens": round(sample["tokens"][name] / n)}
        for name, n in sample["counts"].items()
    }


def _attempts(lines: Iterable[Plain]) -> Plain:
    tried = made = 0
    why: Counter[str] = Counter()
    for line in lines:
        if "sample" in line:
            continue
        tried += 1
        made += "failed" not in line
        why.update(line.get("why", {}))
    return {
        "attempts": tried,
        "items": made,
        "yield": round(made / tried, 3) if tried else 0.0,
        "failed": dict(sorted(why.items())),
    }


def _write(journal: Journal, items: list[Plain], notes_of: Callable[[int], list[Note]]) -> None:
    with writing(journal.out):
        for split in SPLITS:
            own = [item for item in items if item["split"] == split]
            folder = journal.out / split
            patients = sorted({int(item["patient_id"]) for item in own})

            def notes(patients: list[int] = patients) -> Iterator[Note]:
                for patient in patients:
                    yield from notes_of(patient)

            write_lines(folder / "questions.jsonl", map(question_line, own))
            write_lines(folder / "notes.jsonl", map(notes_line, notes()))
            write_gold(folder / "gold.json", own, notes())
