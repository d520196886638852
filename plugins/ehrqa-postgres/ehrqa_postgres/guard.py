"""What a query may do: one SELECT of the EHR's tables, with functions that only calculate.

The transaction and the role are the real barrier: they cannot write. This one also keeps out what
those let through: the catalogs, the server's files, its settings, its clock, other servers, and
functions that run a text as a query.

It reads a part of SQL in which every text can be cut into words in one way only (PostgreSQL's
documentation, 4.1 "Lexical Structure"): what is beyond it is refused, not guessed at. Within it,
a function is a word before a bracket, and a table is a word after FROM, JOIN or their commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ehrqa_cli.contracts.errors import LimitExceeded, Refused

_ONE_SELECT = "ask with one SELECT; the database is only ever read"
_TABLES_ONLY = "only the tables of the EHR can be read"
_ORDINARY = "use ordinary SQL functions only"
_CLOCK_HINT = "write the time as a literal, 'YYYY-MM-DD HH:MM:SS', or give --as-of"
_DEEP = 1000


def _words(*lists: str) -> frozenset[str]:
    return frozenset(" ".join(lists).split())


FUNCTIONS = _words(
    "count sum avg min max bool_and bool_or every string_agg array_agg row_number rank dense_rank",
    "percent_rank cume_dist ntile lag lead first_value last_value nth_value stddev stddev_pop",
    "stddev_samp variance var_pop var_samp corr percentile_cont percentile_disc mode",
    "coalesce nullif greatest least abs sign round trunc floor ceil ceiling sqrt cbrt exp ln log",
    "log10 pow power pi mod div length char_length character_length octet_length lower upper",
    "initcap trim btrim ltrim rtrim lpad rpad substr substring overlay position strpos replace",
    "translate left right reverse concat concat_ws split_part starts_with ascii chr to_char",
    "regexp_replace regexp_match date_trunc date_part extract make_date make_timestamp",
    "justify_days justify_hours",
)
# Words that may stand before a bracket without calling anything.
_BEFORE = _words(
    "and or not in as on using over filter values exists any all some array join where when then",
    "else",
    "select distinct by having case union intersect except between like ilike is escape cast end",
    "from limit offset materialized within group row with at rows range interval placing for",
    "timestamp numeric decimal varchar char character",
)
# Words that may stand before a text: another one would be a type, which makes something of it.
_BEFORE_TEXT = _words(
    "select distinct all and or not like ilike escape in when then else case between on where",
    "having by from placing for timestamp date interval is zone similar to as returning limit",
)
# They need no brackets, so that they would look like columns.
_BARE = _words(
    "current_catalog current_date current_role current_schema current_time current_timestamp",
    "current_user localtime localtimestamp session_user system_user user",
)
_CLOCKS = _words("current_date current_time current_timestamp localtime localtimestamp")
_NEVER = _words("table only lateral tablesample into insert update delete merge")
_TYPES = _words(
    "text varchar char character integer int bigint smallint int2 int4 int8 float4 float8 real",
    "double numeric decimal boolean bool timestamp date",
)
_ENDS_FROM = _words(
    "where group having order limit offset window union intersect except fetch select values with",
    "for",
)
# Functions that have a FROM of their own within their brackets.
_OWN_FROM = _words("extract substring trim overlay position")
_TIME = re.compile(r"'[0-9][0-9:. +-]*'")
_TOKEN = re.compile(
    r"""\s+
    |(?P<text>'(?:[^'\x00]|'')*')
    |(?P<quoted>"(?:[^"\x00]|"")+")
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<sign>::|\|\||<>|<=|>=|!=|~<~|~>~|~<=~|~>=~|!~|[-+*/%<>=(),.\[\]~])""",
    re.X,
)


@dataclass(frozen=True)
class _Token:
    kind: str
    value: str  # a word in lower case; a quoted name as it is written

    @property
    def name(self) -> str | None:
        return self.value if self.kind in ("word", "quoted") else None


@dataclass
class _Level:
    """What is known within one pair of brackets."""

    opener: str = ""
    in_from: bool = False
    wants_table: bool = False


class Guard:
    """Checks statements against ``tables``; ``others`` are relations that are in reach as well."""

    def __init__(self, tables: Iterable[str], others: Iterable[str] = ()) -> None:
        self._tables = frozenset(tables)
        self._others = frozenset(others)

    def check(self, sql: str) -> None:
        """Raise Refused unless ``sql`` is one SELECT that only reads the EHR's tables."""
        tokens = list(_tokens(sql))
        if not tokens:
            raise Refused("the query is empty", _ONE_SELECT)
        first = tokens[0]
        if first.kind != "word" or first.value not in ("select", "with"):
            raise Refused(f"{first.value.upper()[:20]} is not a SELECT", _ONE_SELECT)
        self._walk(tokens, self._shared(tokens))

    def _shared(self, tokens: list[_Token]) -> frozenset[str]:
        """Names of WITH; one must not hide a catalog where it is not in force."""
        found: set[str] = set()
        for i, token in enumerate(tokens):
            if token.kind != "quoted" and token.value in ("with", "recursive", ","):
                name = _defined(tokens, i + 1)
                if name is not None:
                    found.add(name)
        bad = [name for name in found if name.startswith("pg_") or name in self._others]
        if bad:
            raise Refused(f"{bad[0]} cannot be the name of a query", "call it something else")
        return frozenset(found)

    def _walk(self, tokens: list[_Token], shared: frozenset[str]) -> None:
        levels = [_Level()]
        for i, token in enumerate(tokens):
            before = tokens[i - 1] if i else _Token("", "")
            after = tokens[i + 1] if i + 1 < len(tokens) else _Token("", "")
            level = levels[-1]
            if token.value == "(" and token.kind == "sign":
                levels.append(self._opened(tokens, i, level))
                if len(levels) > _DEEP:
                    raise LimitExceeded("the query is nested too deeply", "ask for less at once")
            elif token.value == ")" and token.kind == "sign":
                if len(levels) == 1:
                    raise Refused("a bracket closes that was not opened", _ONE_SELECT)
                levels.pop()
            elif token.value == "," and token.kind == "sign":
                level.wants_table = level.in_from
            elif token.kind == "word":
                _word(tokens, i, level)
            if token.name is not None and level.wants_table and not _is_clause(token):
                self._table(token, after, shared)
                level.wants_table = False
            elif token.value == "." and token.kind == "sign":
                _dot(tokens, i)
            elif (
                token.kind == "text" and before.kind == "word" and before.value not in _BEFORE_TEXT
            ):
                raise Refused(f"{before.value[:40]} before a text is not allowed", _ORDINARY)
            if before.value == "::" and not (token.kind == "word" and token.value in _TYPES):
                raise Refused(f"the type {token.value} is not known", _ORDINARY)

    def _opened(self, tokens: list[_Token], i: int, level: _Level) -> _Level:
        """The level that a bracket at ``i`` opens; what stands before it may be a function."""
        before = tokens[i - 1] if i else _Token("", "")
        name = before.name
        joined = level.wants_table  # a query, or tables joined within brackets
        level.wants_table = False
        if name is not None and not _lists_columns(tokens, i):
            plain = before.kind == "word" and name in _BEFORE
            qualified = i > 1 and tokens[i - 2].value == "."  # it may be anybody's
            if qualified or (not plain and name not in FUNCTIONS):
                raise Refused(f"the function {name[:40]} is not allowed", _ORDINARY)
        return _Level(opener=name or "", in_from=joined, wants_table=joined)

    def _table(self, token: _Token, after: _Token, shared: frozenset[str]) -> None:
        name = token.value
        if after.kind == "sign" and after.value in (".", "("):
            raise Refused(f"reading {name[:40]}{after.value} is not allowed", _TABLES_ONLY)
        if name not in self._tables and name not in shared:
            raise Refused(f"reading {name[:40]} is not allowed", _TABLES_ONLY)


