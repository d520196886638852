"""Paraphrases of templates by a local model, each checked (EHRXQA, Bae et al. 2023, appendix C.3.4,
and MIMIC-CXR-VQA, appendix B.2.2, had GPT-4 write them and people prune them).

A template is paraphrased, not a question: that costs once for each template, and no patient's
data is in a prompt. The model writes greedily, one sentence for each of a few openings that suit
the kind of answer; so the same model on the same computer writes the same. Every template is a line
of a file as soon as it is done, with what was kept and what was rejected why.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.sets.data import table
from ehrqa_cli.sets.making.files import writing
from ehrqa_cli.sets.pairs.paraphrase_checks import (
    Embed,
    is_yes_no,
    means_another,
    peers_of,
    rejected,
)
from ehrqa_cli.sets.pairs.paraphrase_words import slots_of, spell

Note = Callable[[int, int], None]


def silent(_done: int, _of: int) -> None:
    """Told of progress, say nothing."""


MOST_TOKENS = 56
EACH = 4
# Both are part of what names a file of paraphrases: another prompt writes others.
SYSTEM: str = table("pairs/words/paraphrase")["system"]
OPENINGS: Mapping[str, list[str]] = table("pairs/words/paraphrase")["openings"]


Say = Callable[[str, str, str], str]
"""What a model goes on to say, to the end of the line: told the system's words and the user's, and
how its answer begins."""


@dataclass(frozen=True)
class ParaphraseTask:
    """A template to paraphrase; ``same_program`` says whether a sentence with the stand-ins is
    parsed as the template is, where there is a parser."""

    family: str
    text: str
    same_program: Callable[[str], bool] | None = None


@dataclass(frozen=True)
class Done:
    """A template's paraphrases, with its slots, and what was rejected: sentence and reason."""

    family: str
    template: str
    kept: tuple[str, ...]
    rejected: tuple[tuple[str, str], ...] = ()

    def plain(self) -> dict[str, Any]:
        """The line of the file."""
        return {
            "family": self.family,
            "template": self.template,
            "kept": list(self.kept),
            "rejected": [list(pair) for pair in self.rejected],
        }


@dataclass
class Paraphrases:
    """By family and template the wordings that were kept."""

    done: dict[tuple[str, str], Done] = field(default_factory=dict)

    def of(self, family: str, template: str) -> tuple[str, ...]:
        """The wordings of a template, with its slots; none where it has none."""
        found = self.done.get((family, template))
        return found.kept if found else ()

    def counts(self) -> dict[str, Any]:
        """For the card: templates, sentences, and why sentences were rejected."""
        why = Counter(reason for d in self.done.values() for _, reason in d.rejected)
        kept = sum(len(d.kept) for d in self.done.values())
        return {
            "templates": len(self.done),
            "templates_with_any": sum(bool(d.kept) for d in self.done.values()),
            "written": kept + sum(why.values()),
            "kept": kept,
            "rejected": dict(sorted(why.items())),
        }


def write(
    asked: Sequence[ParaphraseTask],
    every: Sequence[ParaphraseTask],
    say: Say,
    embed: Embed,
    path: Path,
    each: int = EACH,
    note: Note = silent,
) -> Paraphrases:
    """Paraphrase the templates ``asked``, up to ``each`` sentences written for one; ``every`` are
    all templates, among which a paraphrase must be nearest to its own. Templates that ``path``
    has already are not written again. Raises BuildError when it cannot be written."""
    found = read(path) if path.is_file() else Paraphrases()
    slots = dict(zip((a.text for a in every), slots_of([a.text for a in every]), strict=True))
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.truncate(_whole(path))
            for number, one in enumerate(asked):
                note(number, len(asked))
                if (one.family, one.text) in found.done:
                    continue
                own = slots_of([one.text])[0]
                peers = peers_of(one.text, [t for t, s in slots.items() if s == own], embed)
                made = _one(one, say, lambda said, p=peers: means_another(said, p, embed), each)  # type: ignore[misc]
                found.done[(one.family, one.text)] = made
                file.write(json.dumps(made.plain(), ensure_ascii=False) + "\n")
                file.flush()
    note(len(asked), len(asked))
    return found


def _one(asked: ParaphraseTask, say: Say, meaning: Callable[[str], str | None], each: int) -> Done:
    spelled = spell(asked.text)
    kept: list[str] = []
    said_before: list[str] = []
    no: list[tuple[str, str]] = []
    for opening in openings(spelled.text)[:each]:
        said = _sentence(opening, say(SYSTEM, f"Question: {spelled.text}", opening))
        why = rejected(said, spelled, said_before, asked.same_program) or meaning(said)
        slotted = spelled.slotted(said)
        if why or slotted is None:
            no.append((said, why or "a slot is lost or doubled"))
            continue
        said_before.append(said)
        kept.append(slotted)
    return Done(asked.family, asked.text, tuple(kept), tuple(no))


def openings(text: str) -> list[str]:
    """How a paraphrase of this question can begin."""
    lower = text.lower()
    if is_yes_no(text):
        return OPENINGS["yes or no"]
    if lower.startswith(("how many", "count")):
        return OPENINGS["a count"]
    if lower.startswith("when"):
        return OPENINGS["a time"]
    if lower.startswith(("list", "what are", "provide", "which")) or "list all" in lower:
        return OPENINGS["a list"]
    return OPENINGS["something"]


def _sentence(opening: str, rest: str) -> str:
    """The first line, without quotes around it."""
    line = (opening + rest).strip().splitlines()[0] if (opening + rest).strip() else ""
    return " ".join(line.split()).strip("\"'` ")


def read(path: Path) -> Paraphrases:
    """A file of paraphrases, up to the last whole line. Raises UsageError for another file."""
    found = Paraphrases()
    try:
        for raw in path.read_bytes()[: _whole(path)].splitlines():
            line = json.loads(raw)
            done = Done(
                str(line["family"]),
                str(line["template"]),
                tuple(map(str, line["kept"])),
                tuple((str(a), str(b)) for a, b in line["rejected"]),
            )
            _check(path, done)
            found.done[(done.family, done.template)] = done
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} is no file of paraphrases: {error}", "name one that `ehrqa build` wrote"
        ) from None
    return found


def _check(path: Path, done: Done) -> None:
    """Files may have been edited by hand: the slots must still be the template's."""
    slots = slots_of([done.template, *done.kept])
    for text, own in zip(done.kept, slots[1:], strict=True):
        if own != slots[0]:
            raise UsageError(
                f"{path}: a paraphrase has other slots than its template: {text[:60]}",
                "keep every {slot} and [slot] as it is",
            )


def _whole(path: Path) -> int:
    """The bytes up to the end of the last whole line."""
    if not path.is_file():
        return 0
    data = path.read_bytes()
    return data.rfind(b"\n") + 1
