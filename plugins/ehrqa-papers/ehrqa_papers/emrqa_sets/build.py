"""A set in emrQA's manner from end to end: read the annotations, fill, write, count."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from ehrqa_cli import __version__
from ehrqa_cli.contracts.errors import BuildError, UsageError
from ehrqa_cli.sets.making import card as cards
from ehrqa_cli.sets.making.files import write_lines, writing
from ehrqa_cli.sets.making.journal import Journal
from ehrqa_cli.sets.making.shares import PARTS, SPLITS, fraction, splits_of
from ehrqa_papers.emrqa.i2b2 import LabelledRecord, read_i2b2
from ehrqa_papers.emrqa_sets.facts import AnnotatedNote
from ehrqa_papers.emrqa_sets.figures import counted
from ehrqa_papers.emrqa_sets.fill import questions
from ehrqa_papers.emrqa_sets.i2b2 import read_annotations, tree_sha256
from ehrqa_papers.emrqa_sets.paraphrases import paraphrase_figures, properties
from ehrqa_papers.emrqa_sets.templates import templates_sha256, types

Plain = dict[str, Any]
Progress = Callable[[int, int], None]
MOST_LINES = 10
_TRAIN = 0.8  # of the pairs of questions and forms (section 6.2)


@dataclass(frozen=True)
class EmrOrder:
    """What to build: questions over the annotated notes under the folder ``annotations``, and over
    those there that have a class (smoking, obesity). A question whose evidence takes more than
    ``most`` lines has a form but no answers, as `ehrqa eval emrqa` looks at ten."""

    annotations: Path
    out: Path
    seed: int
    most: int = MOST_LINES

    def settings(self) -> Plain:
        """What the set depends on."""
        return {
            "set": "emrqa",
            "seed": self.seed,
            "annotations": self.annotations.name,
            "annotations_sha256": tree_sha256(self.annotations),
            "most_lines": self.most,
            "splits": dict(zip(SPLITS, PARTS, strict=True)),
            "templates_sha256": templates_sha256(),
            "ehrqa": __version__,
        }


def build_emrqa(order: EmrOrder, progress: Progress = lambda _done, _all: None) -> Plain:
    """Build, or go on. Returns the card. Raises UsageError for a folder that holds something else,
    BuildError for a folder without annotations and when nothing can be written."""
    if order.out.resolve().is_relative_to(order.annotations.resolve()):
        raise UsageError(
            f"{order.out} lies among the annotations", "give another folder with --out"
        )
    journal = Journal(order.out, order.settings())
    if journal.complete:
        return cards.kept(journal)
    notes = [*read_annotations(order.annotations), *_labelled(order.annotations)]
    notes.sort(key=lambda n: (n.title, n.note_id))
    if not notes:
        raise BuildError(
            f"{order.annotations} holds no annotations",
            "expected i2b2's files: .i2b2.entries, .con, .ast, .rel, .chains with their texts, or"
            " .xml",
        )
    _unlike(notes)
    split_of = _splits(notes, order.seed)
    place = iter(range(len(notes)))

    def attempt(done: Plain | None) -> Plain | None:
        at = next(place, None)
        if at is None:
            return None
        progress(at, len(notes))
        return done or _of_note(notes[at], split_of[notes[at].title, notes[at].group], order)

    journal.run(attempt)
    found = counted(journal.lines())
    if not found.answered:
        raise BuildError(
            f"no question over {order.annotations} has an answer",
            "are the texts those that were annotated, and the relations' files there?",
        )
    _write(journal, order.seed)
    asked = set(found.types)
    used = [one for one in types() if one.key in asked]
    card = {
        "settings": journal.settings,
        "counts": found.card(),
        "paraphrases": paraphrase_figures(used, order.seed),
        "question_properties": properties(used),
        "types_not_asked": [one.key for one in types() if one.key not in asked],
    }
    return cards.finish(journal, card, _about(card))


def _splits(notes: Sequence[AnnotatedNote], seed: int) -> dict[tuple[str, str], str]:
    """The split of each group of notes, challenge by challenge, so that each split has of all."""
    found: dict[tuple[str, str], str] = {}
    for title, own in groupby(notes, key=lambda n: n.title):
        groups = sorted({note.group for note in own})
        splits = splits_of(range(len(groups)), seed)
        found |= {(title, name): splits[number] for number, name in enumerate(groups)}
    return found


def _labelled(folder: Path) -> Iterator[AnnotatedNote]:
    """The notes with a class of their own: smoking status, obesity and what comes with it."""

    def note_of(record: LabelledRecord) -> tuple[str, str]:
        title = "smoking" if record.asked == "smoking status" else "obesity"
        return title, record.record_id

    records, _ = read_i2b2(folder)
    ordered = sorted(records, key=lambda r: (*note_of(r), r.asked))
    for (title, note_id), own in groupby(ordered, key=note_of):
        rows = list(own)
        labels = {row.asked: row.label for row in rows}
        yield AnnotatedNote(title, note_id, note_id, rows[0].text, labels=labels)


def _unlike(notes: Sequence[AnnotatedNote]) -> None:
    for one, other in pairwise(notes):
        if (one.title, one.note_id) == (other.title, other.note_id):
            raise BuildError(
                f"two {one.title} notes are called {one.note_id}",
                "give the folder of one release, without copies",
            )


def _of_note(note: AnnotatedNote, split: str, order: EmrOrder) -> Plain:
    return {
        "title": note.title,
        "note_id": note.note_id,
        "split": split,
        "context": note.text,
        "labelled": bool(note.labels),
        "lost": note.lost,
        "questions": list(questions(note, order.seed, order.most)),
    }


def _write(journal: Journal, seed: int) -> None:
    """For each split emrQA's data.json, the gold answers, and the questions with their forms."""
    with writing(journal.out):
        for split in SPLITS:
            folder = journal.out / split
            folder.mkdir(parents=True, exist_ok=True)
            own = (note for note in journal.lines() if note["split"] == split)
            _write_data(folder, own)
            pairs = (note for note in journal.lines() if note["split"] == split)
            write_lines(folder / "forms.jsonl", _forms(pairs, seed))


