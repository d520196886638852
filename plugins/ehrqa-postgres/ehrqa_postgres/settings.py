"""How a session is set up, whatever the server's own settings are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

ROLE = "EHRQA_POSTGRES_ROLE"
READER = "ehrqa_reader"
VARIABLES = {ROLE: "the role that may only read, which whoever could write takes"}

# A connection that has gone dead is noticed after about half a minute, not after two hours.
_OPENING = {"application_name": "ehrqa", "connect_timeout": "10",
            "keepalives": "1", "keepalives_idle": "10", "keepalives_interval": "5",
            "keepalives_count": "3", "tcp_user_timeout": "20000"}  # fmt: skip

SESSION = (
    "SET default_transaction_read_only = on",
    "SET standard_conforming_strings = on",
    "SET backslash_quote = off",
    "SET client_encoding = 'UTF8'",
    "SET DateStyle = 'ISO, MDY'",
    "SET IntervalStyle = 'postgres'",
    "SET bytea_output = 'hex'",
    "SET extra_float_digits = 1",
    # Two runs give the same bytes: every scan begins at the beginning.
    "SET synchronize_seqscans = off",
    # A cursor is planned for all of its rows, not for the first tenth of them.
    "SET cursor_tuple_fraction = 1",
    # Compiling a plan takes longer than nearly every question, and cannot be cancelled.
    "SET jit = off",
    "SET idle_in_transaction_session_timeout = '60s'",
)
# What an older server, or one on another system, does not know.
IF_KNOWN = ("SET client_connection_check_interval = '1s'",)


def opening(given: Mapping[str, str]) -> dict[str, Any]:
    """libpq's parameters of a connection: ``given``, and what they leave open."""
    return {**_OPENING, **given}


def reader() -> str:
    """The role that may only read: EHRQA_POSTGRES_ROLE, else ``ehrqa_reader``."""
    return os.environ.get(ROLE) or READER
