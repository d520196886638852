"""Values: names, literals, arithmetic, conversions and choices among them."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import expressions as exp

from ehrqa_cli.contracts.dialect import SqlKind
from ehrqa_cli.contracts.errors import DatabaseError, Refused
from ehrqa_cli.dialects.kinds import TEXTS, Typed
from ehrqa_cli.dialects.scope import Scope
from ehrqa_cli.dialects.writer import PLAIN, Writer, Writers

_TYPES = {
    "INT": SqlKind.INTEGER,
    "BIGINT": SqlKind.INTEGER,
    "SMALLINT": SqlKind.INTEGER,
    "TINYINT": SqlKind.INTEGER,
    "BOOLEAN": SqlKind.INTEGER,
    "FLOAT": SqlKind.REAL,
    "DOUBLE": SqlKind.REAL,
    "DECIMAL": SqlKind.REAL,
    "TEXT": SqlKind.TEXT,
    "VARCHAR": SqlKind.TEXT,
    "CHAR": SqlKind.TEXT,
}
_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}


def _column(to: Writer, node: exp.Column, scope: Scope) -> Typed:
    if isinstance(node.this, exp.Star):
        return Typed("*" if not node.table else f"{to.target.identifier(node.table)}.*")
    name = node.name
    found = scope.find(node.table, name)
    if found is None:
        return _no_column(to, node, scope)
    source = (
        f"{to.target.identifier(found.source)}." if node.table or len(scope.sources) > 1 else ""
    )
    if not found.here and not node.table:
        source = f"{to.target.identifier(found.source)}."
    sql = source + to.target.identifier(name)
    keyed = (found.source, name.lower()) in scope.keys
    if scope.grouped and found.here and not keyed:
        with scope.rows():
            if scope.extreme is not None:
                way, of = scope.extreme
                other = to.write(of, scope).sql
                itself = other == sql and found.kind not in TEXTS
                sql = f"{way}({sql})" if itself else to.target.value_at(sql, other, way)
            else:
                sql = to.target.any_value(sql)
    return Typed(sql, found.kind, affinity=True)


def _no_column(to: Writer, node: exp.Column, scope: Scope) -> Typed:
    alias = scope.aliases.get(node.name.lower())
    if alias is not None and not node.table:
        made = to.write(alias, scope)
        return Typed(f"({made.sql})", made.kind, made.affinity, made.literal, made.prefix)
    if node.this.args.get("quoted") and not node.table:
        # SQLite takes a quoted name that is no column for text.
        return Typed(to.target.text(node.name), SqlKind.TEXT, literal=node.name)
    name = f"{node.table}.{node.name}" if node.table else node.name
    raise DatabaseError(
        f"SQL error: no such column: {name}", "`ehrqa db info` lists tables and columns"
    )


def _literal(to: Writer, node: exp.Literal, scope: Scope) -> Typed:
    del scope
    if node.is_string:
        return Typed(to.target.text(node.this), SqlKind.TEXT, literal=node.this)
    try:
        if node.this.isdecimal():
            return Typed(node.this, SqlKind.INTEGER, literal=int(node.this))
        return Typed(to.target.real(node.this), SqlKind.REAL, literal=float(node.this))
    except ValueError:  # 1e, or thousands of digits
        raise Refused(f"{node.this[:40]} is not a number", "write it out") from None


def _null(to: Writer, node: exp.Expr, scope: Scope) -> Typed:
    del node, scope
    return Typed("NULL", SqlKind.NULL)


def _boolean(to: Writer, node: exp.Boolean, scope: Scope) -> Typed:
    del scope
    return Typed("1" if node.this else "0", SqlKind.INTEGER, literal=int(node.this))


def _paren(to: Writer, node: exp.Paren, scope: Scope) -> Typed:
    value = to.write(node.this, scope)
    return replace(value, sql=f"({value.sql})", folded=False)


def _arithmetic(to: Writer, node: exp.Expr, scope: Scope) -> Typed:
    sign = _ARITHMETIC[type(node)]
    one, other = to.both(node, scope)
    left, right = to.to.number(one), to.to.number(other)
    whole = left.kind == right.kind == SqlKind.INTEGER
    kind = SqlKind.INTEGER if whole else SqlKind.REAL
    days = sign == "-" and one.instant and other.instant
    apart = f"({one.instant} - {other.instant})" if days else None
    if whole and sign == "*":
        return Typed(f"({to.target.times_whole(left.sql, right.sql)})", kind)
    return Typed(f"({left.sql} {sign} {right.sql})", kind, apart=apart)


def _divide(to: Writer, node: exp.Div, scope: Scope) -> Typed:
    left, right = (to.to.number(v) for v in to.both(node, scope))
    if left.kind == right.kind == SqlKind.INTEGER:
        return Typed(f"({to.target.divide_whole(left.sql, right.sql)})", SqlKind.INTEGER)
    return Typed(f"({left.sql} / NULLIF({right.sql}, 0))", SqlKind.REAL)


def _modulo(to: Writer, node: exp.Mod, scope: Scope) -> Typed:
    left, right = (to.whole(to.to.number(v)) for v in to.both(node, scope))
    return Typed(f"({left} % NULLIF({right}, 0))", SqlKind.INTEGER)


def _negative(to: Writer, node: exp.Neg, scope: Scope) -> Typed:
    value = to.to.number(to.write(node.this, scope))
    literal = -value.literal if isinstance(value.literal, int | float) else None
    return Typed(f"(-({value.sql}))", value.kind, literal=literal)


def _joined(to: Writer, node: exp.DPipe, scope: Scope) -> Typed:
    parts = [to.to.text(v) for v in to.both(node, scope)]
    return Typed(f"({parts[0]} || {parts[1]})", SqlKind.TEXT)


def _collate(to: Writer, node: exp.Collate, scope: Scope) -> Typed:
    value = to.write(node.this, scope)
    if node.expression.name.lower() == "binary" or value.kind not in TEXTS:
        return value
    if node.expression.name.lower() != "nocase":
        raise Refused(f"the collation {node.expression.name} is not known", PLAIN)
    return Typed(to.target.no_case(value.sql), value.kind, value.affinity, folded=True)


def _cast(to: Writer, node: exp.Cast, scope: Scope) -> Typed:
    value = to.write(node.this, scope)
    kind = _TYPES.get(node.to.this.name)
    if kind is None:
        raise Refused(f"CAST to {node.to.sql()} is not known", "use INTEGER, REAL or TEXT")
    if kind == SqlKind.TEXT:
        return Typed(to.to.text(value), kind, affinity=True)
    number = to.to.number(value)
    if kind == SqlKind.INTEGER:
        return Typed(to.whole(number), kind, affinity=True)
    return Typed(to.target.cast(number.sql, to.target.real_type), kind, affinity=True)


def _case(to: Writer, node: exp.Case, scope: Scope) -> Typed:
    subject = to.write(node.this, scope) if node.this else None
    whens: list[str] = []
    for arm in node.args["ifs"]:
        if subject is None:
            whens.append(to.condition(arm.this, scope))
        else:
            whens.append(to.to.compare(subject, "=", to.write(arm.this, scope)))
    values = [to.write(arm.args["true"], scope) for arm in node.args["ifs"]]
    default = node.args.get("default")
    values.append(to.write(default, scope) if default else Typed("NULL", SqlKind.NULL))
    made, kind = to.to.common(values)
    arms = " ".join(f"WHEN {w} THEN {v}" for w, v in zip(whens, made, strict=False))
    return Typed(f"CASE {arms} ELSE {made[-1]} END", kind)


WRITERS: Writers = {
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Null: _null,
    exp.Boolean: _boolean,
    exp.Paren: _paren,
    exp.Neg: _negative,
    exp.Div: _divide,
    exp.Mod: _modulo,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.DPipe: _joined,
    exp.Collate: _collate,
}
