"""Addresses, and that no password is in them or comes out of them."""

from __future__ import annotations

import pytest
from ehrqa_postgres import PostgresDatabase
from ehrqa_postgres.address import parameters, place

from ehrqa_cli.contracts.errors import DatabaseError

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("postgresql:///ehr", {"dbname": "ehr"}),
        ("postgresql://me@dbhost:5433/ehr", {"user": "me", "host": "dbhost", "port": "5433",
                                             "dbname": "ehr"}),
        ("postgres://me@[::1]:5433/ehr", {"user": "me", "host": "::1", "port": "5433",
                                          "dbname": "ehr"}),
        ("postgresql://?service=mimic", {"service": "mimic"}),
        ("postgresql:///ehr?host=/var/run/postgresql&sslmode=require",
         {"dbname": "ehr", "host": "/var/run/postgresql", "sslmode": "require"}),
    ],
)  # fmt: skip
def test_addresses(target: str, wanted: dict[str, str]) -> None:
    assert parameters(target) == wanted


@pytest.mark.parametrize(
    "target",
    [
        f"postgresql://me:{SECRET}@dbhost/ehr",
        f"postgresql://me:{SECRET}/x@dbhost/ehr",
        f"postgresql://:{SECRET}@dbhost/ehr",
        f"postgresql://dbhost/ehr?password={SECRET}",
        f"postgresql://dbhost/ehr?%70assword={SECRET}",
        f"postgresql://dbhost/ehr?sslpassword={SECRET}",
        f"postgresql://dbhost/ehr?user=a&password={SECRET}&x=1",
        f"postgresql://dbhost/ehr?nothing={SECRET}",
        f"host=dbhost password={SECRET}",
        f"mysql://me:{SECRET}@dbhost/ehr",
    ],
)
def test_a_password_is_refused_and_not_repeated(target: str) -> None:
    with pytest.raises(DatabaseError) as raised:
        PostgresDatabase.open(target)
    assert SECRET not in repr(raised.value) + str(raised.value)
    assert raised.value.hint
    assert raised.value.__cause__ is None


def test_a_place_is_told_without_what_is_secret() -> None:
    given = parameters("postgresql://me@dbhost:5433/ehr?sslmode=require")
    assert place(given) == "PostgreSQL on dbhost port 5433, database ehr"
    assert place({}) == "PostgreSQL on this machine"


def test_nobody_at_home() -> None:
    with pytest.raises(DatabaseError, match=r"cannot connect to PostgreSQL on 127\.0") as raised:
        PostgresDatabase.open("postgresql://127.0.0.1:1/ehr")
    assert "is the server running" in raised.value.hint
    assert "\n" not in str(raised.value)
