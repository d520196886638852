"""The engine: one function, ``ask(question, session)``, is the whole path of a question."""

from ehrqa_cli.engine.ask import ask
from ehrqa_cli.engine.opening import open_session
from ehrqa_cli.engine.parts import Mode
from ehrqa_cli.engine.session import Session

__all__ = ["Mode", "Session", "ask", "open_session"]