def _tokens(sql: str) -> Iterator[_Token]:
    """The words of a statement. Raises Refused for what is beyond the part of SQL known here."""
    position, last_end, last = 0, -1, ""
    while position < len(sql):
        found = _TOKEN.match(sql, position)
        if found is None or sql.startswith(("--", "/*"), position):
            shown = sql[position : position + 10].split("\n")[0]
            what = "a second statement" if shown.startswith(";") else f"{shown!r}"
            raise Refused(f"{what} is not allowed in a query", _ONE_SELECT)
        kind = found.lastgroup or ""
        # Two that touch would be one to PostgreSQL: E'...', U&"...", 1a, a"b".
        if kind in ("text", "quoted", "word") and last_end == position and last != "sign":
            raise Refused(f"{found[0][:20]!r} follows without a blank", "write one between them")
        if kind:
            value = found[0]
            if kind == "word":
                value = value.lower()
            elif kind == "quoted":
                value = value[1:-1].replace('""', '"')
            yield _Token(kind, value)
            last, last_end = kind, found.end()
        position = found.end()


def _word(tokens: list[_Token], i: int, level: _Level) -> None:
    """Look at a word that is no function and no table."""
    word = tokens[i].value
    before = tokens[i - 1] if i else _Token("", "")
    after = tokens[i + 1] if i + 1 < len(tokens) else _Token("", "")
    if before.kind == "sign" and before.value == ".":
        return  # a column, which may have any name
    if word in _NEVER:
        raise Refused(f"{word.upper()} is not allowed in a query", _ONE_SELECT)
    if word in _BARE:
        clock = word in _CLOCKS
        what = f"{word} (the computer's clock)" if clock else f"the function {word}"
        raise Refused(f"{what} is not allowed", _CLOCK_HINT if clock else _ORDINARY)
    if after.kind == "text" and word in _TYPES and not _TIME.fullmatch(after.value):
        raise Refused(f"{word} of {after.value[:20]} is not allowed", _CLOCK_HINT)
    if word == "as" and level.opener == "cast" and after.value not in _TYPES:
        raise Refused(f"the type {after.value[:40]} is not known", _ORDINARY)
    if word == "from" and level.opener not in _OWN_FROM and before.value != "distinct":
        level.in_from = level.wants_table = True
    elif word == "from" and before.value == "distinct":
        compared = tokens[i - 2] if i > 1 else _Token("", "")
        if compared.kind != "word" or compared.value not in ("is", "not"):
            raise Refused("SELECT DISTINCT names no columns", _ONE_SELECT)
    elif word == "join":
        level.wants_table = True
    elif word in _ENDS_FROM:
        level.in_from = level.wants_table = False


