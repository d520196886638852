"""emrQA: evidence, classes and logical forms from questions over notes (Pampari et al. 2018)."""

from ehrqa_cli.evaluate.emrqa.load import EmrQuestion, EmrSet, load_emrqa
from ehrqa_cli.evaluate.emrqa.run import TASKS, EmrRun

__all__ = ["TASKS", "EmrQuestion", "EmrRun", "EmrSet", "load_emrqa"]
