"""Which mapping a database needs: none, the one that is named, or the one it is known by."""

from __future__ import annotations

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.ehr import schema as ehr_schema
from ehrqa_cli.ehr.mapping import document as mapping
from ehrqa_cli.ehr.mapping.fit import Fitted, fit, signed
from ehrqa_cli.ehr.mapping.mapped import Mapped

OURS = "mimic_iv"
_NONE = (
    "make one with `ehrqa db import DIR --out FILE`, or write a mapping of its tables:"
    " `ehrqa db map --new OUT.toml`"
)


def as_ehr(database: Database, name: str) -> Database:
    """``database``, which takes SQLite's SQL, as an EHR: itself where it has our tables, else
    through a mapping. Closes it and raises DatabaseError where none fits, UsageError for a mapping
    that is wrong."""
    lacking = ehr_schema.missing(database.schema())
    if not lacking:
        return database
    try:
        fitted = _named(database, name) or detected(database)
        if fitted is None:
            shown = ", ".join(lacking[:6]) + (" ..." if len(lacking) > 6 else "")
            raise DatabaseError(f"{name} is not an EHR: it lacks {shown}", _NONE)
    except BaseException:
        database.close()
        raise
    return Mapped(database, fitted, name)


def wanted(database: Database) -> Fitted | None:
    """The mapping that would be used for a database, faults or not: the one of the settings, the
    one it is known by, or, for our own tables, the one that changes nothing. Raises UsageError."""
    from ehrqa_cli import config

    if not ehr_schema.missing(database.schema()):
        return fit(mapping.load(OURS), database.schema())
    named = config.load().schema
    return fit(mapping.load(named), database.schema()) if named else detected(database)


def detected(database: Database) -> Fitted | None:
    """The shipped mapping that a database is known by, laid over it."""
    schema = database.schema()
    for name in mapping.shipped():
        candidate = mapping.load(name)
        if signed(candidate, schema):
            fitted = fit(candidate, schema)
            if not fitted.broken:
                return fitted
    return None


def _named(database: Database, name: str) -> Fitted | None:
    """The mapping of the settings (``schema``, EHRQA_SCHEMA), if there is one."""
    from ehrqa_cli import config

    wanted = config.load().schema
    if wanted is None:
        return None
    fitted = fit(mapping.load(wanted), database.schema())
    if fitted.broken:
        raise DatabaseError(
            f"the mapping {fitted.mapping.name} does not fit {name}: {fitted.broken[0]}",
            "`ehrqa db map --check` says what is missing; schema and EHRQA_SCHEMA name another",
        )
    return fitted