def _dot(tokens: list[_Token], i: int) -> None:
    """A dot stands between a table's name and a column's: after anything else it is a call, and
    ('/etc/passwd').pg_read_file reads a file."""
    before = tokens[i - 1] if i else _Token("", "")
    earlier = tokens[i - 2] if i > 1 else _Token("", "")
    chained = earlier.kind == "sign" and earlier.value == "."
    if before.name is None or chained:
        raise Refused("a dot after an expression is not allowed", "name a table before it")


def _is_clause(token: _Token) -> bool:
    return token.kind == "word" and (token.value in ("from", "join") or token.value in _ENDS_FROM)


def _lists_columns(tokens: list[_Token], i: int) -> bool:
    """Does the bracket at ``i`` list the columns of an alias or of a query of WITH?"""
    if _defined(tokens, i - 1) is not None:
        return True
    named = i > 1 and tokens[i - 2].kind == "word" and tokens[i - 2].value == "as"
    end = _names_end(tokens, i)
    return named and end is not None


def _defined(tokens: list[_Token], i: int) -> str | None:
    """The name at ``i``, if a query of WITH is defined there: NAME [(columns)] AS [...] (."""
    if not 0 <= i < len(tokens) or tokens[i].name is None:
        return None
    name, i = tokens[i].name, i + 1
    if i < len(tokens) and tokens[i].value == "(" and tokens[i].kind == "sign":
        end = _names_end(tokens, i)
        if end is None:
            return None
        i = end + 1
    words = [token.value for token in tokens[i : i + 4]]
    for rest in (["as", "("], ["as", "materialized", "("], ["as", "not", "materialized", "("]):
        if words[: len(rest)] == rest:
            return name
    return None


def _names_end(tokens: list[_Token], i: int) -> int | None:
    """The bracket that closes a list of plain names opened at ``i``; None for anything else."""
    j = i + 1
    while j + 1 < len(tokens) and tokens[j].name is not None:
        if tokens[j + 1].value == ")":
            return j + 1
        if tokens[j + 1].value != ",":
            return None
        j += 2
    return None
