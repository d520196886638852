"""What went wrong on the server, in one line and with a next step; never with a password."""

from __future__ import annotations

import psycopg
from psycopg import errors

from ehrqa_cli.contracts.errors import DatabaseError, LimitExceeded, Refused

GONE = "is the server running? The next question connects to it anew"
_HINTS = (
    ("no password supplied", "put it in ~/.pgpass (mode 0600), a service file, or PGPASSWORD"),
    ("password authentication failed", "check the password in ~/.pgpass or PGPASSWORD, and USER@"),
    ("no pg_hba.conf entry", "ask the server's operator to let you in (pg_hba.conf)"),
    ("does not exist", "check the name of the database and of the user in the address"),
    ("the database system is", "wait until the server has started, and ask again"),
    ("definition of service", "check the service file (PGSERVICEFILE, ~/.pg_service.conf)"),
    ("timeout expired", "is the host right, and does a firewall let you through?"),
)
_SOON = (
    "the database system is starting up",
    "in recovery mode",
    "not yet accepting connections",
    "server closed the connection unexpectedly",  # while it ends all of them after a crash
)
_LESS = "ask about fewer patients or a shorter time"


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    told = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    text = (told or str(error)).strip()
    return " ".join(text.splitlines()[0].split()) if text else type(error).__name__


def is_recovering(error: psycopg.Error) -> bool:
    """Is the server there, but not ready yet?"""
    return any(part in str(error) for part in _SOON)


def cannot_connect(error: psycopg.Error, place: str) -> DatabaseError:
    """A connection that was not made."""
    text = " ".join(str(error).split())
    # "connection failed: connection to server at "h" (a), port n failed: FATAL:  what is wrong"
    what = text.rpartition("FATAL: ")[2] if "FATAL: " in text else text
    what = what.removeprefix("connection failed: ").strip()[:200]
    hint = next((hint for part, hint in _HINTS if part in text), "is the server running?")
    return DatabaseError(f"cannot connect to {place}: {what}", hint)


def explained(error: psycopg.Error, *, lost: bool) -> DatabaseError:
    """An error of a statement; ``lost`` when the connection went with it."""
    text = first_line(error)
    if isinstance(error, errors.AdminShutdown | errors.CrashShutdown | errors.CannotConnectNow):
        return DatabaseError(f"the server ended the query: {text}", GONE)
    if isinstance(error, errors.InsufficientPrivilege):
        hint = "GRANT SELECT on the EHR's tables to the role that you connect as"
        return DatabaseError(f"the server does not let you: {text}", hint)
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return Refused(text, "ask with one SELECT; the database is only ever read")
    if isinstance(error, errors.QueryCanceled):
        return LimitExceeded(f"the server ended the query: {text}", _LESS)
    if isinstance(error, errors.InsufficientResources | errors.ProgramLimitExceeded):
        return LimitExceeded(f"the query needs too much of the server: {text}", _LESS)
    if lost:
        return DatabaseError(f"the server went away in the middle of the query: {text}", GONE)
    return DatabaseError(f"SQL error: {text}", "`ehrqa db info` lists tables and columns")
