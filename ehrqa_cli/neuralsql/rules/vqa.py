"""FUNC_VQA as datasets and models spell it, made uniform (EHRXQA, Bae et al. 2023, appendix C)."""

from __future__ import annotations

from collections.abc import Iterator

from ehrqa_cli.sqltext import Token, quote, replace_spans, tokens

NAME = "func_vqa"
_EQUALS = frozenset({"=", "==", "!=", "<>", "IS", "IS NOT"})
_WORDS = {"yes": "1", "no": "0", "true": "1", "false": "0"}


def quote_questions(sql: str) -> str:
    """``func_vqa("is there ...?", id)`` becomes ``FUNC_VQA('is there ...?', id)``: SQL takes a
    double-quoted question for the name of a column. All other bytes stay."""
    if NAME not in sql.lower():
        return sql
    return replace_spans(sql, _spelling(tokens(sql)))


def plain_answers(sql: str) -> str:
    """A call compared with 'yes' or 'no' is compared with 1 or 0, which it gives."""
    if NAME not in sql.lower():
        return sql
    return replace_spans(sql, iter(sorted(_answers(tokens(sql)))))


def _spelling(found: list[Token]) -> Iterator[tuple[int, int, str]]:
    for i in calls(found):
        name, question = found[i], found[i + 2] if i + 2 < len(found) else None
        if name.text != NAME.upper():
            yield name.start, name.end, NAME.upper()
        if question is not None and question.kind == "quoted":
            yield question.start, question.end, quote(question.text)


def _answers(found: list[Token]) -> Iterator[tuple[int, int, str]]:
    for i in calls(found):
        end = closing(found, i + 1)
        after = found[end + 1 : end + 3]
        if len(after) == 2 and after[0].text.upper() in _EQUALS and _is_answer(after[1]):
            yield after[1].start, after[1].end, _WORDS[after[1].text.lower()]
        before = found[max(0, i - 2) : i]
        if len(before) == 2 and before[1].text in _EQUALS and _is_answer(before[0]):
            yield before[0].start, before[0].end, _WORDS[before[0].text.lower()]


def _is_answer(token: Token) -> bool:
    return token.kind in ("string", "quoted") and token.text.lower() in _WORDS


def calls(found: list[Token]) -> Iterator[int]:
    """Where the calls are: indexes of the name's token."""
    for i, token in enumerate(found[:-1]):
        if token.kind == "word" and token.text.lower() == NAME and found[i + 1].text == "(":
            yield i


def closing(found: list[Token], at: int) -> int:
    """The index of the bracket that closes the one at ``at``; the last token if none does."""
    depth = 0
    for i in range(at, len(found)):
        if found[i].kind == "word":
            depth += (found[i].text == "(") - (found[i].text == ")")
            if depth == 0:
                return i
    return len(found) - 1
