"""Building a set from end to end: claim the folder, make or go on, write the layouts, the card."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from ehrqa_cli import __version__
from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.backend.now import now_in
from ehrqa_cli.ehr.mapping.mapped import Mapped
from ehrqa_cli.sets.making import card as cards
from ehrqa_cli.sets.making.files import Plain, write_list, writing
from ehrqa_cli.sets.making.journal import Journal
from ehrqa_cli.sets.making.shares import PARTS, SPLITS, read_splits
from ehrqa_cli.sets.own.checks import DIFFERENT, REFUSED, EngineCheck
from ehrqa_cli.sets.own.films import select
from ehrqa_cli.sets.own.layouts import AnswerText, made, splits_in, write_questions, write_sheet
from ehrqa_cli.sets.own.paraphrases import Wordings, question_templates, vqa_asked
from ehrqa_cli.sets.own.questions import UNANSWERABLE, Questions, Sources
from ehrqa_cli.sets.own.sheet import TABLE, Labels
from ehrqa_cli.sets.own.vqa import VqaQuestions, entropies
from ehrqa_cli.sets.own.working import Working
from ehrqa_cli.sets.pairs.paraphrase import Paraphrases, ParaphraseTask
from ehrqa_cli.sets.pairs.vocabulary import read_vocabulary
from ehrqa_cli.vqa import OracleGraphs, Vqa

Progress = Callable[[int, int], None]
Report = Callable[[Path], Mapping[str, Any]]
PARAPHRASES = "paraphrases.jsonl"
_LAYOUT = (
    "id split subject_id study_id image_id question template_text semantic_type content_type "
    "template template_program template_index template_arguments answer"
)


def _silent(_done: int, _all: int) -> None:
    return None


@dataclass(frozen=True)
class QuestionsOrder:
    """What to build: a set of ``size`` questions over the EHR in the file ``db`` and, with
    ``scene_graphs``, its chest X-rays. The NeuralSQL of one question in ``check_every`` is
    run by the engine too. ``answer_text`` prints rows as EHRSQL's answer.json does; ``report`` is
    called once the layouts are there, and what it returns stands in the card under ``bias``.
    ``splits`` is a file that says which patient is in which; ``wordings`` gives paraphrases."""

    db: Path
    database: Database
    out: Path
    size: int
    seed: int
    answer_text: AnswerText
    report: Report
    scene_graphs: Path | None = None
    check_every: int = 20
    splits: Path | None = None
    wordings: Wordings | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def settings(self, source: Vqa | None) -> Plain:
        """What the set depends on; the same settings give the same bytes."""
        return {
            "set": "questions",
            "size": self.size,
            "seed": self.seed,
            "as_of": now_in(self.database),
            "database": {"name": self.db.name, "fingerprint": self.database.fingerprint()},
            "scene_graphs": dict(source.provenance()) if source else None,
            "check_every": self.check_every,
            "unanswerable": UNANSWERABLE,
            "splits": _splits(self.splits),
            "paraphrases": dict(self.wordings.settings()) if self.wordings else None,
            "templates_sha256": templates_hash(),
            "ehrqa": __version__,
            **self.more,
        }


def build_questions(order: QuestionsOrder, progress: Progress = _silent) -> Plain:
    """Build, or go on building. Returns the card. Raises UsageError for a folder that holds
    something else, BuildError when nothing can be made or written, DatabaseError."""
    if order.database.dialect != "sqlite" or isinstance(order.database, Mapped):
        raise BuildError(
            f"{order.db} is not a SQLite file of our tables",
            "a set is built from what `ehrqa db import` makes",
        )
    vqa = Vqa(OracleGraphs.open(order.scene_graphs)) if order.scene_graphs else None
    journal = Journal(order.out, order.settings(vqa))
    if journal.complete:
        return cards.kept(journal)
    vocabulary = read_vocabulary(order.db)
    working = Working(order.db, now_in(order.database))
    try:
        labels = None
        if vqa is not None:
            labels = Labels(vqa, working)
            labels.into(working)
        check = EngineCheck(order.database, working.as_of, vqa, order.check_every, order.seed)
        given = read_splits(order.splits) if order.splits else None
        said = _paraphrases(journal, order.wordings, question_templates())
        sources = Sources(vocabulary, working, labels, given, said)
        maker = Questions(sources, order.size, order.seed, check)
        attempts = journal.run(maker.telling(progress))
        if not maker.made:
            raise BuildError(
                f"no question over {order.db} has an answer", "check that the EHR holds events"
            )
        write_questions(journal, order.answer_text)
        if labels is not None:
            write_sheet(labels, order.out / f"{TABLE}.sqlite")
        card = {
            "settings": journal.settings,
            "attempts": attempts,
            "counts": cards.tally(made(journal), ("family", "modality", "patient_scope")),
            "templates": cards.failures(journal.lines(), maker.templates),
            "checks": _checked(journal, check),
            "paraphrases": said.counts() if order.wordings else None,
            "bias": dict(order.report(order.out)),
        }
    finally:
        working.close()
    return cards.finish(journal, card, cards.readme("questions", card))


@dataclass(frozen=True)
class VqaOrder:
    """What to build: up to ``size`` questions about the images of a folder of labels; ``database``
    says whose the images are, where there is one. ``splits`` and ``wordings`` as of questions."""

    scene_graphs: Path
    out: Path
    size: int
    seed: int
    database: Database | None = None
    splits: Path | None = None
    wordings: Wordings | None = None

    def settings(self, source: OracleGraphs) -> Plain:
        """What the set depends on."""
        return {
            "set": "vqa",
            "size": self.size,
            "seed": self.seed,
            "scene_graphs": dict(source.provenance()),
            "database": self.database.fingerprint() if self.database else None,
            "splits": _splits(self.splits),
            "paraphrases": dict(self.wordings.settings()) if self.wordings else None,
            "templates_sha256": templates_hash(),
            "ehrqa": __version__,
        }


def build_vqa(order: VqaOrder, progress: Progress = _silent) -> Plain:
    """Build, or go on building. Returns the card. Raises as ``build_questions``."""
    source = OracleGraphs.open(order.scene_graphs)
    journal = Journal(order.out, order.settings(source))
    if journal.complete:
        return cards.kept(journal)
    given = read_splits(order.splits) if order.splits else None
    pool = select(order.scene_graphs, _owners(order.database), order.seed, given)
    said = _paraphrases(journal, order.wordings, vqa_asked())
    maker = VqaQuestions(pool, order.size, order.seed, said)
    attempts = journal.run(maker.telling(progress))
    if not maker.made:
        raise BuildError(
            f"no question about the images of {order.scene_graphs} has an answer",
            "check that scene_graph.tsv says what is present",
        )
    answers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    images: Counter[int] = Counter()
    for record in made(journal):
        answers[f"{record['template_index']:02d}"][record["key"]] += 1
        images[record["study_id"]] += 1
    with writing(order.out):
        for split in splits_in(journal):
            own = (_vqa(r) for r in made(journal) if r["split"] == split)
            write_list(order.out / f"{split}.json", own)
    fields = ("content_type", "semantic_type")
    card = {
        "settings": journal.settings,
        "attempts": attempts,
        "images": dict(pool.steps),
        "images_by_split": dict(sorted(Counter(pool.splits.values()).items())),
        "questions_per_image": {"fewest": min(images.values()), "most": max(images.values())},
        "counts": cards.tally(made(journal), fields),
        "templates": cards.failures(journal.lines(), maker.templates),
        "paraphrases": said.counts() if order.wordings else None,
        "answer_entropy": entropies(answers),
    }
    return cards.finish(journal, card, cards.readme("vqa", card))


def _splits(path: Path | None) -> Plain:
    if path is None:
        return dict(zip(SPLITS, PARTS, strict=True))
    read_splits(path)
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def _paraphrases(
    journal: Journal, wordings: Wordings | None, asked: Iterable[ParaphraseTask]
) -> Paraphrases:
    """The paraphrases of the templates, written before any question is made."""
    if wordings is None:
        return Paraphrases()
    journal.claim()
    with journal.alone():
        return wordings.make(journal.out / PARAPHRASES, list(asked))


def templates_hash() -> str:
    """The SHA-256 of the templates and words that questions are made from."""
    root = resources.files("ehrqa_cli.sets")
    pairs, data = root / "pairs", (".toml", ".tsv")
    templates = pairs / "templates"
    folders = (pairs, pairs / "words", templates, templates / "aggregate", root / "own")
    files = [f for folder in folders for f in folder.iterdir() if f.name.endswith(data)]
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda f: f.name):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _checked(journal: Journal, check: EngineCheck) -> Plain:
    """How many answers were found by running the query, how many of them by the engine as well,
    and how often that gave another one (which is then no question of the set)."""
    count = again = other = 0
    for number, line in enumerate(journal.lines()):
        if "failed" in line:
            other += sum(line["why"].get(told, 0) for told in (REFUSED, DIFFERENT))
        elif line["answer"] is not None:
            count += 1
            again += check.chosen(number)
    return {"answers_run": count, "run_by_the_engine_too": again, "engine_disagreed": other}


def _owners(database: Database | None) -> dict[int, tuple[int, str]]:
    """Patient and time of each study that the EHR knows."""
    if database is None:
        return {}
    if "tb_cxr" not in {name.lower() for name in database.schema()}:
        raise BuildError(
            "the database has no table tb_cxr: it knows of no chest X-rays",
            "leave --db out; studies are then split one by one",
        )
    sql = "SELECT study_id, subject_id, studydatetime FROM tb_cxr"
    rows = database.execute(sql, Limits(seconds=600.0, rows=100_000_000)).rows
    return {int(str(s)): (int(str(p)), str(t or "")) for s, p, t in rows}


def _vqa(record: Plain) -> Plain:
    """A question in the layout of MIMIC-CXR-VQA."""
    named = {
        **record,
        "subject_id": record["patient_id"],
        "template_program": f"program_{record['template_index']}",
        "template_arguments": record["arguments"],
    }
    return {name: named[name] for name in _LAYOUT.split()}
