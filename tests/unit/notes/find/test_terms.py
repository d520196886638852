"""Synonyms, abbreviations, and the words of a question."""

from __future__ import annotations

import pytest

from ehrqa_cli.notes.find import lexical, terms


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("high blood pressure", "htn"),
        ("sob", "dyspnea"),
        ("heart attack", "mi"),
        ("pleural drain", "chest tube"),
        ("gastroscopy", "egd"),
        ("uti", "urinary tract infection"),
        ("i d", "incision and drainage"),
        ("abx", "antibiotic"),
        ("lasix", "furosemide"),
        ("water pill", "torsemide"),
        ("bid", "twice a day"),
        ("blood thinners", "warfarin"),
    ],
)
def test_other_names(asked: str, found: str) -> None:
    assert found in terms.names_of(asked)


def test_kinds_go_one_way() -> None:
    assert "vancomycin" in terms.names_of("antibiotic")
    assert "antibiotic" not in terms.names_of("vancomycin")


def test_an_ambiguous_abbreviation_counts_less() -> None:
    names = terms.names_of("ms")
    assert {"multiple sclerosis", "mitral stenosis", "morphine"} <= set(names)
    assert names["multiple sclerosis"] == terms.AMBIGUOUS
    assert terms.names_of("multiple sclerosis")["ms"] == terms.AMBIGUOUS
    assert terms.names_of("hypertension")["htn"] == terms.SAME


def test_every_line_of_the_list_is_read() -> None:
    concepts = terms.concepts()
    assert len(concepts) > 700
    assert all(concept.same for concept in concepts)
    assert all(name == " ".join(terms.words(name)) for c in concepts for name in c.same + c.kinds)


def test_phrases_before_words() -> None:
    groups = lexical.groups("Was the pleural drain taken out, and when?")
    assert [group.phrase for group in groups] == ["pleural drain", "taken out"]


def test_a_question_of_nothing() -> None:
    assert lexical.groups("") == []
    assert lexical.groups("?!") == []
    assert lexical.groups("what was it") == []


def test_matches_by_stem_synonym_and_phrase() -> None:
    groups = lexical.groups("infections high blood pressure")
    named = lexical.matches(groups, ["An infection.", "HTN, controlled", "pressure was high", ""])
    assert named.tolist() == [[1, 0, 0, 0], [0, pytest.approx(terms.SAME), 0, 0]]


@pytest.mark.parametrize(
    "question", ['"; DROP TABLE t; --', "NEAR(a b) AND OR NOT *", "a" * 100_000, "\x00 \ud800 é 肺"]
)
def test_a_question_is_never_an_expression(question: str) -> None:
    groups = lexical.groups(question)
    assert lexical.matches(groups, ["some line"]).shape == (len(groups), 1)


def test_plain_words_are_no_abbreviations() -> None:
    assert all("as" not in group.names for group in lexical.groups("aortic stenosis because"))
