"""Tables written to a server with COPY, all in one transaction: they are there, or nothing is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import psycopg
from psycopg import errors
from psycopg.sql import SQL, Composed, Identifier, Literal

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.contracts.loading import Loaded, LoadTable
from ehrqa_postgres import settings
from ehrqa_postgres.address import place
from ehrqa_postgres.errors import cannot_connect, first_line

Writer = psycopg.Connection[tuple[object, ...]]

# Text is ordered by its bytes, as in SQLite, so that the columns' indexes serve for that too.
_TYPES = {
    "integer": SQL("BIGINT"),
    "real": SQL("DOUBLE PRECISION"),
    "timestamp": SQL("TIMESTAMP"),
    "boolean": SQL("BOOLEAN"),
}
_TEXT = SQL('TEXT COLLATE "C"')


def load(given: Mapping[str, str], tables: Iterable[LoadTable], *, replace: bool = False) -> Loaded:
    """Connect with libpq's parameters ``given`` and write ``tables`` as ``write`` does.

    Raises DatabaseError, ImportFailed, and what reading the rows raises.
    """
    try:
        session: Writer = psycopg.connect("", autocommit=True, **settings.opening(given))
    except psycopg.Error as error:
        raise cannot_connect(error, place(given)) from None
    try:
        return write(session, tables, replace=replace)
    except psycopg.OperationalError as error:
        raise ImportFailed(
            f"the server ended the import: {first_line(error)}", "nothing was changed; try again"
        ) from None
    except psycopg.Error as error:
        raise ImportFailed(f"SQL error: {first_line(error)}", "nothing was changed") from None
    finally:
        session.close()


def write(
    session: Writer, tables: Iterable[LoadTable], *, reader: str = "", replace: bool = False
) -> Loaded:
    """Write ``tables`` and let ``reader`` read them (by default the role of ``settings.reader``,
    made where that is allowed). ``replace`` drops tables of their names first.

    Raises ImportFailed, and then nothing has changed.
    """
    rows = 0
    names: list[str] = []
    with session.transaction():
        for table in tables:
            rows += _written(session, table, replace)
            names.append(table.name)
        notes = _granted(session, names, reader)
    with session.transaction():
        for name in names:  # what the planner goes by; outside, because rows must be seen
            session.execute(SQL("ANALYZE {}").format(Identifier(name)))
    return Loaded(len(names), rows, notes)


def _written(session: Writer, table: LoadTable, replace: bool) -> int:
    name = Identifier(table.name)
    try:
        if replace:
            session.execute(SQL("DROP TABLE IF EXISTS {} CASCADE").format(name))
        session.execute(_create(table))
        count = _copied(session, table)
        for statement in _indexes(table):
            session.execute(statement)
    except errors.DuplicateTable:
        raise ImportFailed(
            f"the table {table.name} exists already",
            "name another database, or replace its tables with --force",
        ) from None
    except errors.InsufficientPrivilege as error:
        raise ImportFailed(
            f"the server does not let you write: {first_line(error)}",
            "connect as the owner of the database, or ask for CREATE on its schema",
        ) from None
    except errors.DependentObjectsStillExist as error:
        raise ImportFailed(first_line(error), "drop what depends on the table first") from None
    except errors.DataError as error:
        where = " ".join((error.diag.context or "").splitlines()[:1])
        raise ImportFailed(
            f"{table.name}: {first_line(error)} ({where[:120]})", "is the value what it should be?"
        ) from None
    except errors.UniqueViolation as error:
        told = error.diag.message_detail or first_line(error)
        raise ImportFailed(f"{table.name}: {told[:200]}", "a row stands twice") from None
    except errors.IntegrityError as error:  # its detail is the row, which is a patient's
        raise ImportFailed(f"{table.name}: {first_line(error)}", "fill the value in") from None
    return count


def _create(table: LoadTable) -> Composed:
    columns = [
        SQL("{} {}{}").format(
            Identifier(name),
            _TYPES.get(kind, _TEXT),
            SQL(" NOT NULL" if name in table.required else ""),
        )
        for name, kind in table.columns
    ]
    if table.key:
        columns.append(SQL("PRIMARY KEY ({})").format(Identifier(table.key)))
    return SQL("CREATE TABLE {} ({})").format(Identifier(table.name), SQL(", ").join(columns))


def _copied(session: Writer, table: LoadTable) -> int:
    names = SQL(", ").join(Identifier(name) for name, _ in table.columns)
    statement = SQL("COPY {} ({}) FROM STDIN").format(Identifier(table.name), names)
    count = 0
    with session.cursor() as cursor, cursor.copy(statement) as copy:
        for row in table.rows:
            copy.write_row(row)
            count += 1
    return count


def _indexes(table: LoadTable) -> list[Composed]:
    made: list[Composed] = []
    for word, lists in (("UNIQUE INDEX", [(u,) for u in table.unique]), ("INDEX", table.indexes)):
        for columns in lists:
            named = f"{'ux' if word != 'INDEX' else 'ix'}_{table.name}_{'_'.join(columns)}"
            made.append(
                SQL("CREATE {} {} ON {} ({})").format(
                    SQL(word),
                    Identifier(named[:63]),
                    Identifier(table.name),
                    SQL(", ").join(map(Identifier, columns)),
                )
            )
    return made


def _granted(session: Writer, names: Sequence[str], reader: str) -> tuple[str, ...]:
    """Let the reader read the tables; what became of that, for the user."""
    role = reader or settings.reader()
    made = ""
    try:
        if not _exists(session, role):
            with session.transaction():
                session.execute(SQL("CREATE ROLE {} NOLOGIN").format(Identifier(role)))
                made = "was made, and "
        with session.transaction():
            row = session.execute("SELECT current_schema()::text").fetchone()
            schema = Identifier(str(row[0] if row else "public"))
            listed = SQL(", ").join(Identifier(name) for name in names)
            session.execute(SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, Identifier(role)))
            session.execute(SQL("GRANT SELECT ON {} TO {}").format(listed, Identifier(role)))
        if made:
            with session.transaction():
                session.execute(SQL("GRANT {} TO CURRENT_USER").format(Identifier(role)))
    except errors.InsufficientPrivilege as error:
        return (
            f"you may not make or use the role {role} ({first_line(error)}): ask for one that "
            "may only read",
        )
    return (f"the role {role} {made}may read the tables: GRANT {role} TO whoever asks questions",)


def _exists(session: Writer, role: str) -> bool:
    found = session.execute(
        SQL("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = {}").format(Literal(role))
    ).fetchone()
    return found is not None
