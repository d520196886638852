"""What an item must be, checked by rule; each fault has its own name, and the card counts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ehrqa_cli.sets.notes.evidence import content, numbers, share_in, stands_in
from ehrqa_cli.sets.notes.parse import Draft, Options

UNREADABLE = "step 1 cannot be read"
NO_QUESTION = "no question"
LONG = "too long"
NAMES_NOTES = "the question speaks of the notes by number"
NOT_IN_NOTES = "the evidence is not in the notes"
STRANGE_NUMBER = "the answer has a number that is not in the notes"
REPEATED = "asked before"
NO_CHOICES = "step 2 cannot be read"
ALIKE = "choices alike"
NESTED = "a choice says all that the right one says"
STRANGE_ANSWER = "the right choice does not stand in the notes"
OF_THE_ABOVE = "a choice speaks of the others"
DISAGREE = "the steps disagree on the answer"
LEAKS = "the question gives the answer away"
LONGEST_RIGHT = "the right choice is the longest too often"
UNFOUND = "the model does not find the answer again"
TOO_LONG_NOTES = "the notes are too long for the model"

_QUESTION_WORDS = (4, 50)
_CHOICE_CHARACTERS = 250
_NUMBERED = re.compile(r"\b(?:note ?\d|(?:first|second|third) (?:note|discharge summary))", re.I)
_ABOVE = re.compile(
    r"\b(?:all|none|both|neither|any|two) of (?:the )?(?:above|these|those|them)\b"
    r"|\ball (?:the )?above\b|\b(?:both )?[A-E] (?:and|or) [A-E]\b"
)
_OWN_WORDS = 0.6  # of the right choice, the share that the notes must have
_NOT = frozenset({"no", "not", "never", "without", "none", "denied", "denies", "negative"})
_SHARE_LONGEST = 0.2  # of five choices each is the longest as often


def draft_fault(draft: Draft, all_notes: str) -> str | None:
    """What is wrong with a question and its answer, but for the evidence."""
    words = draft.question.split()
    if not draft.question.endswith("?") or draft.question.count("?") > 1:
        return NO_QUESTION
    if not _QUESTION_WORDS[0] <= len(words) <= _QUESTION_WORDS[1]:
        return LONG
    if _NUMBERED.search(draft.question):
        return NAMES_NOTES
    if not numbers(draft.answer) <= numbers(all_notes):
        return STRANGE_NUMBER
    return None


def options_fault(options: Options, draft: Draft, all_notes: str) -> str | None:
    """What is wrong with the choices."""
    texts = list(options.choices.values())
    if any(not text or len(text) > _CHOICE_CHARACTERS for text in texts):
        return LONG
    if len({plain(text) for text in texts}) < len(texts):
        return ALIKE
    if any(_ABOVE.search(text) for text in texts):
        return OF_THE_ABOVE
    right = options.choices[options.correct]
    if any(_nested(right, text) for key, text in options.choices.items() if key != options.correct):
        return NESTED
    if not numbers(right) <= numbers(all_notes):
        return STRANGE_NUMBER
    if share_in(right, content(all_notes)) < _OWN_WORDS:
        return STRANGE_ANSWER
    nearest = {letter: closeness(draft.answer, text) for letter, text in options.choices.items()}
    if any(nearest[options.correct] <= near for k, near in nearest.items() if k != options.correct):
        return DISAGREE  # also where the first answer fits several choices as well
    if (words := content(right)) and words <= content(draft.question):
        return LEAKS
    return None


def _nested(right: str, other: str) -> bool:
    """Has one all words of the other, but for a word that turns it round?"""
    a, b = set(plain(right).split()), set(plain(other).split())
    return (a <= b or b <= a) and not (a ^ b) & _NOT


def plain(text: str) -> str:
    """Lower case, words and numbers only: two texts that differ in less are alike."""
    return " ".join(re.findall(r"\d+(?:[.,/]\d+)*|[^\W\d_]+", text.lower()))


def closeness(one: str, other: str) -> float:
    """F1 of the words that say something, 0 to 1; of texts without any, whether they are alike."""
    a, b = _telling(one), _telling(other)
    if not a or not b:
        return float(plain(one) == plain(other))
    return 2 * len(a & b) / (len(a) + len(b))


def _telling(text: str) -> frozenset[str]:
    return content(text) | (_NOT & set(plain(text).split()))


def asked_before(question: str, seen: Iterable[str]) -> bool:
    """Is the question one of those ``seen``, but for case and marks?"""
    return plain(question) in set(seen)


def nearly(question: str, others: Sequence[str]) -> bool:
    """Does it say nearly the same as another question about the patient?"""
    from rapidfuzz.fuzz import token_sort_ratio

    return any(token_sort_ratio(plain(question), plain(other)) >= 90 for other in others)


def longest_is_right(choices: Mapping[str, str], right: str) -> bool:
    """Is the right choice longer than each of the others?"""
    return all(len(choices[right]) > len(v) for k, v in choices.items() if k != right)


def longest_too_often(longest: int, made: int) -> bool:
    """Would one more item whose right choice is the longest be more than its share?"""
    return longest + 1 > 1 + _SHARE_LONGEST * made


def strange_choices(choices: Mapping[str, str], all_notes: str) -> list[str]:
    """Letters of the choices with words that the notes lack: the paper's clinicians rewrote such
    distractors (section 3.3)."""
    words = content(all_notes)
    return [letter for letter, text in choices.items() if not stands_in(text, words)]
