"""Which tables a database has, and whether it follows EHRSQL-2024's conventions."""

from __future__ import annotations

from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.ehr.mimic.options import EHRSQL_NOW
from ehrqa_cli.logical_form import Layout


def layout_of(database: Database) -> Layout:
    """What the database has, and whether it follows EHRSQL's conventions: it was made with its
    clock, or does not say the specimen of a lab test, as older imports do not; one that is
    mapped, if its mapping is called so. Raises DatabaseError."""
    from ehrqa_cli.ehr.mapping.mapped import Mapped

    columns = {
        table.lower(): frozenset(map(str.lower, names))
        for table, names in database.schema().items()
    }
    if isinstance(database, Mapped):
        return Layout(columns, database.fitted.mapping.name.endswith("_ehrsql"))
    bare = "fluid" not in columns.get("d_labitems", frozenset())
    return Layout(columns, bare or database.default_as_of() == EHRSQL_NOW)
