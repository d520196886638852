"""Statements that nobody would write, from a seed: grown from a grammar, or real ones mutated."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

ANSWERED = Path(__file__).parents[3] / "ehrqa_cli/contract_suite/answered.sql"
_TOKEN = re.compile(r"'(?:[^']|'')*'|\w+|\s+|.", re.S)
_FUNCTIONS = r"""
abs avg char coalesce concat count date datetime dense_rank exp format glob group_concat hex
ifnull iif instr json_extract julianday lag length like load_extension lower ltrim max min
nullif pow printf quote random randomblob readfile replace round row_number sqlite_version
strftime substr sum time timediff total trim typeof unicode unixepoch upper writefile zeroblob
func_vqa ehrqa_moment ehrqa_modifier pragma_table_info now age uuid edit fts3_tokenizer
"""
# Calls with the right number of arguments, so that many statements run.
_CALLS = """
abs({}) ; avg({}) ; coalesce({}, {}) ; count({}) ; count(*) ; date({}) ; datetime({})
date({}, '-1 day') ; max({}) ; hex({}) ; ifnull({}, {}) ; iif({}, {}, {}) ; instr({}, {})
julianday({}) ; length({}) ; lower({}) ; ltrim({}, {}) ; min({}) ; nullif({}, {})
printf('%d|%s', {}, {}) ; quote({}) ; replace({}, {}, {}) ; round({}, 2) ; upper({})
strftime('%Y-%m', {}) ; strftime('%J', {}) ; strftime('%s', {}) ; substr({}, 2, 3) ; sum({})
time({}) ; total({}) ; trim({}) ; typeof({}) ; unicode({}) ; unixepoch({}) ; strftime({}, {})
datetime({}, {}) ; CAST({} AS TEXT) ; CAST({} AS INTEGER) ; ({} IS NULL) ; ({} IN ({}, {}))
group_concat({}) ; dense_rank() OVER (ORDER BY {}) ; ({} LIKE {}) ; ({} BETWEEN {} AND {})
(SELECT max({}) FROM patients) ; datetime({} || '') ; sum(count({})) OVER ()
"""
_VALUES = r"""
1 0 -1 NULL 1e 1e400 0x7f .5 9223372036854775808 99999999999999999999999 'now' 'NOW' 'n'||'ow'
'' 'a' x'6e6f77' "now" lower('NOW') current_time current_timestamp '2100-05-06 07:08:09'
'subsec' 'localtime' 'start of month' '+1 month' '%s' '%Y-%m' char(0) '%a%a%a%b' '*[a-z]*'
printf('%.*c',100000000,'x') printf('%900000d',1) 'is_there_pneumonia?' ? :a $1 * study_id
date() julianday() strftime('%s') unixepoch('now') datetime('now','localtime') random()
"""
_PLAIN = "1 0 NULL 'now' 2.5 'a' '2100-05-06' 'n'||'ow' lower('NOW')"
_SANE, _ODD_SIGNS = "+ - * / % || = <> < >= AND OR IS LIKE", "GLOB IN & << COLLATE MATCH ->"
_EVIL = """
; ¦ ] ¦ " ¦ ` ¦ # ¦ [ ¦ ) ¦ @ ¦ ' ¦ ( ¦ , ¦ {{ ¦ /* ¦ */ ¦ -- ¦ AS ¦ $$ ¦ NOT ¦ CAST( ¦ EXISTS
OVER w ¦ EXPLAIN ¦ /*+ ' */ ¦ func_vqa ¦ RECURSIVE ¦ OFFSET -5 ¦ FUNC_VQA() ¦ VALUES (1)
RETURNING * ¦ WINDOW w AS () ¦ UNION SELECT 1 ¦ INTO OUTFILE 'x' ¦ FILTER (WHERE 1)
ORDER BY random() ¦ FROM sqlite_master ¦ PRAGMA query_only=0 ¦ FUNC_VQA(NULL, NULL)
; DROP TABLE patients ¦ VACUUM INTO 'copy.db' ¦ ATTACH 'stolen.db' AS x
LIMIT 99999999999999999 ¦ FROM pragma_database_list ¦ INSERT INTO patients SELECT
FUNC_VQA("any finding", (SELECT 1)) ¦ FUNC_VQA('is there pneumonia?', study_id) ¦ ~
"""
_ODD = (
    *("\x00", "\ufeff", "\u00a0", "\u017felect", "\ud800", "\U0001f600", "\\", "\n", "x" * 5000),
    *("(" * 300, ")" * 300, "1," * 600, "OR 1 " * 2000),
)


class SqlFuzzer:
    """``schema`` is of the tables, ``real`` are statements to mutate; ``seed`` decides the rest."""

    def __init__(self, seed: int, schema: Mapping[str, Sequence[str]], real: Sequence[str]) -> None:
        self.rng = random.Random(seed)
        self.schema = {table: list(columns) for table, columns in schema.items()}
        self.real = [*real, *answered()]
        self.functions, self.values, self.plain = (
            text.split() for text in (_FUNCTIONS, _VALUES, _PLAIN)
        )
        self.signs = _SANE.split() * 5 + _ODD_SIGNS.split()
        self.calls = [c for c in re.split(" ; |\n", _CALLS) if c]
        self.evil = [*(f" {e} " for e in re.split(" ¦ |\n", _EVIL) if e), *_ODD]

    def next(self) -> str:
        """Another statement; the same ones in the same order for a seed."""
        way = self.rng.random()
        if way < 0.45:
            return self.query(self.rng.choice((1, 2, 2, 3)))
        if way < 0.6:
            return self.mutated(self.query(2))
        return self.mutated(self.rng.choice(self.real))

    def query(self, depth: int) -> str:
        """A SELECT from the grammar."""
        pick, rng = self.rng.choice, self.rng
        table = pick(list(self.schema))
        source = table if depth < 2 or rng.random() < 0.9 else f"( {self.query(depth - 1)} ) AS q"
        columns = ", ".join(self.term(table, depth) for _ in range(rng.randint(1, 3)))
        sql = f"SELECT {pick(['', '', 'DISTINCT '])}{columns} FROM {source}"
        if rng.random() < 0.3:
            other = pick(list(self.schema))
            sql += f" {pick(['', 'LEFT ', 'CROSS '])}JOIN {other} ON {self.term(other, depth)}"
        for clause in ("WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT"):
            if rng.random() < (0.05 if clause in ("HAVING", "LIMIT") else 0.3):
                sql += f" {clause} {self.term(table, depth)}"
        if depth and rng.random() < 0.2:
            sql += f" {pick(['UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT'])} {self.query(depth - 1)}"
        if rng.random() < 0.1:
            sql = f"WITH RECURSIVE c(x) AS ( SELECT 1 UNION ALL SELECT x + 1 FROM c ) {sql}"
        return sql

    def term(self, table: str, depth: int) -> str:
        """A value."""
        pick, rng = self.rng.choice, self.rng
        way = rng.random()
        if depth < 1 or way < 0.3:
            return f"{table}.{pick(self.schema[table])}" if rng.random() < 0.8 else pick(self.plain)
        if way < 0.34:
            return pick(self.values)
        if way < 0.65:
            form = pick(self.calls)
            given = [self.term(table, depth - 1) for _ in range(form.count("{}"))]
            return form.format(*given)
        if way < 0.69:
            given = [self.term(table, depth - 1) for _ in range(rng.randint(0, 3))]
            return f"{pick(self.functions)}({', '.join(given)})"
        if way < 0.93:
            sides = self.term(table, depth - 1), self.term(table, depth - 1)
            return f"{sides[0]} {pick(self.signs)} {sides[1]}"
        if way < 0.97:
            return f"( {self.query(depth - 1)} )"
        when, then = self.term(table, depth - 1), self.term(table, depth - 1)
        return f"CASE WHEN {when} THEN {then} END"

    def mutated(self, sql: str) -> str:
        """A statement with some of its words changed."""
        rng = self.rng
        words = _TOKEN.findall(sql)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            if not words:
                break
            at, way = rng.randrange(len(words)), rng.random()
            if way < 0.2:
                del words[at]
            elif way < 0.4 or (way < 0.7 and words[at].isspace()):
                words[at] = rng.choice(words)
            elif way < 0.55:
                words[at] = rng.choice(self.values)
            elif way < 0.7:
                words.insert(at, rng.choice(self.evil))
            elif way < 0.85:
                words[at] = rng.choice(words)
            else:
                other = _TOKEN.findall(rng.choice(self.real))
                words[at:] = other[rng.randrange(len(other)) :]
        return "".join(words)


def answered() -> list[str]:
    """The statements that the contract suite asks every backend."""
    lines = ANSWERED.read_text(encoding="utf-8").splitlines()
    return [line.rstrip(";") for line in lines if line.startswith(("SELECT", "WITH"))]
