"""The reviewed set: what was accepted and edited, in the layout that evaluation reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ehrqa_cli import __version__
from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.sets.making import card as cards
from ehrqa_cli.sets.making.files import Plain, write_lines, writing
from ehrqa_cli.sets.making.journal import Journal
from ehrqa_cli.sets.notes.layout import GOLD, NOTES, QUESTIONS, notes_line, write_gold
from ehrqa_cli.sets.notes.review.decisions import DROPPED, Decision
from ehrqa_cli.sets.notes.review.figures import agreement, figures, together
from ehrqa_cli.sets.notes.review.items import ReviewSet

Given = Mapping[str, Mapping[str, Decision]]


def export(data: ReviewSet, reviews: Given, out: Path) -> Plain:
    """Write the items that the reviewers (by name) kept into the folder ``out``, with a card.

    The same decisions give the same bytes. Returns the card. Raises UsageError for a folder that
    holds something else, BuildError where nothing was kept or nothing can be written.
    """
    decisions = together([reviews[name] for name in sorted(reviews)])
    settings = {
        "set": "reviewed notes",
        "source": data.folder.name,
        "source_sha256": data.sha256,
        "reviewers": {name: _plain(reviews[name]) for name in sorted(reviews)},
        "ehrqa": __version__,
    }
    journal = Journal(out, settings)
    if journal.complete:
        return cards.kept(journal)
    items = [i for i in data.items if i.id in decisions and decisions[i.id].kind != DROPPED]
    if not items:
        raise BuildError(
            f"nothing of {data.folder} was accepted yet", f"ehrqa build review {data.folder}"
        )
    journal.claim()
    with writing(out):
        for split in sorted({item.split for item in items}):
            own = [item for item in items if item.split == split]
            folder = out / split
            lines = [item.line(decisions[item.id].content or item.content) for item in own]
            wanted = dict.fromkeys(item.patient_id for item in own)
            notes: list[Note] = [note for key in wanted for note in data.notes[key]]
            write_lines(folder / QUESTIONS, lines)
            write_lines(folder / NOTES, map(notes_line, notes))
            write_gold(folder / GOLD, [_gold(line) for line in lines], notes)
    names = sorted(reviews)
    card = {
        "settings": settings,
        "figures": figures(data, decisions),
        "agreement": {
            f"{a}, {b}": agreement(reviews[a], reviews[b])
            for k, a in enumerate(names)
            for b in names[k + 1 :]
        },
    }
    return cards.write_card(out, card, cards.readme("reviewed", card, rows=rows(card["figures"])))


def _plain(decisions: Mapping[str, Decision]) -> Plain:
    """Decisions by item, for the settings: what the set depends on."""
    return {
        key: decision.content.as_plain() if decision.content else decision.kind
        for key, decision in sorted(decisions.items())
    }


def _gold(line: Mapping[str, Any]) -> Plain:
    """A line with all that the gold answers need; other builders' sets may leave some out."""
    answer = line["answer"]
    text = line.get("answer_text") or (line["choices"][answer] if answer else None)
    return {**line, "answer_text": text, "evidence": line.get("evidence") or []}


def rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The figures as rows of a table, in the order in which the paper tells them."""
    revised = found["revised"]
    names = {"questions": "questions revised", "right_answers": "right answers revised",
             "wrong_choices": "wrong choices revised", "evidence": "evidence revised"}  # fmt: skip
    return [
        ("items", f"{found['items']:,}"),
        ("accepted as they were", _of(found["accepted"], found["decided"])),
        ("edited", _of(found["edited"], found["decided"])),
        ("dropped", _of(found["dropped"], found["decided"])),
        ("undecided", f"{found['undecided']:,}"),
        *((shown, _of(*revised[name])) for name, shown in names.items()),
        ("kept", _of(found["kept"], found["decided"])),
    ]


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}" + (f" ({100 * part / whole:.1f}%)" if whole else "")
