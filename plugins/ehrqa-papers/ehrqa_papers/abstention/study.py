"""The paper's experiments on a model's records: which splits, which methods, which tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ehrqa_cli.contracts.benchmarks import Cells, FigureTable
from ehrqa_cli.engine.risk import probability
from ehrqa_cli.evaluate.bias.ngrams import Patterns, ngrams
from ehrqa_cli.evaluate.bias.split import Split, SplitSettings, at_random, debiased
from ehrqa_cli.evaluate.calibration import Curve, auroc, risk_coverage
from ehrqa_cli.evaluate.ehrsql.load import Item
from ehrqa_cli.evaluate.records import Record
from ehrqa_papers.abstention.figures import COLUMNS, notes, row
from ehrqa_papers.abstention.plan import Plan
from ehrqa_papers.abstention.signals import (
    BEAM,
    CHECKS,
    ENTROPY,
    RISK_SHIPPED,
    Measured,
    Method,
    Part,
    Signal,
    as_shipped,
    choose_on,
    fitted_risk,
    measure,
    own_signals,
    paper_methods,
    parts,
    recorded,
)

FILTERS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, math.inf)  # Tables 6 and 7


class Study:
    """One regime's records (by question id) of the validation items, and of a separate test set
    where there is one."""

    def __init__(
        self,
        name: str,
        records: Mapping[str, Record],
        valid: Sequence[Item],
        test: Sequence[Item] | None,
        plan: Plan,
    ) -> None:
        self.name, self.records, self.plan = name, records, plan
        self.items = [i for i in valid if i.id in records]
        self.test_items = None if test is None else [i for i in test if i.id in records]
        self._rows: dict[SplitSettings | None, tuple[Cells, ...]] = {}
        self._splits: dict[SplitSettings | None, list[tuple[Split, Part, Part]]] = {}

    def tables(self) -> list[FigureTable]:
        """Tables 2 to 7, and ours."""
        makers = {
            "2": self._original,
            "3": self._debiased,
            "4": self._random,
            "5": self._ablation,
            "6": lambda: self._filters("6", "beam score", BEAM),
            "7": lambda: self._filters("7", "maximum entropy", ENTROPY),
            "10": self._own,
            "11": self._leaning,
            "12": self._detection,
        }
        return [make() for number, make in makers.items() if number in self.plan.tables]

    def of(self, items: Sequence[Item]) -> list[Record]:
        """The records of some questions."""
        return [self.records[i.id] for i in items]

    def splits(self, settings: SplitSettings | None) -> list[tuple[Split, Part, Part]]:
        """The repeated splits (None: random), with the records of both parts."""
        if settings not in self._splits:
            found = []
            for seed in range(self.plan.seed, self.plan.seed + self.plan.repeats):
                if settings is None:
                    split = at_random(self.items, seed)
                else:
                    split = debiased(self.items, settings, seed)
                valid, test = parts(self.of(split.valid), self.of(split.test))
                assert test is not None
                found.append((split, valid, test))
            self._splits[settings] = found
        return self._splits[settings]

    def split_rows(self, settings: SplitSettings | None) -> tuple[Cells, ...]:
        """The five methods of the paper on a new split; made once, as two tables show them."""
        if settings not in self._rows:
            methods = paper_methods(self.plan.ratios)
            self._rows[settings] = tuple(self._row(method, settings) for method in methods)
        return self._rows[settings]

    def _row(self, method: Method, settings: SplitSettings | None) -> Cells:
        precision = self.plan.precision
        return row([measure(method, v, t, precision) for _, v, t in self.splits(settings)])

    def _table(
        self, number: str, title: str, blocks: list[tuple[str, tuple[Cells, ...]]]
    ) -> FigureTable:
        rows = [r for _, block in blocks for r in block]
        told: tuple[str, ...] = ()
        if number == "10":
            source = self.plan.shipped.source
            names = [source[k] for k in ("dataset", "split", "version") if k in source]
            where = " ".join(map(str, names or source.get("sets", ())))
            told = (f"{RISK_SHIPPED} and the shipped limit were chosen on: {where or 'nothing'}",)
        if number != "2" and self.plan.repeats > 1:
            told += (f"means of {self.plan.repeats} splits, seeds from {self.plan.seed}",)
        return FigureTable(
            number, f"{title} ({self.name})", COLUMNS, tuple(blocks), notes(rows, *told)
        )

    def _published_row(self, method: Method) -> Cells:
        test = None if self.test_items is None else self.of(self.test_items)
        valid, held = parts(self.of(self.items), test)
        return row([measure(method, valid, held, self.plan.precision)])

    def _original(self) -> FigureTable:
        rows = tuple(self._published_row(m) for m in paper_methods(self.plan.original))
        return self._table("2", "the split as published", [("", rows)])

    def _debiased(self) -> FigureTable:
        settings = self.plan.split
        title = f"the newly split set, {settings}: {sizes(self.splits(settings)[0][0])}"
        return self._table("3", title, [("", self.split_rows(settings))])

    def _random(self) -> FigureTable:
        title = f"the randomly split set: {sizes(self.splits(None)[0][0])}"
        return self._table("4", title, [("", self.split_rows(None))])

    def _ablation(self) -> FigureTable:
        blocks = [
            (f"{s} ({sizes(self.splits(s)[0][0])})", self.split_rows(s)) for s in self.plan.ablation
        ]
        return self._table("5", "other settings of the new split (λ-λ-M)", blocks)

    def _filters(self, number: str, name: str, signal: Signal) -> FigureTable:
        methods = [
            Method("∞ (baseline)" if math.isinf(t) else f"{t:g}", signal, (t, t, t))
            for t in FILTERS
        ]
        split = self.plan.split
        blocks = [
            (f"new split {split}", tuple(self._row(method, split) for method in methods)),
            # Not in the paper: which ratio suits a set depends on its size.
            ("as published", tuple(self._published_row(method) for method in methods)),
            ("random split", tuple(self._row(method, None) for method in methods)),
        ]
        return self._table(number, f"n-gram filter's ratio, with {name}", blocks)

    @cached_property
    def own_names(self) -> list[str]:
        """Our signals: those asked for, else all that were recorded."""
        found = recorded(list(self.records.values()))
        return [n for n in self.plan.signals if n in found] or found

    def _own(self) -> FigureTable:
        """Every signal of ours alone and after the filter, on a random and on the new split."""
        blocks = []
        for heading, settings in (("random split", None), ("new split", self.plan.split)):
            found: dict[str, list[Measured]] = {}
            for _, valid, test in self.splits(settings):
                own = own_signals(valid.records, self.own_names, self.plan.shipped)
                for method in _own_methods(own, self.plan):
                    made = measure(method, valid, test, self.plan.precision)
                    found.setdefault(method.name, []).append(made)
            rows = tuple(row(measured) for measured in found.values())
            blocks.append((heading, rows))
        return self._table("10", "our own signals", blocks)

    def _leaning(self) -> FigureTable:
        """Does a signal tell unanswerable questions only by their n-grams?"""
        patterns = Patterns((i.question, i.gold is not None) for i in self.items)
        split = self.plan.split
        strong = [
            *patterns.predominant(1, split.unigram),
            *patterns.predominant(2, split.bigram),
        ]
        records = self.of(self.items)
        right = [r for r in records if r.correct]
        none = [r for r in records if r.gold is None]
        biased = [r for r in none if any(p.text in ngrams(r.question, p.size) for p in strong)]
        plain = [r for r in none if r not in biased]
        rows: list[Cells] = []
        for signal in own_signals([], self.own_names, self.plan.shipped):
            ours = [signal.value(r) for r in right]
            # What the model declined itself is told apart for certain.
            found = [auroc([_doubt(signal, r) for r in part], ours) for part in (biased, plain)]
            cells = [None if a is None else round(100.0 * a, 1) for a in found]
            gap = None if None in cells else cells[0] - cells[1]  # type: ignore[operator]
            rows.append((signal.name, *cells, gap))
        columns = (
            "Signal",
            f"with a predominant n-gram ({len(biased)})",
            f"without ({len(plain)})",
            "difference",
        )
        return FigureTable(
            "11",
            f"telling unanswerable questions from rightly answered ones, AUROC in % ({self.name})",
            columns,
            (("", tuple(rows)),),
            (
                f"predominant: ratio over {split.unigram:g} (unigrams), {split.bigram:g} (bigrams)",
                "what the model declined itself counts as told apart by every signal",
            ),
        )

    def _detection(self) -> FigureTable:
        """The paper's parser is nearly always right, so its errors are unanswerable questions
        that were answered. Where a parser errs on answerable ones too, no n-gram can tell those;
        here they count as right, so that only telling the unanswerable ones matters."""
        told = {k: replace(r, correct=r.gold is not None) for k, r in self.records.items()}
        alone = Study(self.name, told, self.items, self.test_items, self.plan)
        split = self.plan.split
        blocks = [
            ("as published", alone._original().blocks[0][1]),
            (f"new split {split}", alone.split_rows(split)),
            ("random split", alone.split_rows(None)),
        ]
        return self._table("12", "as if every query for an answerable question were right", blocks)

    def parts_of(self) -> dict[str, str]:
        """In which part of the new split (first seed) each question is."""
        split = self.splits(self.plan.split)[0][0]
        named = [("valid", item) for item in split.valid] + [("test", item) for item in split.test]
        return {item.id: part for part, item in named}

    def answered_by(self) -> dict[str, dict[str, bool]]:
        """Which questions of the new test set (first seed) each of the paper's methods answers; its
        threshold is that of the new validation set."""
        _, valid, test = self.splits(self.plan.split)[0]
        found = {}
        for method in paper_methods(self.plan.ratios):
            given = test.given(method, choose_on(method, valid, self.plan.precision))
            found[method.name] = {
                record.id: bool(one) for record, one in zip(test.records, given, strict=True)
            }
        return found

    def curves(self) -> dict[str, Curve]:
        """Risk and coverage on the new test set (first seed) of the paper's signals and ours."""
        _, valid, test = self.splits(self.plan.split)[0]
        names = [n for n in ("p_abstain",) if n in self.own_names]
        found = {"maximum entropy": ENTROPY, "beam score": BEAM}
        own = own_signals(valid.records, names, self.plan.shipped)
        found |= {signal.name: signal for signal in own if signal.name != CHECKS}
        answered = [r for r in test.records if r.status == "answered"]
        right = [r.correct for r in answered]
        return {
            name: risk_coverage([signal.value(r) for r in answered], right, len(test.records))
            for name, signal in found.items()
        }

    def told(self) -> tuple[list[float], list[bool]] | None:
        """Confidences on the new test set (first seed), calibrated on the new validation set,
        and which answers are right; None where nothing could be fitted."""
        _, valid, test = self.splits(self.plan.split)[0]
        fitted = fitted_risk(valid.records)
        if fitted is None:
            return None
        told = [
            (p, r.correct)
            for r in test.records
            if r.status == "answered" and (p := probability(r.scores, fitted)) is not None
        ]
        return [p for p, _ in told], [right for _, right in told]


