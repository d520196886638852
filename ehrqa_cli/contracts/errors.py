"""The error tree. Every user-facing error is one line: what is wrong, and the next step.

EhrqaError
├── UsageError            exit 2: a flag, an argument or the configuration is wrong
├── ImportFailed          exit 1: reading MIMIC-IV files, notes or images
├── DatabaseError         exit 1: the EHR cannot be opened or queried
│   ├── Refused           the guard refuses a statement
│   ├── LimitExceeded     a limit of time, rows or length ended it
│   └── Cancelled         the user ended it
├── DatabaseFault         exit 1: the EHR's file is damaged, gone or locked, whatever is asked
├── FormError             exit 1: a logical form that cannot be parsed or compiled
├── ModelError            exit 1: a model file is missing, corrupt or crashes
├── ImageError            exit 1: an image is missing, unreadable, unsupported or too large
├── PluginError           exit 2: a plugin is missing or broken
├── EvaluationError       exit 1: a benchmark's files are not what is expected
└── BuildError            exit 1: a question set cannot be made or written
"""

from __future__ import annotations


class EhrqaError(Exception):
    """Base of all errors shown to a user: ``message`` says what is wrong, ``hint`` what to do."""

    exit_code = 1

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(EhrqaError):
    """A flag, an argument or the configuration is wrong."""

    exit_code = 2


class ImportFailed(EhrqaError):
    """Reading MIMIC-IV files, notes or images went wrong."""


class DatabaseError(EhrqaError):
    """The EHR cannot be opened or queried."""


class Refused(DatabaseError):
    """The guard refuses a statement."""


class LimitExceeded(DatabaseError):
    """A limit of time, rows or length ended the query."""


class Cancelled(DatabaseError):
    """The user ended the query."""


class DatabaseFault(EhrqaError):
    """The EHR's file is damaged, gone or locked: it says nothing against the query.

    No DatabaseError, so that nobody who is prepared for a wrong query takes it for one.
    """


class FormError(EhrqaError):
    """A logical form cannot be parsed or compiled."""


class ModelError(EhrqaError):
    """A model file is missing, corrupt or crashes."""


class ImageError(EhrqaError):
    """An image is missing, unreadable, of an unsupported kind or too large."""


class PluginError(EhrqaError):
    """A plugin is missing or broken."""

    exit_code = 2


class EvaluationError(EhrqaError):
    """A benchmark's files are not what is expected."""


class BuildError(EhrqaError):
    """A question set cannot be made or written."""
