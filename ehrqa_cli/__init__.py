"""ehrqa: answers questions about a local electronic health record, and shows why.

From Python: ``open_session(db).ask("...")`` and ``.ask_many([...])``; see docs/python.md.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ehrqa_cli.contracts.errors import EhrqaError
    from ehrqa_cli.contracts.types import Answer, PatientScope, Question, Scope, Status
    from ehrqa_cli.engine import Mode, Session, open_session

__version__ = "0.1.0"

# Where each name is: nothing is imported before it is used, so that `ehrqa --help` stays quick.
_HOMES = {
    "Answer": "ehrqa_cli.contracts.types",
    "EhrqaError": "ehrqa_cli.contracts.errors",
    "Mode": "ehrqa_cli.engine",
    "PatientScope": "ehrqa_cli.contracts.types",
    "Question": "ehrqa_cli.contracts.types",
    "Scope": "ehrqa_cli.contracts.types",
    "Session": "ehrqa_cli.engine",
    "Status": "ehrqa_cli.contracts.types",
    "open_session": "ehrqa_cli.engine",
}

__all__ = [
    "Answer",
    "EhrqaError",
    "Mode",
    "PatientScope",
    "Question",
    "Scope",
    "Session",
    "Status",
    "open_session",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
