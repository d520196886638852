"""Questions about chest X-rays, answered from scene graphs by programs (design: "Images")."""

from ehrqa_cli.vqa.answer import study_answer
from ehrqa_cli.vqa.oracle import OracleGraphs
from ehrqa_cli.vqa.parse import Unparsed, parse
from ehrqa_cli.vqa.program import Program
from ehrqa_cli.vqa.reader import Vqa
from ehrqa_cli.vqa.thresholds import VqaThresholds

__all__ = ["OracleGraphs", "Program", "Unparsed", "Vqa", "VqaThresholds", "parse", "study_answer"]
