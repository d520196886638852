"""EHRXQA (Bae et al. 2023, arXiv:2310.18652): questions over tables and chest X-rays."""

from ehrqa_cli.evaluate.ehrxqa.benchmark import EhrXqa
from ehrqa_cli.evaluate.ehrxqa.load import XqaItem, XqaSet, load_xqa

__all__ = ["EhrXqa", "XqaItem", "XqaSet", "load_xqa"]
