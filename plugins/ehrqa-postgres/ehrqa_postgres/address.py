"""A server's address: libpq's URL without a password in it.

A command line can be read by everybody on the machine, so a password in the address is refused
before anything else looks at it. libpq finds one by itself in PGPASSFILE (~/.pgpass), in a service
file, or in PGPASSWORD.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ehrqa_cli.contracts.errors import DatabaseError

_SCHEME = re.compile(r"postgres(?:ql)?://(?P<rest>.*)", re.S)
_SECRETS = ("password", "sslpassword", "scram_client_key", "oauth_client_secret")
_WHERE = "leave it out, and put it in ~/.pgpass (mode 0600), a service file, or PGPASSWORD"
_FORM = "write postgresql://USER@HOST:PORT/DATABASE; the password goes in ~/.pgpass"


def parameters(target: str) -> dict[str, str]:
    """libpq's parameters of the address ``target``.

    Raises DatabaseError, which never repeats it, for one that holds a password or cannot be read.
    """
    found = _SCHEME.fullmatch(target)
    if found is None:
        raise DatabaseError("this is not the address of a PostgreSQL server", _FORM)
    user, at, _ = found["rest"].rpartition("@")
    # Whatever stands between // and the last @: an address that is wrong may hold one too.
    if at and ":" in user:
        raise DatabaseError("the address has a password in it", _WHERE)
    try:
        read = conninfo_to_dict(target)
    except psycopg.Error:
        raise DatabaseError("the address cannot be read", _FORM) from None
    given = {name: str(value) for name, value in read.items() if value is not None}
    if any(name in given for name in _SECRETS):
        raise DatabaseError("the address has a password in it", _WHERE)
    return given


def place(given: Mapping[str, str]) -> str:
    """Where a server is, in words for messages: host, port and database."""
    host = given.get("host") or given.get("hostaddr") or given.get("service") or "this machine"
    port = f" port {given['port']}" if "port" in given else ""
    name = f", database {given['dbname']}" if "dbname" in given else ""
    return f"PostgreSQL on {host}{port}{name}"
