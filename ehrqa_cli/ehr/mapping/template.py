"""A mapping to begin with: what a database has under our names is filled in, the rest is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ehrqa_cli.ehr.mapping.fit import is_essential, kind
from ehrqa_cli.ehr.schema import TABLES, Column, EhrTable

_HOLDS = {
    "integer": "a whole number",
    "real": "a number",
    "text": "text",
    "timestamp": "a time, YYYY-MM-DD HH:MM:SS",
}

_HEAD = """\
# A mapping of {target} for ehrqa: what our tables are in terms of yours.
#
# Every value is SQL of SQLite, whatever your database is: a column (p.birthdate), or an expression
# (CAST(strftime('%Y', v.start) AS INTEGER)). "from" takes joins and queries in brackets. A table
# may have several parts, written [[table]] and [table.columns], whose rows are put together.
# Columns and tables that you leave out count as not recorded: questions about them are declined.
# Columns marked ! are needed; without them their table is left out. docs/schemas.md says more.
#
#   ehrqa db map --check {path} --db {target}
#   EHRQA_SCHEMA={path}     (or schema in the settings file)
name = "{name}"
about = ""
# Text is trimmed and in lower case to us; "as_is" says that yours is so already, and is faster.
text = "lower"
# What "now" means, if not the end of the year of the last event.
# as_of = "2105-12-31 23:59:00"

# Why something is not there, to be told when somebody asks about it.
[absent]
# cost = "this hospital's prices are elsewhere"
"""


def text(name: str, path: str, target: str, schema: Mapping[str, Sequence[str]]) -> str:
    """The TOML of a mapping called ``name`` for a database with these tables and columns; with no
    tables every line is left open."""
    held = {table.lower(): {c.lower() for c in columns} for table, columns in schema.items()}
    pieces = [_HEAD.format(name=name, path=path, target=target)]
    if schema:
        pieces.append("# What the database has:")
        pieces += [f"#   {table}({', '.join(schema[table])})" for table in sorted(schema)]
    for table in TABLES:
        pieces += ["", *_table(table, held.get(table.name, set()))]
    return "\n".join(pieces) + "\n"


def _table(table: EhrTable, columns: set[str]) -> Iterator[str]:
    usable = bool(columns)
    off = "" if usable else "# "
    yield f"{off}[{table.name}]"
    yield f'{off}from = "{table.name if usable else ""}"'
    yield '# where = ""'
    yield f"{off}[{table.name}.columns]"
    for column in table.columns:
        filled = usable and column.name in columns
        written = f'{column.name} = "{column.name if filled else ""}"'
        yield f"{'' if filled else '# '}{written}{_said(table, column)}"


def _said(table: EhrTable, column: Column) -> str:
    mark = "! " if is_essential(table, column.name) else ""
    if column.name == "row_id":
        return "  # ! names one row: a number, or text made of the columns that do"
    told = f", in MIMIC-IV {column.source}" if column.source not in ("", column.name) else ""
    return f"  # {mark}{_HOLDS[kind(column)]}{told}"
