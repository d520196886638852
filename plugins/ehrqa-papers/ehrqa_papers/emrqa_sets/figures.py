"""The counts of the paper's table 1 and section 5, over a set as it was made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from ehrqa_papers.emrqa_sets.paraphrases import words_of

Plain = dict[str, Any]


class Figures:
    """Counts that grow note by note."""

    def __init__(self) -> None:
        self.by_title: dict[str, Counter[str]] = defaultdict(Counter)
        self.by_split: Counter[str] = Counter()
        self.types: Counter[str] = Counter()
        self.answered: set[str] = set()
        self.lines: Counter[int] = Counter()
        self.lengths: Counter[str] = Counter()
        self.sizes: Counter[str] = Counter()
        self.too_many = 0
        self.lost = 0

    def add(self, note: Plain) -> None:
        """Count a note's record."""
        own = self.by_title[note["title"]]
        own["notes"] += 1
        own["labels"] += bool(note["labelled"])
        self.lost += note["lost"]
        self._long("note", len(words_of(note["context"])))
        for one in note["questions"]:
            self._question(note, one, own)

    def _question(self, note: Plain, one: Plain, own: Counter[str]) -> None:
        key = f"{note['title']}: {one['form_template']}"
        self.types[key] += 1
        wordings, answers = len(one["question"]), one["answers"]
        own["forms"] += wordings
        self._long("form", len(words_of(one["form"])))
        self.too_many += "too_many" in one
        if not answers:
            return
        self.answered.add(key)
        own["questions"] += 1
        own["pairs"] += wordings
        self.by_split[note["split"]] += 1
        for wording in one["question"]:
            self._long("question", len(words_of(wording)))
        found = {a["evidence"] for a in answers if a["evidence"]}
        if found:
            self.lines[len(found)] += 1
        for evidence in found:
            self._long("evidence", len(words_of(evidence)))

    def _long(self, what: str, words: int) -> None:
        self.lengths[what] += words
        self.sizes[what] += 1

    def card(self) -> Plain:
        """The counts as the card has them; lengths are means in words and marks."""
        questions = sum(self.lines.values())
        notes = sum(own["notes"] for own in self.by_title.values())
        total: Counter[str] = Counter()
        for own in self.by_title.values():
            total.update(own)
        several = sum(n for k, n in self.lines.items() if k > 1)
        return {
            "questions": total["questions"],
            "by_split": dict(sorted(self.by_split.items())),
            "table_1": {
                title: {
                    "question_answer_pairs": own["pairs"],
                    "question_form_pairs": own["forms"],
                    "questions": own["questions"],
                    "notes": own["notes"],
                }
                for title, own in sorted({**self.by_title, "all": total}.items())
            },
            "mean_lengths": {
                name: round(self.lengths[name] / self.sizes[name], 1)
                for name in ("question", "evidence", "form", "note")
                if self.sizes[name]
            },
            "evidence_per_question": _mean(sum(k * n for k, n in self.lines.items()), questions),
            "questions_with_several_lines": _mean(several, questions),
            "most_lines": max(self.lines, default=0),
            "questions_per_note": _mean(total["questions"], notes),
            "types_asked": len(self.types),
            "types_with_answers": len(self.answered),
            "left_out_too_many_lines": self.too_many,
            "annotations_not_where_they_say": self.lost,
            "by_type": dict(sorted(self.types.items())),
        }


def _mean(total: float, count: int) -> float:
    return round(total / count, 2) if count else 0.0


def counted(notes: Iterable[Plain]) -> Figures:
    """The counts of all these notes."""
    found = Figures()
    for note in notes:
        found.add(note)
    return found
