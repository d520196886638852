"""MIMIC-CXR-VQA (Bae et al. 2023, arXiv:2310.18652): questions about one chest X-ray."""

from ehrqa_cli.evaluate.mimic_cxr_vqa.benchmark import MimicCxrVqa
from ehrqa_cli.evaluate.mimic_cxr_vqa.load import VqaItem, VqaSet, load_vqa

__all__ = ["MimicCxrVqa", "VqaItem", "VqaSet", "load_vqa"]
