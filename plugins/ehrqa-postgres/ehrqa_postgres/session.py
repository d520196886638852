"""A connection that can read and do nothing else."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping

import psycopg
from psycopg import errors

from ehrqa_postgres import catalog as catalogs
from ehrqa_postgres import settings
from ehrqa_postgres.catalog import Catalog, Session
from ehrqa_postgres.values import plain_values


def connect(given: Mapping[str, str]) -> Session:
    """A session with libpq's parameters ``given``, set up. Raises psycopg's errors."""
    session: Session = psycopg.connect("", autocommit=True, **settings.opening(given))
    try:
        plain_values(session)
        for statement in settings.SESSION:
            session.execute(statement)
        for statement in settings.IF_KNOWN:
            with contextlib.suppress(errors.UndefinedObject, errors.InvalidParameterValue):
                session.execute(statement)
    except BaseException:
        session.close()
        raise
    return session


def as_reader(session: Session) -> Catalog:
    """Give up the right to write where there is a role without it, and read the catalogs.

    Whoever could write takes the role of ``settings.reader``, if that exists, was granted to
    them, and sees the same tables; otherwise they stay who they are. Raises psycopg's errors.
    """
    found = catalogs.read(session)
    reader = settings.reader()
    if not found.may_write or not catalogs.may_be(session, reader):
        return found
    quoted = '"' + reader.replace('"', '""') + '"'
    try:
        session.execute(f"SET ROLE {quoted}".encode())
        less = catalogs.read(session)
    except errors.InsufficientPrivilege:
        less = Catalog({})
    if set(less.types) >= set(found.types):
        return less
    session.execute("RESET ROLE")
    return found


def hang_up(session: Session) -> None:
    """End a connection that does not answer: whoever waits for it gets an error at once."""
    try:
        handle = os.dup(session.fileno())
    except (OSError, psycopg.Error):
        return
    with socket.socket(fileno=handle) as line, contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
