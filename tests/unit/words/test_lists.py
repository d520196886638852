"""Word lists: how they are read, and that every entry can match what its tokenizer makes."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import ehrqa_cli
from ehrqa_cli.contracts.notes import Stance
from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, CATEGORIES, OBJECTS
from ehrqa_cli.engine import reasons
from ehrqa_cli.notes.find import stance, terms
from ehrqa_cli.notes.lines import headers, sentences
from ehrqa_cli.text2sql.linking.aliases import words as linker_words
from ehrqa_cli.text2sql.linking.synonyms import concepts
from ehrqa_cli.text2sql.linking.tokens import fold, tokenize
from ehrqa_cli.vqa.lexicon import tokenise
from ehrqa_cli.vqa.ontology import ABNORMALITY
from ehrqa_cli.words.lists import (
    everyday_words,
    question_words,
    sections,
    stop_words,
    word_list,
)

ROOT = Path(ehrqa_cli.__file__).parent
STOP_WORDS = ROOT / "words/stop_words.txt"
LINKER = ROOT / "text2sql/linking/words.txt"
FILMS = ROOT / "vqa/words.txt"
LISTS = [
    STOP_WORDS,
    LINKER,
    FILMS,
    ROOT / "text2sql/linking/everyday.txt",
    ROOT / "text2sql/linking/synonyms/README.txt",
    ROOT / "notes/find/terms.txt",
    ROOT / "notes/find/denying_words.txt",
    ROOT / "notes/find/stance_triggers.txt",
    ROOT / "notes/lines/sections.toml",
    ROOT / "notes/lines/abbreviations.toml",
    ROOT / "engine/languages.txt",
]


def _linker(text: str) -> list[str]:
    return [token.text for token in tokenize(fold(text))]


def _repeated(entries: list[str]) -> list[str]:
    return [entry for entry, count in Counter(entries).items() if count > 1]


def test_sections_leaves_out_remarks_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(
        "# who wrote it\nbefore\n\n[one two]\na b\n# why\nc\n[three]\nd\n[one two]\ne\n"
    )
    assert sections(path) == {"": ("before",), "one two": ("a b", "c", "e"), "three": ("d",)}
    assert word_list(path, "one two") == {"a", "b", "c", "e"}
    with pytest.raises(KeyError):
        word_list(path, "four")


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.name)
def test_every_list_says_where_it_is_from(path: Path) -> None:
    head = path.read_text("utf-8")[:2500]
    assert "maintainers" in head and "2026" in head and "licence" in head


def test_every_stop_word_stands_once_under_known_tags() -> None:
    lists = sections(STOP_WORDS)
    assert not _repeated(
        [word for lines in lists.values() for line in lines for word in line.split()]
    )
    tags = {"find", "light", "frame", "film", "name", "slip"}
    for head in lists:
        assert head == "question" or set(head.split()) <= tags, head
        assert not {"find", "light"} <= set(head.split()), "find says all that light does"


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        (everyday_words(), _linker),
        (everyday_words(), linker_words),
        (stop_words("find") | stop_words("light") | stop_words("frame"), terms.words),
        (stop_words("film"), tokenise),
    ],
    ids=["linker", "names", "notes", "films"],
)
def test_every_stop_word_is_one_token_of_its_readers(
    words: frozenset[str], tokens: Callable[[str], list[str]]
) -> None:
    assert [word for word in sorted(words) if tokens(word) != [word]] == []


def test_names_of_values_are_everyday_words_but_no_words_of_questions() -> None:
    assert "urine" in everyday_words() - question_words()
    assert "patient" in question_words()
    assert "thorax" not in everyday_words()


def test_linker_lists_hold_what_its_tokenizer_makes() -> None:
    words = {head: word_list(LINKER, head) for head in sections(LINKER) if head != "types"}
    for head, entries in words.items():
        assert not _repeated(" ".join(sections(LINKER)[head]).split()), head
        assert [w for w in sorted(entries) if _linker(w) != [w] or linker_words(w) != [w]] == []
    assert min(map(len, words["generic heads"])) >= 7


def test_no_beginning_of_a_word_goes_without_saying() -> None:
    for line in sections(LINKER)["types"]:
        stems = line.partition(" = ")[2].split()
        for stem in stems:
            assert _linker(stem.rstrip("$")) == [stem.rstrip("$")], line
            others = tuple(other for other in stems if other != stem and other[-1] != "$")
            assert not stem.startswith(others), line


def test_curated_names_are_words_and_stand_once_a_line() -> None:
    for concept in concepts():
        targets = [target for group in concept.targets for target in group]
        assert all(concept.phrases), concept
        assert not _repeated(list(concept.phrases)), concept
        assert not _repeated(targets), concept
        for phrase in concept.phrases:
            # "crohn's" is found as "crohn", and stands here so that it is no misspelling
            assert phrase.replace("'s", "").split() == _linker(phrase.replace("'s", "")), concept
            assert len(phrase.split()) <= 12, concept


def test_everyday_names_are_written_once_a_line() -> None:
    for lines in sections(ROOT / "text2sql/linking/everyday.txt").values():
        for line in lines:
            left, mark, right = line.partition(" = ")
            assert mark and all(_linker(name) for name in [*left.split(" | "), *right.split(" | ")])
            assert not _repeated(right.split(" | "))


def test_terms_are_words_and_plain_ones_are_among_them() -> None:
    names: set[str] = set()
    for concept in terms.concepts():
        assert not _repeated(list(concept.same)) and not _repeated(list(concept.kinds)), concept
        names.update(concept.same, concept.kinds)
    assert "" not in names
    assert terms.plain() <= names


def test_denying_words_deny_what_they_name() -> None:
    for line in sections(ROOT / "notes/find/denying_words.txt")[""]:
        words, _, denied = line.partition(" : ")
        for name in denied.split(" | "):
            found = terms.deniers([" ".join(terms.words(name))])
            assert {" ".join(terms.words(word)) for word in words.split(" | ")} <= found, line


@pytest.mark.parametrize("status", ["negated", "family", "planned", "unsure"])
def test_every_trigger_is_found_in_a_line(status: str) -> None:
    assert Stance(status)
    lists = stance._lists()
    for direction in ("forward", "backward", "ignore"):
        for phrase in lists[f"{status} {direction}"]:
            line = f"x {phrase.replace('#', '3')} y"
            assert stance._any_of([phrase]).search(line), phrase


def _overlap(one: str, two: str) -> bool:
    """Can some line hold both so that they share words?"""
    a, b = (re.findall(r"\w+|[^\w\s]", text.lower()) for text in (one, two))
    for shift in range(1 - len(b), len(a)):
        shared = [(a[k], b[k - shift]) for k in range(len(a)) if 0 <= k - shift < len(b)]
        if all(x == y or y == "#" for x, y in shared):
            return True
    return False


@pytest.mark.parametrize("status", ["negated", "family", "planned", "unsure"])
def test_what_is_ignored_can_hide_a_trigger(status: str) -> None:
    lists = stance._lists()
    triggers = [*lists[f"{status} forward"], *lists[f"{status} backward"]]
    idle = [p for p in lists[f"{status} ignore"] if not any(_overlap(p, t) for t in triggers)]
    assert idle == []


@pytest.mark.parametrize("head", ["stop", "stop family"])
def test_no_end_of_a_reach_holds_another(head: str) -> None:
    phrases = stance._lists()[head]
    assert not _repeated(phrases)
    for phrase in phrases:
        others = [other for other in phrases if other != phrase]
        assert not stance._any_of(others).search(phrase), phrase


def test_film_lists_hold_what_their_tokenizer_makes() -> None:
    lists = sections(FILMS)
    known = {"places": {*OBJECTS}, "findings": {*ATTRIBUTES, *CATEGORIES, ABNORMALITY}}
    for head, lines in lists.items():
        for line in lines:
            name, mark, others = line.partition(" = ")
            entries = others.split(" | ") if mark else line.split()
            if head in known:
                assert name in known[head], line
            if head == "adjectives":
                assert others in known["findings"] and tokenise(name).count(",") == 1, line
            else:
                assert [e for e in entries if " ".join(tokenise(e)) != e] == [], line


def test_words_of_other_languages_are_no_english_and_can_be_read() -> None:
    assert not reasons._FOREIGN & reasons._ENGLISH
    for word in reasons._FOREIGN | reasons._ENGLISH:
        assert re.fullmatch(r"[^\W\d_]+", word), word


def test_every_heading_is_written_once_and_can_be_found() -> None:
    data = tomllib.loads((ROOT / "notes/lines/sections.toml").read_text("utf-8"))
    for name, others in data["sections"].items():
        assert not _repeated([headers._plain(heading) for heading in (name, *others)]), name
        for heading in (name, *others):
            assert headers.canonical(heading) == name
            assert len(heading) <= headers._LONGEST and len(heading.split()) <= headers._WORDS


def test_abbreviations_stand_as_the_sentence_reader_cuts_them() -> None:
    for name, words in sentences._LISTS.items():
        for word in words:
            pattern = sentences._WORD if name == "starters" else sentences._TOKEN
            found = pattern.search(word)
            assert found and found[0] == word == word.lower(), word
