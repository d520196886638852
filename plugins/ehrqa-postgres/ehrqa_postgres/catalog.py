"""What the server's catalogs say of an EHR: its tables, who may write, and what changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from psycopg import Connection
from psycopg.sql import SQL, Composable, Identifier, Literal

from ehrqa_cli.contracts.types import Scalar

Session = Connection[tuple[Scalar, ...]]

META = "ehrqa_meta"
_KINDS = {
    "bool": "boolean",
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "float4": "real",
    "float8": "real",
    "numeric": "real",
    "text": "text",
    "varchar": "text",
    "bpchar": "text",
    "name": "text",
    "date": "timestamp",
    "timestamp": "timestamp",
    "timestamptz": "timestamp",
}
# Everything that a name without a schema can mean, but what belongs to an extension; columns in
# their order. Names with capitals would have to be quoted everywhere, and are left out.
_COLUMNS = """
    SELECT c.oid::bigint, c.relname::text, a.attname::text, t.typname::text, c.relkind::text
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.pg_table_is_visible(c.oid)
      AND c.relnamespace <> 'pg_catalog'::regnamespace
      AND c.relname = lower(c.relname) AND a.attname = lower(a.attname)
      AND c.relname NOT LIKE 'pg\\_%'
      AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')
      AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.objid = c.oid
                      AND d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype = 'e')
    ORDER BY c.relname, a.attnum
"""
_IN_REACH = """
    SELECT relname::text FROM pg_catalog.pg_class
    WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND pg_catalog.pg_table_is_visible(oid)
"""
# What this role could do beyond reading, were it not for the transaction.
_POWERS = """
    SELECT rolsuper,
      EXISTS (SELECT 1 FROM unnest(%s::bigint[]) AS t(id)
              WHERE has_table_privilege(t.id::oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))
    FROM pg_catalog.pg_roles WHERE rolname = current_user
"""
_MAY_BE = """
    SELECT pg_has_role(session_user, oid, 'MEMBER') FROM pg_catalog.pg_roles
    WHERE rolname = %s AND NOT rolsuper
"""
# Tables and what they are made of: partitions, and the tables under views.
_UNDER = """
    WITH RECURSIVE parts(whole, part) AS (
        SELECT inhparent, inhrelid FROM pg_catalog.pg_inherits
        UNION SELECT r.ev_class, d.refobjid FROM pg_catalog.pg_rewrite r
          JOIN pg_catalog.pg_depend d ON d.objid = r.oid
            AND d.classid = 'pg_catalog.pg_rewrite'::regclass
            AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> r.ev_class
    ), under(id) AS (
        SELECT unnest(%s::bigint[])::oid
        UNION SELECT parts.part FROM under JOIN parts ON parts.whole = under.id
    )
    SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind::text,
      coalesce(pg_catalog.pg_relation_filenode(c.oid)::bigint, 0),
      coalesce(pg_catalog.pg_relation_size(c.oid), 0),
      coalesce(s.n_tup_ins, 0), coalesce(s.n_tup_upd, 0), coalesce(s.n_tup_del, 0),
      has_table_privilege(c.oid, 'SELECT')
        AND has_schema_privilege(c.relnamespace, 'USAGE') AND c.relkind IN ('r', 'm')
    FROM (SELECT DISTINCT id FROM under) AS u
    JOIN pg_catalog.pg_class c ON c.oid = u.id
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = c.oid
    ORDER BY n.nspname, c.relname
"""
_PAGE = 8192
_LOOKED_AT = 64  # pages of a table whose rows' versions are read, about
_TID_RANGES = 140_000  # before version 14, a page could not be asked for alone


@dataclass(frozen=True)
class Catalog:
    """The tables of one EHR as the session's role sees them."""

    types: Mapping[str, Mapping[str, str]]
    ids: tuple[int, ...] = ()  # of the tables, by name
    others: frozenset[str] = frozenset()  # in reach, and no tables of the EHR
    meta: Mapping[str, str] = field(default_factory=dict)
    role: str = ""
    may_write: bool = False


def read(session: Session) -> Catalog:
    """Read the catalogs. Raises psycopg's errors."""
    types: dict[str, dict[str, str]] = {}
    ids: dict[str, int] = {}
    has_meta = False
    for oid, table, column, type_, _ in session.execute(_COLUMNS).fetchall():
        if table == META:
            has_meta = True
        elif not str(table).startswith("ehrqa_"):
            ids[str(table)] = int(oid or 0)
            known = _KINDS.get(str(type_))
            types.setdefault(str(table), {})
            if known is not None:  # of a type that no question is about: as if it were not there
                types[str(table)][str(column)] = known
    every = {str(row[0]) for row in session.execute(_IN_REACH).fetchall()}
    listed = tuple(ids[name] for name in sorted(ids))
    role, may_write = powers(session, listed)
    meta = _meta(session) if has_meta else {}
    return Catalog(types, listed, frozenset(every - set(types)), meta, role, may_write)


def powers(session: Session, ids: Sequence[int]) -> tuple[str, bool]:
    """The session's role, and whether it could write the tables ``ids`` or anything at all."""
    row = session.execute(_POWERS, [list(ids)]).fetchone()
    name = session.execute("SELECT current_user::text").fetchone()
    could = row is None or bool(row[0]) or bool(row[1])
    return str(name[0]) if name else "", could


def may_be(session: Session, role: str) -> bool:
    """May whoever is connected take the role ``role``?"""
    row = session.execute(_MAY_BE, [role]).fetchone()
    return bool(row and row[0])


def _meta(session: Session) -> dict[str, str]:
    rows = session.execute(f"SELECT key::text, value::text FROM {META} ORDER BY key").fetchall()
    return {str(key): str(value) for key, value in rows}


def state(session: Session, catalog: Catalog) -> list[tuple[Scalar, ...]]:
    """Of every table that holds rows of the EHR, its file, its size, and the rows written since it
    was made. The server counts rows up to 10 s late, and forgets the counts when it crashes."""
    return session.execute(_UNDER, [list(catalog.ids)]).fetchall()


def fingerprint(session: Session, catalog: Catalog, known: list[tuple[Scalar, ...]]) -> str:
    """16 hex digits of ``known`` (`state`) and of the rows in some pages of each table, which
    tell at once who wrote them. No table is read as a whole."""
    digest = hashlib.sha256(repr(sorted(catalog.types.items())).encode())
    for _, schema, table, kind, *numbers, readable in known:
        digest.update(repr((schema, table, kind, numbers)).encode())
        size = int(numbers[1] or 0)
        if readable and size:
            name = SQL("{}.{}").format(Identifier(str(schema)), Identifier(str(table)))
            digest.update(repr(_versions(session, name, size // _PAGE)).encode())
    return digest.hexdigest()[:16]


def _versions(session: Session, name: Composable, pages: int) -> list[tuple[Scalar, ...]]:
    """Of some pages of a table and of its last one: how many rows, and who wrote them when."""
    counted = SQL("SELECT count(*), sum(xmin::text::bigint), max(xmin::text::bigint) FROM {} ")
    share = min(100.0, 100.0 * _LOOKED_AT / max(pages, 1))
    # The same pages every time, and no others are read.
    sampled = SQL("TABLESAMPLE SYSTEM ({}) REPEATABLE (1)").format(Literal(share))
    found = session.execute(counted.format(name) + sampled).fetchall()
    if pages > _LOOKED_AT and session.info.server_version >= _TID_RANGES:
        last = SQL("WHERE ctid >= {}::tid").format(Literal(f"({pages - 1},0)"))
        found += session.execute(counted.format(name) + last).fetchall()
    return found
