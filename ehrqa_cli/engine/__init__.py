"""The engine: one function, ``ask(question, session)``, is the whole path of a question."""

from ehrqa_cli.engine.ask import ask
from ehrqa_cli.engine.session import Mode, Session, open_session

__all__ = ["Mode", "Session", "ask", "open_session"]
