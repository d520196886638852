"""emrQA: evidence, classes and logical forms from questions over notes (Pampari et al. 2018)."""

from ehrqa_cli.evaluate.reports import RunReport
from ehrqa_papers.emrqa.emrqa_run import EmrRun
from ehrqa_papers.emrqa.load import EmrQuestion, EmrSet, load_emrqa
from ehrqa_papers.emrqa.run_classes import run_classes
from ehrqa_papers.emrqa.run_evidence import run_evidence
from ehrqa_papers.emrqa.run_forms import run_forms

__all__ = ["TASKS", "EmrQuestion", "EmrRun", "EmrSet", "load_emrqa", "run_emrqa"]

TASKS = {"evidence": run_evidence, "classes": run_classes, "forms": run_forms}


def run_emrqa(run: EmrRun) -> RunReport:
    """Load, answer (resuming), score, report. Raises EvaluationError."""
    report = TASKS[run.task](run)
    if run.out is not None:
        report.write(run.out)
    return report
