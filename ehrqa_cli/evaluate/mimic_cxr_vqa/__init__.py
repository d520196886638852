"""MIMIC-CXR-VQA (Bae et al. 2023, arXiv:2310.18652): questions about one chest X-ray."""

from ehrqa_cli.evaluate.mimic_cxr_vqa.load import VqaItem, VqaSet, load_vqa
from ehrqa_cli.evaluate.mimic_cxr_vqa.mimic_cxr_vqa_run import VqaRun

__all__ = ["VqaItem", "VqaRun", "VqaSet", "load_vqa"]
