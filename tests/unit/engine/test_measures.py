"""Several measures asked at once: a form that gives only one of them is told."""

from __future__ import annotations

import pytest

from ehrqa_cli.engine import measures
from ehrqa_cli.engine.lexicon import added, common_words, content_words
from ehrqa_cli.engine.measures import left_out
from ehrqa_cli.logical_form.grammar import ROLES, words_for


@pytest.mark.parametrize(
    ("question", "form", "word"),
    [
        ("number of stays and average length by unit", "avg_length icustay by careunit", "number"),
        ("min, max and mean <lab>#1", "( min lab #1 ) beside ( max lab #1 )", "mean"),
        ("total <output>#1 plus the average", "avg output #1", "total"),
        ("first and last <lab>#1 of <pat>#2", "value last lab #1 patient #2", "first"),
        ("highest and lowest <vital>#1 of <pat>#2", "max vital #1 patient #2", "lowest"),
        ("how many men and women are there", "count_patients person male", "women"),
        ("cost of men versus women", "( sum bill male ) minus ( sum bill female )", "versus"),
        ("how many <drug>#1 and how many <drug>#2", "count rx #1", "how many"),
        ("how many stays, and when was the first", "count icustay", "when"),
        (
            "which drugs are commonest, with their numbers",
            "count rx by name most 5 keys",
            "numbers",
        ),
        ("admissions today", "count admission", "today"),
        ("admissions last month", "count admission", "last month"),
        ("admissions at night", "count admission", "night"),
        ("admissions in early <year>#1", "count admission in #1", "early"),
        ("patients who did not get <drug>#1", "count_patients rx #1", "not"),
        ("patients never in the icu", "count_patients icustay", "never"),
        ("how many patients got <drug>#1", "count rx #1", "patients"),
        ("in how many admissions was <drug>#1 given", "count rx #1", "admissions"),
        ("did <pat>#1 have <organism>#2 in the blood", "exists organism #2 patient #1", "blood"),
    ],
)
def test_one_is_missing(question: str, form: str, word: str) -> None:
    assert left_out(question, form) == word


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("highest and lowest <vital>#1", "( max vital #1 ) beside ( min vital #1 )"),
        (
            "number of admissions and the average age",
            "( count admission ) beside ( avg_age admission )",
        ),
        ("in total, how many admissions", "count admission"),
        ("how many days did stays last, average", "avg_length icustay"),
        (
            "the sum of the number of <lab>#1 and the number of <drug>#2",
            "( count lab #1 ) plus ( count rx #2 )",
        ),
        ("average of patient number <pat>#1, mean of the month", "avg lab patient #1"),
        ("oldest patient and the age", "max_age admission by patients most 1"),
        ("men and women", "count_patients person by gender"),
        (
            "how much is the change versus the first",
            "( value last lab #1 ) minus ( value first lab #1 )",
        ),
        ("who had the most stays, and how many is that", "count icustay by patients most 1"),
        ("what was the drug, which was given last", "name last rx"),
        ("admissions since yesterday", "count admission yesterday"),
        ("was <drug>#1 given, yes or no", "exists rx #1"),
        ("not more than 3 stays", "count icustay by patients atmost 3"),
        ("how many patients never got <drug>#1", "count_patients person without ( rx #1 )"),
        ("in how many admissions", "count_visits rx #1"),
        ("<organism>#1 in the <specimen>#2 of 7", "exists organism #1 of_specimen #2 patient #3"),
        ("sodium in the blood", "value lab #1 patient #2"),
        ("still not seen", "exists finding #1 still_absent of ( study #2 ) than previous"),
        ("how many patients a month on average", "avg_count per_month dx #1"),
    ],
)
def test_nothing_is_missing(question: str, form: str) -> None:
    assert left_out(question, form) is None


@pytest.mark.parametrize(
    ("question", "form", "word"),
    [
        ("was patient 7 given heparin", "exists rx #2 patient #1 visit current", "current"),
        ("is patient 7 now on heparin", "exists rx #2 patient #1 visit current", None),
        ("heparin in this stay of patient 7", "exists rx #2 patient #1 visit current", None),
        ("days since 7 came to the icu", "days_since icustay patient #1 current", None),
        ("how many patients got heparin", "count_patients rx #1 female", "female"),
        ("how many admissions", "count admission this_year", "this_year"),
        ("how many admissions this yr", "count admission this_year", None),
        ("sodium of patient 7", "value lab #1 patient #2 high", "high"),
    ],
)
def test_a_condition_that_nobody_asked_for(question: str, form: str, word: str | None) -> None:
    assert added(question, form) == word


def heard(entry: str) -> list[str]:
    """What is left of a question that is this entry, when nothing is a common word."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ehrqa_cli.engine.lexicon.common_words", str)
        return [word.removesuffix("'s") for word in content_words(entry)]


def test_every_common_word_can_be_one_of_a_question() -> None:
    entries = common_words().split()
    assert len(set(entries)) == len(entries)
    assert [e for e in entries if heard(e.rstrip("*")) != [e.rstrip("*")]] == []


@pytest.mark.parametrize("lexeme", sorted(ROLES))
def test_every_word_of_a_lexeme_can_be_one_of_a_question(lexeme: str) -> None:
    entries = words_for(lexeme).split()
    assert len(set(entries)) == len(entries)
    # Conditions are looked for in words with a hyphen too.
    compounds = any(role.asked for role in ROLES[lexeme])
    bare = [e.rstrip("*") for e in entries if not (compounds and "-" in e)]
    assert [word for word in bare if heard(word) != [word]] == []


def test_measures_and_counts_are_given_by_some_word() -> None:
    roles = [role for several in ROLES.values() for role in several]
    assert {kind for role in roles for kind in role.gives} == set(measures._MEASURES)
    assert {kind for role in roles for kind in role.counts} == set(measures._UNITS)
