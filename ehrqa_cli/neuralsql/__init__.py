"""NeuralSQL: SQL plus FUNC_VQA(question, study). Guard, rules, execution."""

from ehrqa_cli.neuralsql.done import Execution, image_evidence
from ehrqa_cli.neuralsql.execute import execute, run
from ehrqa_cli.neuralsql.guard import check
from ehrqa_cli.neuralsql.rules import RULES, Context, bind, bind_time, bind_vital_bounds

__all__ = [
    "RULES",
    "Context",
    "Execution",
    "bind",
    "bind_time",
    "bind_vital_bounds",
    "check",
    "execute",
    "image_evidence",
    "run",
]
