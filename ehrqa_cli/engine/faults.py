"""The answer that a fault becomes, where there is no more to say of the question."""

from __future__ import annotations

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import Answer, Question, Status


def fault(question: Question, error: Exception) -> Answer:
    """What became of a question that cannot even be asked, or that an unforeseen error ended."""
    if isinstance(error, EhrqaError):
        told = {"message": error.message, "hint": error.hint}
    else:
        told = {
            "message": f"unexpected {type(error).__name__}: {error}",
            "hint": "ask this question with `ehrqa ask` and EHRQA_DEBUG=1 for the traceback",
        }
    return Answer(question, Status.FAILED, text=f"Failed: {told['message']}.", error=told)
