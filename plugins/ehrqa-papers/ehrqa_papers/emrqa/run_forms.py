"""Question to logical form over this project's own forms: HM-1, HM-2 and a sequence model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.benchmarks import Cells, FigureTable
from ehrqa_cli.contracts.errors import ModelError, UsageError
from ehrqa_cli.evaluate.calibration import wilson
from ehrqa_cli.evaluate.journal import Journal, Plain
from ehrqa_cli.evaluate.reports import RunReport
from ehrqa_cli.evaluate.shares import Share
from ehrqa_cli.evaluate.systems import ABSTAIN, GOLD
from ehrqa_papers.emrqa.emrqa_run import EmrRun
from ehrqa_papers.emrqa.matching import Embed, hm1, hm2
from ehrqa_papers.emrqa.pairs import (
    SPLITS,
    FormPair,
    FormSplit,
    make_split,
    paraphrases,
    train_size,
)
from ehrqa_papers.emrqa.sequence import SequenceModel
from ehrqa_papers.systems import EMR_FORMS
from ehrqa_papers.versions import code_hash

if TYPE_CHECKING:
    from ehrqa_cli.sets.pairs.vocabulary import Vocabulary
    from ehrqa_cli.text2sql.linking.linker import Linker

Predict = Callable[[Sequence[FormPair], Sequence[FormPair]], list[str | None]]


def run_forms(run: EmrRun) -> RunReport:
    """Make both splits, answer with each system, score and report; a split that is done is not
    done again."""
    vocabulary, linker, fingerprint = _words(run)
    embed, model = _embedder()
    header: Plain = {
        "benchmark": "emrqa",
        "task": run.task,
        "database": fingerprint,
        "pairs": run.pairs,
        "sentence_vectors": model,
        "system": run.finder,
        "seed": run.seed,
        "code": code_hash(),
    }

    @cache
    def answered(name: str) -> list[Plain]:
        data = make_split(name, vocabulary, linker, run.pairs, run.seed)
        return _records(data, _systems(run, embed))

    def make(key: str) -> tuple[Plain, Plain]:
        name, _, place = key.rpartition("/")
        return answered(name)[int(place)], {}

    test = run.pairs - train_size(run.pairs)
    ids = [f"{name}/{k}" for name in SPLITS for k in range(test)]
    return _report(header, Journal(run.out, header).run(ids, make), run.pairs)


def _words(run: EmrRun) -> tuple[Vocabulary, Linker, str]:
    if run.db is None:
        raise UsageError("forms needs an EHR", "name one with --db FILE")
    from ehrqa_cli.ehr.open import open_database
    from ehrqa_cli.ehr.value_index import ValueIndex
    from ehrqa_cli.sets.pairs.vocabulary import read_vocabulary
    from ehrqa_cli.text2sql.linking.linker import Linker

    database = open_database(run.db)
    try:
        linker = Linker(ValueIndex.build(database))
        return read_vocabulary(run.db), linker, database.fingerprint()
    finally:
        database.close()


def _embedder() -> tuple[Embed | None, str | None]:
    from ehrqa_cli.notes.find.embed import NAME, Embedder

    try:
        embedder = Embedder.open()
    except ModelError:
        return None, None  # HM-2 is then left out, and the report says so
    return embedder.embed, f"{NAME} {embedder.sha256[:12]}"


def _systems(run: EmrRun, embed: Embed | None) -> dict[str, Predict]:
    def sequence(train: Sequence[FormPair], test: Sequence[FormPair]) -> list[str | None]:
        model = SequenceModel(run.seed)
        model.fit(train, run.progress)
        return [model.write(pair) for pair in test]

    found: dict[str, Predict] = {"HM-1": hm1}
    if embed is not None:
        found["HM-2"] = lambda train, test: hm2(train, test, embed)
    found["sequence model"] = sequence
    if run.finder is None:
        return found
    found[GOLD] = lambda _train, test: [pair.form for pair in test]
    found[ABSTAIN] = lambda _train, test: [None for _ in test]
    shown = EMR_FORMS.get(run.finder, run.finder)
    if shown not in found:
        raise ModelError(f"{shown} needs sentence vectors", "install them: `ehrqa doctor` says how")
    return {shown: found[shown]}


def _records(data: FormSplit, systems: dict[str, Predict]) -> list[Plain]:
    predicted = {name: predict(data.train, data.test) for name, predict in systems.items()}
    return [
        {
            "question": pair.question,
            "normalised": pair.text,
            "template": pair.template,
            "gold": pair.form,
            "predictions": {name: forms[k] for name, forms in predicted.items()},
        }
        for k, pair in enumerate(data.test)
    ]


def _report(header: Plain, records: Sequence[Plain], pairs: int) -> RunReport:
    names = list(records[0]["predictions"])
    scores = {split: _score(records, split, names) for split in SPLITS}
    rows: list[Cells] = [
        (
            split,
            train_size(pairs),
            found["test"],
            *(_share(found["right"][name], found["test"]).percent() for name in names),
            _share(found["normalised"], found["test"]).percent(),
        )
        for split, found in scores.items()
    ]
    columns = ("split", "train", "test", *(f"{name} %" for name in names), "normalised %")
    types, learnt, measured = paraphrases()
    notes = (
        "accuracy: the whole form, word for word; 95% intervals of Wilson",
        "normalised: every value of the gold form was found in the question, the most there can be",
        f"{types} question types; apart: {learnt} paraphrases to learn from, {measured} to measure",
    )
    left_out = (
        ()
        if "HM-2" in names or len(names) == 1
        else ("HM-2 was left out: no sentence model is installed",)
    )
    table = FigureTable(
        "5", "question to logical form", columns, (("", tuple(rows)),), notes + left_out
    )
    return RunReport(header, scores, (table,))


def _score(records: Sequence[Plain], split: str, names: Sequence[str]) -> Plain:
    """Right forms by system. Where a value of the gold form was not found in the question, no form
    is right."""
    found = [r for r in records if r["id"].rpartition("/")[0] == split]
    known = [r for r in found if r["gold"] is not None]
    right = {name: sum(r["predictions"][name] == r["gold"] for r in known) for name in names}
    return {"test": len(found), "normalised": len(known), "right": right}


def _share(part: int, whole: int) -> Share:
    return Share(part / whole, *wilson(part / whole, whole)) if whole else Share(None)
