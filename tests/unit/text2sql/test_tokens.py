"""Splitting a linked question into pieces, and forms into tokens."""

from __future__ import annotations

import pytest

from ehrqa_cli.text2sql.tokens import (
    encode_form,
    encode_question,
    lexeme_token,
    pieces,
    special_tokens,
)

TYPES = {"lab", "pat", "drug", "intake", "num"}


def _ids() -> dict[str, int]:
    names = special_tokens(sorted(TYPES), ["value", "last", "lab", "#1"])
    return {name: 100 + i for i, name in enumerate(names)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("last <lab>#1 of <pat>#2?", [" last", "<lab>", "#1", " of", "<pat>", "#2", "?"]),
        ("<drug><intake>#12 given", ["<drug>", "<intake>", "#12", " given"]),
        ("on 07/<num>#1/this year", [" on 07/", "<num>", "#1", "/this year"]),
        ("of <nopat>", [" of", "<nopat>"]),
        ("  Two \n spaces ", [" two spaces"]),
        ("", []),
    ],
)
def test_pieces(text: str, expected: list[str]) -> None:
    assert [part for _, part in pieces(text, TYPES)] == expected


@pytest.mark.parametrize("text", ["<what>#1", "#1", "<lab> #1", "<lab>#17", "[value] </s>"])
def test_what_only_looks_like_a_reference_stays_text(text: str) -> None:
    assert [special for special, _ in pieces(text, TYPES)] == [False]


def test_questions_are_framed_and_text_goes_to_the_tokenizer() -> None:
    ids, asked = _ids(), []

    def bpe(part: str) -> list[int]:
        asked.append(part)
        return [7]

    got = encode_question("last <lab>#1 [value]", ids, bpe)
    assert got == [ids["<s>"], 7, ids["<lab>"], ids["#1"], 7, ids["<form>"]]
    assert asked == [" last", " [value]"]


def test_forms_end_and_unknown_words_are_refused() -> None:
    ids = _ids()
    assert encode_form("value last lab #1", ids) == [
        *(ids[t] for t in ("[value]", "[last]", "[lab]", "#1")),
        ids["</s>"],
    ]
    with pytest.raises(KeyError):
        encode_form("value nonsense", ids)


def test_special_tokens_are_distinct_and_keep_their_order() -> None:
    names = special_tokens(["lab"], ["lab", "#1", "(", "abstain"])
    assert len(names) == len(set(names))
    assert names[-3:] == ["[lab]", "[(]", "[abstain]"]
    assert lexeme_token("<eos>") == "</s>"
