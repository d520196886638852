"""EHRXQA (Bae et al. 2023, arXiv:2310.18652): questions over tables and chest X-rays."""

from ehrqa_cli.evaluate.ehrxqa.ehrxqa_run import XqaRun
from ehrqa_cli.evaluate.ehrxqa.load import XqaItem, XqaSet, load_xqa

__all__ = ["XqaItem", "XqaRun", "XqaSet", "load_xqa"]
