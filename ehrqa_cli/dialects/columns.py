"""The columns that a SELECT names, and what each is called and holds."""

from __future__ import annotations

from sqlglot import expressions as exp

from ehrqa_cli.contracts.dialect import SqlKind
from ehrqa_cli.contracts.errors import LimitExceeded
from ehrqa_cli.dialects.kinds import NUMBERS, Columns
from ehrqa_cli.dialects.scope import Scope
from ehrqa_cli.dialects.writer import Writer

_MOST_COLUMNS = 500


def item(
    to: Writer, part: exp.Expr, scope: Scope, columns: Columns, named: bool, last: bool
) -> str:
    """One column of a SELECT; ``last`` when it is the answer's."""
    inner = part.unalias()
    if isinstance(inner, exp.Star) or (
        isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)
    ):
        return _star(to, inner, scope, columns)
    value = to.write(inner, scope)
    sql = value.sql
    kind = value.kind
    if last and kind in (SqlKind.BOOLEAN, SqlKind.JULIAN):
        truth = kind == SqlKind.BOOLEAN
        sql = to.to.plain(value) if truth else to.to.text(value)
        kind = SqlKind.INTEGER if truth else SqlKind.TEXT
    if isinstance(part, exp.Alias):
        name = part.alias
    elif isinstance(inner, exp.Column):
        name = inner.name
        plain = not scope.grouped or sql.rpartition(".")[2].strip('"`').lower() == name.lower()
        if plain:
            _add(columns, name, kind)
            return sql
    else:
        name = inner.sql()
        if not named:
            _add(columns, name, kind)
            return sql
    _add(columns, name, kind)
    return f"{sql} AS {to.target.identifier(name)}"


def _star(to: Writer, node: exp.Expr, scope: Scope, columns: Columns) -> str:
    table = node.table.lower() if isinstance(node, exp.Column) else ""
    listed: list[str] = []
    for source, held in scope.sources.items():
        if not table or source == table:
            for name, kind in held.kinds.items():
                again = name in scope.using and not table and name in columns.kinds
                if not (again and to.target.using_moves):
                    _add(columns, name, kind)
                    listed.append(".".join(map(to.target.identifier, (source, name))))
    if scope.using and to.target.using_moves:
        return ", ".join(listed)
    return f"{to.target.identifier(table)}.*" if table else "*"


def _add(columns: Columns, name: str, kind: SqlKind) -> None:
    if len(columns.kinds) == _MOST_COLUMNS:
        raise LimitExceeded(f"more than {_MOST_COLUMNS} columns in one SELECT", "ask for fewer")
    key, n = name.lower(), 1
    while key in columns.kinds:
        n += 1
        key = f"{name.lower()}:{n}"  # as SQLite names a second column of one name
    columns.kinds[key] = kind


def common(kinds: list[SqlKind] | tuple[SqlKind, ...]) -> SqlKind:
    """The kind that values of several kinds have together."""
    found = set(kinds) - {SqlKind.NULL}
    if len(found) <= 1:
        return next(iter(found), SqlKind.NULL)
    if found <= NUMBERS:
        return SqlKind.REAL if SqlKind.REAL in found else SqlKind.INTEGER
    if found <= NUMBERS | {SqlKind.JULIAN}:
        return SqlKind.REAL
    return SqlKind.ANY if SqlKind.ANY in found or found & NUMBERS else SqlKind.TEXT