def model_table(studies: Sequence[Study], plan: Plan) -> FigureTable:
    """Tables 8 and 9: the new split, one block a model and regime."""
    blocks = tuple((study.name, study.split_rows(plan.split)) for study in studies)
    rows = [r for _, block in blocks for r in block]
    return FigureTable(
        "8, 9", f"models and regimes on the new split {plan.split}", COLUMNS, blocks, notes(rows)
    )


def sizes(split: Split) -> str:
    """How many questions each part has."""
    counts = split.counts()
    told = [
        f"{part} {c['answerable'] + c['unanswerable']} ({c['unanswerable']} unanswerable)"
        for part, c in counts.items()
    ]
    return ", ".join(told)


def _own_methods(signals: Sequence[Signal], plan: Plan) -> list[Method]:
    name = "/".join(f"{r:g}" for r in plan.ratios)
    out = [
        Method("the model's own abstention", None, limit=math.inf),
        Method(f"ngram {name}", None, plan.ratios, limit=math.inf),
        Method(as_shipped(plan.shipped).name, as_shipped(plan.shipped), limit=0.0),
    ]
    for signal in signals:
        out.append(Method(signal.name, signal))
        out.append(Method(f"{signal.name} + ngram", signal, plan.ratios))
    return out


def _doubt(signal: Signal, record: Record) -> float:
    return math.inf if record.status != "answered" else signal.value(record)
