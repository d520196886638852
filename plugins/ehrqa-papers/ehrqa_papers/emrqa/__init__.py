"""emrQA: evidence, classes and logical forms from questions over notes (Pampari et al. 2018)."""

from ehrqa_papers.emrqa.emrqa_run import TASKS, EmrRun
from ehrqa_papers.emrqa.load import EmrQuestion, EmrSet, load_emrqa

__all__ = ["TASKS", "EmrQuestion", "EmrRun", "EmrSet", "load_emrqa"]