def _write_data(folder: Path, notes: Iterable[Plain]) -> None:
    gold: dict[str, Any] = {}
    with (folder / "data.json").open("w", encoding="utf-8") as file:
        file.write('{"data": [')
        for k, (title, own) in enumerate(groupby(notes, key=lambda n: n["title"])):
            file.write(",\n" if k else "\n")
            file.write(f'{{"title": {json.dumps(title)}, "paragraphs": [')
            for j, note in enumerate(own):
                asked = [q for q in note["questions"] if q["answers"]]
                shown = {
                    "note_id": note["note_id"],
                    "context": note["context"],
                    "qas": [_qas(q) for q in asked],
                }
                file.write((",\n" if j else "\n") + json.dumps(shown, ensure_ascii=False))
                for number, question in enumerate(asked):
                    gold[f"{title}/{note['note_id']}/{number}"] = _gold(question)
            file.write("\n]}")
        file.write("\n]}\n")
    text = json.dumps(gold, ensure_ascii=False, indent=0)
    (folder / "gold.json").write_text(text + "\n", encoding="utf-8")


def _qas(question: Plain) -> Plain:
    return {
        "id": [[wording, question["form_template"]] for wording in question["template"]],
        "question": question["question"],
        "logical_form": question["form"],
        "answers": question["answers"],
    }


def _gold(question: Plain) -> Any:
    """What scores 100: the class, or the lines of evidence, each once."""
    answers = question["answers"]
    if answers[0]["answer_entity_type"] == "class":
        return answers[0]["text"]
    found = dict.fromkeys((a["evidence_start"], a["evidence"]) for a in answers)
    return [{"start": start, "text": text} for start, text in found]


def _forms(notes: Iterable[Plain], seed: int) -> Iterator[Plain]:
    """Questions and forms, each once, with their place in both of the paper's divisions: emrQL-1
    has the wordings of a type in train or in test, emrQL-2 each pair."""
    seen: set[tuple[str, str]] = set()
    for note in notes:
        for one in note["questions"]:
            apart = _apart(one["template"], one["form_template"], seed)
            for wording, question in zip(one["template"], one["question"], strict=True):
                if (question, one["form"]) in seen:
                    continue
                seen.add((question, one["form"]))
                mixed = fraction(seed, "emrQL-2", question, one["form"]) < _TRAIN
                yield {
                    "question": question,
                    "form": one["form"],
                    "template": wording,
                    "form_template": one["form_template"],
                    "title": note["title"],
                    "answered": bool(one["answers"]),
                    "emrQL-1": "train" if wording in apart else "test",
                    "emrQL-2": "train" if mixed else "test",
                }


def _apart(wordings: Sequence[str], form: str, seed: int) -> set[str]:
    """The wordings of a type to learn from: four in five, and not all of several."""
    order = sorted(wordings, key=lambda w: (fraction(seed, "emrQL-1", form, w), w))
    at = min(max(1, round(_TRAIN * len(order))), max(1, len(order) - 1))
    return set(order[:at])


def _about(card: Mapping[str, Any]) -> str:
    counts, settings, said = card["counts"], card["settings"], card["paraphrases"]
    rows = "".join(
        f"| {title} | {row['question_answer_pairs']:,} | {row['question_form_pairs']:,} "
        f"| {row['notes']:,} |\n"
        for title, row in counts["table_1"].items()
    )
    lengths = ", ".join(f"{name} {value}" for name, value in counts["mean_lengths"].items())
    return "\n".join([
        "# Questions over annotated notes",
        "",
        f"{counts['questions']:,} questions in emrQA's layout, filled by ehrqa "
        f"{settings['ehrqa']} from the annotations `{settings['annotations']}` "
        f"({settings['annotations_sha256'][:16]}), seed {settings['seed']}.",
        "",
        "They hold the notes: keep them where those may be kept.",
        "",
        "Measure on it:",
        "",
        "    ehrqa eval emrqa --data DIR/valid",
        "    ehrqa eval emrqa --data DIR/valid --predictions DIR/valid/gold.json",
        "",
        "| annotations | question and answer | question and form | notes |\n|---|---:|---:|---:|",
        rows,
        f"Mean lengths in words and marks: {lengths}. Evidence lines for each question "
        f"{counts['evidence_per_question']}, several for "
        f"{100 * counts['questions_with_several_lines']:.0f}%, {counts['most_lines']} at most.",
        "",
        f"{said['question_types']} question types, {said['wordings_per_type']} wordings each; BLEU "
        f"{said['bleu']['mean']} ± {said['bleu']['deviation']}, Jaccard "
        f"{said['jaccard']['mean']} ± {said['jaccard']['deviation']}.",
    ])  # fmt: skip
