"""The one reader of word lists: text files whose lines stand under ``[section]`` heads.

A line that begins with "#" is a remark: who wrote the list, from what, when, and how a line is
read. What a line holds (words, alternatives, pairs) is its user's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_STOP_WORDS = Path(__file__).with_name("stop_words.txt")


@cache
def sections(path: Path) -> Mapping[str, tuple[str, ...]]:
    """The lines of a list by section, in its order; those before the first head are under ""."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            found.setdefault(section, []).append(line)
    return {name: tuple(lines) for name, lines in found.items()}


def word_list(path: Path, section: str) -> frozenset[str]:
    """The words of a section, which stand parted by blanks. Raises KeyError for an unknown one."""
    return frozenset(word for line in sections(path)[section] for word in line.split())


@cache
def stop_words(reader: str) -> frozenset[str]:
    """The words of stop_words.txt that ``reader`` passes over: find, light, frame or film; or of
    which the head of their section says name or slip."""
    found = [
        word_list(_STOP_WORDS, head) for head in sections(_STOP_WORDS) if reader in head.split()
    ]
    return frozenset().union(*found)


@cache
def everyday_words() -> frozenset[str]:
    """The words of stop_words.txt, as the linker has them: those of questions, and those that are
    whole names of values too."""
    every = frozenset().union(*(word_list(_STOP_WORDS, head) for head in sections(_STOP_WORDS)))
    return every - stop_words("slip")


@cache
def question_words() -> frozenset[str]:
    """The words of questions that are no whole names of values."""
    return everyday_words() - stop_words("name")
