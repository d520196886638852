"""Splitting a linked question into pieces, and forms into tokens."""

from __future__ import annotations

import pytest

from ehrqa_cli.encoder.tokens import encode_question, pieces, special_tokens
from ehrqa_cli.words.wordpieces import END, START, plain_ids

TYPES = {"lab", "pat", "drug", "intake", "num"}
SPECIAL = {name: 90_000 + i for i, name in enumerate(special_tokens(sorted(TYPES)))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("last <lab>#1 of <pat>#2?", [" last", "<lab>", "#1", " of", "<pat>", "#2", "?"]),
        ("<drug><intake>#12 given", ["<drug>", "<intake>", "#12", " given"]),
        ("on 07/<num>#1/this year", [" on 07/", "<num>", "#1", "/this year"]),
        ("of <nopat>", [" of", "<nopat>"]),
        ("a <then> b", [" a", "<then>", " b"]),
        ("  Two \n spaces ", [" two spaces"]),
        ("", []),
    ],
)
def test_pieces(text: str, expected: list[str]) -> None:
    assert [part for _, part in pieces(text, TYPES)] == expected


@pytest.mark.parametrize("text", ["<what>#1", "#1", "<lab> #1", "<lab>#17", "[value] </s>"])
def test_what_only_looks_like_a_reference_stays_text(text: str) -> None:
    assert [special for special, _ in pieces(text, TYPES)] == [False]


def test_questions_are_framed_and_text_is_split_into_word_pieces() -> None:
    got = encode_question("last <lab>#1 [value]", SPECIAL)
    words = [*plain_ids("last"), SPECIAL["<lab>"], SPECIAL["#1"], *plain_ids("[value]")]
    assert got == [START, *words, END]


def test_what_is_said_next_follows_a_mark() -> None:
    got = encode_question("last <lab>#1? <then> and the first?", SPECIAL)
    assert got.count(END) == 2 and got[-1] == END
    before = encode_question("last <lab>#1?", SPECIAL)
    assert got[: len(before)] == before


@pytest.mark.parametrize("text", ["[SEP]", "a [CLS] b", "[UNK] [PAD]", "<then", "#1 lab#2"])
def test_no_spelling_gives_a_mark(text: str) -> None:
    inside = encode_question(text, SPECIAL)[1:-1]
    assert not {START, END, 0, *SPECIAL.values()} & set(inside)


def test_special_tokens_are_distinct_and_keep_their_order() -> None:
    names = special_tokens(["lab", "pat"])
    assert len(names) == len(set(names))
    assert names[:3] == ["<lab>", "<pat>", "#1"] and names[-1] == "<nostudy>"
