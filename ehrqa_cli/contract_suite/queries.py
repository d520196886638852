"""The statements of the suite: those that must give what SQLite gives are in ``answered.sql``."""

from __future__ import annotations

from importlib.resources import files

from ehrqa_cli.logical_form import compile_sql, parse
from ehrqa_cli.neuralsql import Context, bind


def _read() -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    name = ""
    text = (files(__package__) / "answered.sql").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("-- # "):
            name = line.removeprefix("-- # ")
        elif line.endswith(";"):
            groups.setdefault(name, []).append(line.removesuffix(";"))
    return {name: tuple(statements) for name, statements in groups.items()}


ANSWERED: dict[str, tuple[str, ...]] = _read()


def composed() -> tuple[str, ...]:
    """The statements of logical forms that use what composes (``composed.txt``)."""
    text = (files(__package__) / "composed.txt").read_text(encoding="utf-8")
    now = Context("2100-12-31 23:59:00")
    return tuple(bind(compile_sql(parse(line)), now) for line in text.splitlines())


UNORDERED = (
    "SELECT DISTINCT itemid FROM chartevents",
    "SELECT hadm_id, COUNT(*) FROM chartevents GROUP BY hadm_id",
    "SELECT itemid, valuenum FROM chartevents ORDER BY itemid LIMIT 50",
    "SELECT subject_id FROM labevents LIMIT 30",
)

WRITES = (
    "DELETE FROM patients",
    "UPDATE patients SET gender = 'x'",
    "INSERT INTO patients SELECT * FROM patients",
    "CREATE TABLE made_up AS SELECT * FROM patients",
    "DROP TABLE patients",
    "SELECT 1; DELETE FROM patients",
)

REFUSED = (
    *WRITES,
    "",
    "ATTACH 'other.db' AS other",
    "PRAGMA table_info(patients)",
    "VACUUM INTO 'copy.db'",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM pragma_table_info('patients')",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM 'patients.csv'",
    "SELECT * FROM read_csv('patients.csv')",
    "SELECT load_extension('x')",
    "SELECT readfile('x')",
    "EXPLAIN SELECT 1",
    "SELECT 'a\x00b'",
)

WRONG = (
    "SELECT",
    "SELECT nothing_like_it FROM patients",
    "SELECT * FROM no_such_table",
    "SELECT FROM WHERE",
    "SELECT no_such_function(1)",
    "SELECT * FROM patients WHERE (",
)
