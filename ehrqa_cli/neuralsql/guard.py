"""The first of two barriers before the database: refuses all but one plain SELECT.

It reads the statement as text and says clearly what is wrong. The real barrier is the database's
own authorizer, which sees what SQLite will in fact do.
"""

from __future__ import annotations

from ehrqa_cli import sqltext
from ehrqa_cli.contracts.errors import Refused

MAX_LENGTH = 100_000  # a concept of thousands of codes is long
_SCHEMA_PREFIXES = ("sqlite_", "pragma_", "dbstat", "sqlean")
_BAD_FUNCTIONS = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "lsdir", "fsdir"}
)
VQA = "func_vqa"


def check(sql: str, *, images: bool = False) -> None:
    """Raises Refused unless ``sql`` is one readable SELECT of data, at most MAX_LENGTH long.

    It may call FUNC_VQA where there is a reader of ``images``.
    """
    if not sql.strip():
        raise Refused("the SQL is empty", sqltext.ONE_SELECT)
    if len(sql) > MAX_LENGTH:
        raise Refused(f"the SQL has {len(sql):,} characters", f"write it in at most {MAX_LENGTH:,}")
    if "\x00" in sql:
        raise Refused("the SQL holds a NUL character", "remove it")
    try:
        _check_tree(sql, images)
    except RecursionError:
        raise Refused("the SQL is nested too deeply", "write it with fewer brackets") from None


def _check_tree(sql: str, images: bool) -> None:
    tree = sqltext.parse_select(sql)
    for name in sqltext.forbidden_nodes(tree):
        raise Refused(f"{name.upper()} is not allowed", sqltext.ONE_SELECT)
    for table in sorted(sqltext.table_names(tree)):
        if table.startswith(_SCHEMA_PREFIXES):
            raise Refused(
                f"reading {table} is not allowed",
                "`ehrqa db info FILE` shows the tables and columns",
            )
    functions = sqltext.function_names(tree)
    for function in sorted(functions & _BAD_FUNCTIONS):
        raise Refused(f"the function {function} is not allowed", sqltext.ONE_SELECT)
    if VQA in functions and not images:
        raise Refused(
            "FUNC_VQA asks about images, and there is no image reader",
            "name a folder of labels with --scene-graphs DIR, or ask about the tables only",
        )
