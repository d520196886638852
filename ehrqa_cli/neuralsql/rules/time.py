"""Now is a value: the same question gives the same answer tomorrow.

EHRSQL writes ``current_time`` and means the whole time stamp; SQLite's own ``current_time`` is only
the time of day, and its clock is the wall clock. So every spelling of now is bound here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ehrqa_cli.sqltext import Token, quote, replace_spans, tokens

_DATE_FUNCTIONS = frozenset({"date", "time", "datetime", "julianday", "unixepoch"})
_NOW_FUNCTIONS = _DATE_FUNCTIONS | {"strftime", "timediff"}


def bind_time(sql: str, as_of: str) -> str:
    """``sql`` with ``current_time``, ``current_timestamp``, ``current_date``, ``'now'`` as an
    argument of a date function, and date functions without a time, bound to ``as_of``
    (YYYY-MM-DD HH:MM:SS). All other bytes stay. Raises Refused for unreadable SQL."""
    return replace_spans(sql, _spans(tokens(sql), as_of))


def _spans(found: list[Token], as_of: str) -> Iterator[tuple[int, int, str]]:
    names = {
        "current_time": quote(as_of),
        "current_timestamp": quote(as_of),
        "current_date": quote(as_of[:10]),
    }
    calls: list[str] = []  # the function each open bracket belongs to, or ""
    for i, token in enumerate(found):
        before = found[i - 1] if i else None
        after = found[i + 1] if i + 1 < len(found) else None
        if _is(token, "("):
            calls.append(before.text.lower() if before and before.kind == "word" else "")
        elif _is(token, ")"):
            call = calls.pop() if calls else ""
            if missing := _missing(call, found, i, as_of):
                yield token.start, token.start, missing
        elif token.kind == "word" and token.text.lower() in names:
            if not _is(before, ".") and not _is(after, "."):
                yield token.start, token.end, names[token.text.lower()]
        elif _is_now(token, before, after) and calls and calls[-1] in _NOW_FUNCTIONS:
            yield token.start, token.end, quote(as_of)


def _missing(call: str, found: list[Token], close: int, as_of: str) -> str:
    """The text to put before a closing bracket where SQLite would take the wall clock."""
    if call in _DATE_FUNCTIONS and _is(found[close - 1], "("):
        return quote(as_of)
    only_format = (
        call == "strftime"
        and close >= 2
        and found[close - 1].kind == "string"
        and _is(found[close - 2], "(")
    )
    return f",{quote(as_of)}" if only_format else ""


def _is_now(token: Token, before: Token | None, after: Token | None) -> bool:
    alone = (_is(before, "(") or _is(before, ",")) and (_is(after, ")") or _is(after, ","))
    return token.kind == "string" and token.text.lower() == "now" and alone


def _is(token: Token | None, text: str) -> bool:
    return token is not None and token.kind == "word" and token.text == text
