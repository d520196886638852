"""The benchmarks of ``ehrqa eval``: what each measures and needs, and where its data are got."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ehrqa_cli import registry
from ehrqa_cli.contracts.benchmarks import Benchmark as Plugged
from ehrqa_cli.contracts.errors import PluginError


@dataclass(frozen=True)
class Benchmark:
    """``needs`` are (option, what it must hold); ``sources`` are (what, where, licence)."""

    name: str
    about: str
    paper: str
    needs: tuple[tuple[str, str], ...]
    sources: tuple[tuple[str, str, str], ...]

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            **asdict(self),
            "needs": [{"option": option, "what": what} for option, what in self.needs],
            "sources": [
                {"what": what, "where": where, "licence": licence}
                for what, where, licence in self.sources
            ],
        }


_CREDENTIALED = "PhysioNet Credentialed Health Data License 1.5.0"
_DEMO = ("MIMIC-IV demo (its database)", "physionet.org/content/mimic-iv-demo", "ODbL 1.0")
EHRSQL = (
    ("EHRSQL-2024", "github.com/glee4810/ehrsql-2024", "CC BY 4.0"),
    _DEMO,
    (
        "EHRSQL 2022 (of MIMIC-III and eICU)",
        "github.com/glee4810/EHRSQL; the databases: physionet.org",
        f"CC BY 4.0; the databases: {_CREDENTIALED}",
    ),
)
_OPEN = "or an open re-creation in its own layout"

BENCHMARKS = (
    Benchmark(
        "ehrsql",
        "EHRSQL-2024 (Lee et al., 2024) or EHRSQL (2022): RS(0), RS(5), RS(10), RS(N), F1",
        "Lee et al. 2022, arXiv:2301.07695; Lee et al. 2024, arXiv:2405.06673",
        (
            ("--data", "SPLIT/data.json and label.json (2024), or SPLIT.json (2022)"),
            ("--db", "the database that the gold queries are for, MIMIC-III's or eICU's too"),
            ("--model", "for --system fewshot-fixed or fewshot-bm25: a GGUF file"),
        ),
        EHRSQL,
    ),
    Benchmark(
        "mimic-cxr-vqa",
        "Bae et al. 2023: one chest X-ray; accuracy, F1, AUROC by relation, priors",
        "Bae et al. 2023, arXiv:2310.18652",
        (
            ("--data", f"SPLIT.json, {_OPEN} (vqa_questions.jsonl)"),
            ("--db", "the EHR whose tb_cxr registers the images"),
            ("--images or --scene-graphs", "the images, or labels in place of them"),
        ),
        (
            ("questions", "physionet.org/content/mimic-ext-mimic-cxr-vqa", _CREDENTIALED),
            (
                "what makes their answers",
                "github.com/baeseongsu/mimic-cxr-vqa",
                "MIT, as the paper says",
            ),
            ("images", "physionet.org/content/mimic-cxr-jpg", _CREDENTIALED),
        ),
    ),
    Benchmark(
        "ehrxqa",
        "Bae et al. 2023: tables and images; Acc_LF, Acc_EX|gt, Acc_EX|pred by scope",
        "Bae et al. 2023, arXiv:2310.18652",
        (
            ("--data", f"SPLIT.json, {_OPEN} (questions.jsonl)"),
            ("--db", "the data set's database with tb_cxr"),
            ("--images or --scene-graphs", "the images, or labels in place of them"),
            ("--model", "for --system fewshot-fixed or fewshot-bm25: a GGUF file"),
            ("--examples", "for those, where there is no train.json: questions with queries"),
        ),
        (
            ("questions and databases", "physionet.org/content/ehrxqa", _CREDENTIALED),
            (
                "what makes their answers",
                "github.com/baeseongsu/ehrxqa",
                "MIT, as the paper says",
            ),
            ("images", "physionet.org/content/mimic-cxr-jpg", _CREDENTIALED),
        ),
    ),
    Benchmark(
        "ehrnoteqa",
        "Kweon et al. 2024: discharge summaries; five choices or free text, evidence",
        "Kweon et al. 2024, arXiv:2402.16040",
        (
            ("--data", "EHRNoteQA.jsonl, or open questions.jsonl and notes.jsonl"),
            ("--notes", "MIMIC-IV-Note's discharge.csv.gz, where the notes are not in --data"),
        ),
        (
            (
                "questions (and github.com/ji-youn-kim/EHRNoteQA, which puts the notes in)",
                "physionet.org/content/ehrnoteqa",
                _CREDENTIALED,
            ),
            ("notes", "physionet.org/content/mimic-iv-note", _CREDENTIALED),
        ),
    ),
)


def plugged() -> tuple[Benchmark, ...]:
    """The other benchmarks that are plugins, by name; of a broken one only that it is."""
    ours = {benchmark.name for benchmark in BENCHMARKS}
    return tuple(_plugged(n) for n in registry.names(registry.BENCHMARK) if n not in ours)


def _plugged(name: str) -> Benchmark:
    try:
        found = registry.load(registry.BENCHMARK, name, Plugged)  # type: ignore[type-abstract]
    except PluginError as error:
        return Benchmark(name, f"broken: {error.message}", "", (), ())
    needs = (("--data", found.needs), ("--db", "the EHR that is asked about"))
    return Benchmark(name, found.about, found.paper, needs, found.sources)
