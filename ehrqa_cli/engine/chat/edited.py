"""NeuralSQL of the user's own as an answer."""

from __future__ import annotations

from ehrqa_cli.contracts.types import Answer
from ehrqa_cli.engine.session import Session


def run_neuralsql(session: Session, text: str, *, as_of: str | None = None) -> Answer:
    """Run ``text`` under the guard."""
    raise NotImplementedError
