"""Paraphrases of templates by a local model, each checked (EHRXQA, Bae et al. 2023, appendix C.3.4,
and MIMIC-CXR-VQA, appendix B.2.2, had GPT-4 write them and people prune them).

A template is paraphrased, not a question: that costs once for each template, and no patient's
data is in a prompt. The model writes greedily, one sentence for each of a few openings that suit
the kind of answer; so the same model on the same computer writes the same. Every template is a line
of a file as soon as it is done, with what was kept and what was rejected why.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ehrqa_cli.contracts.errors import BuildError, UsageError
from ehrqa_cli.sets.pairs.paraphrase_checks import (
    Embed,
    is_yes_no,
    means_another,
    peers_of,
    rejected,
)
from ehrqa_cli.sets.pairs.paraphrase_words import slots_of, spell

Note = Callable[[int, int], None]


def _silent(_done: int, _of: int) -> None:
    return None


MOST_TOKENS = 56
EACH = 4
# Part of what names a file of paraphrases: another prompt writes others.
SYSTEM = (
    "You reword questions that hospital staff ask a database. The reworded question must have "
    "exactly the same answer. Keep every name, number and time as it is written. Change the other "
    "words and their order. Write one short question or request and nothing else."
)
_OPENINGS: Mapping[str, tuple[str, ...]] = {
    "yes or no": ("Is it true that", "Did", "Check whether", "Is there", "I need to know if", "Do"),
    "a count": ("How many", "Count", "What is the number of", "Tell me how many", "Give me the"),
    "a time": ("Tell me when", "At what time", "Find the date", "When exactly", "I need the time"),
    "a list": ("Show", "Which", "Give me", "I need", "Please list"),
    "something": ("Tell me", "Which", "Find", "Could you look up", "I need"),
}


class Chat(Protocol):
    """What is needed of a model (ehrqa_cli.chat.Transcript and its writer)."""

    def complete(self, system: str, user: str, opening: str) -> str:
        """What the model goes on to say after ``opening``, to the end of the line."""


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
    chat: Chat,
    embed: Embed,
    path: Path,
    each: int = EACH,
    note: Note = _silent,
) -> Paraphrases:
    """Paraphrase the templates ``asked``, up to ``each`` sentences written for one; ``every`` are
    all templates, among which a paraphrase must be nearest to its own. Templates that ``path``
    has already are not written again. Raises BuildError when it cannot be written."""
    found = read(path) if path.is_file() else Paraphrases()
    slots = dict(zip((a.text for a in every), slots_of([a.text for a in every]), strict=True))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.truncate(_whole(path))
            for number, one in enumerate(asked):
                note(number, len(asked))
                if (one.family, one.text) in found.done:
                    continue
                own = slots_of([one.text])[0]
                peers = peers_of(one.text, [t for t, s in slots.items() if s == own], embed)
                made = _one(one, chat, lambda said, p=peers: means_another(said, p, embed), each)  # type: ignore[misc]
                found.done[(one.family, one.text)] = made
                file.write(json.dumps(made.plain(), ensure_ascii=False) + "\n")
                file.flush()
    except OSError as error:
        raise _unwritten(path, error) from None
    note(len(asked), len(asked))
    return found


def _one(
    asked: ParaphraseTask, chat: Chat, meaning: Callable[[str], str | None], each: int
) -> Done:
    spelled = spell(asked.text)
    kept: list[str] = []
    said_before: list[str] = []
    no: list[tuple[str, str]] = []
    for opening in openings(spelled.text)[:each]:
        said = _sentence(opening, chat.complete(SYSTEM, f"Question: {spelled.text}", opening))
        why = rejected(said, spelled, said_before, asked.same_program) or meaning(said)
        slotted = spelled.slotted(said)
        if why or slotted is None:
            no.append((said, why or "a slot is lost or doubled"))
            continue
        said_before.append(said)
        kept.append(slotted)
    return Done(asked.family, asked.text, tuple(kept), tuple(no))


def openings(text: str) -> tuple[str, ...]:
    """How a paraphrase of this question can begin."""
    lower = text.lower()
    if is_yes_no(text):
        return _OPENINGS["yes or no"]
    if lower.startswith(("how many", "count")):
        return _OPENINGS["a count"]
    if lower.startswith("when"):
        return _OPENINGS["a time"]
    if lower.startswith(("list", "what are", "provide", "which")) or "list all" in lower:
        return _OPENINGS["a list"]
    return _OPENINGS["something"]


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


def all_templates() -> Iterator[ParaphraseTask]:
    """The templates of both kinds of set."""
    yield from question_templates()
    yield from vqa_asked()


def question_templates() -> Iterator[ParaphraseTask]:
    """The 417 templates over tables and images."""
    from ehrqa_cli.sets.pairs.image_templates import image_templates
    from ehrqa_cli.sets.pairs.templates import load_library

    for table in load_library().families["table"]:
        yield ParaphraseTask("table", table.text)
    for image in image_templates():
        yield ParaphraseTask(image.modality, image.text)


def vqa_asked() -> Iterator[ParaphraseTask]:
    """The 48 templates about one image, each with a parser that tells what a sentence asks."""
    from ehrqa_cli.sets.own.vqa_templates import TEMPLATES
    from ehrqa_cli.vqa import Unparsed, parse

    for _, text in TEMPLATES:
        wanted = parse(spell(text).text)

        def same(said: str, wanted: Any = wanted) -> bool:
            try:
                return bool(parse(said) == wanted)
            except Unparsed:
                return False

        yield ParaphraseTask("vqa", text, same)


class LocalChat:
    """A GGUF model on this computer, greedy. Without ``threads``, as many as a model is given."""

    def __init__(self, path: Path, threads: int = 0) -> None:
        from ehrqa_cli.chat import Transcript
        from ehrqa_cli.llama import Llama

        self._llama = Llama(path, threads)
        self._transcript = Transcript(self._llama)

    def complete(self, system: str, user: str, opening: str) -> str:
        """As Chat's."""
        transcript = self._transcript
        ids = [*transcript.chat(system, user), *self._llama.tokenize(opening)]
        return transcript.write(transcript.read(ids), MOST_TOKENS, "\n")

    def close(self) -> None:
        """Free the model."""
        self._llama.close()


class Wordings(Protocol):
    """Where a set's paraphrases come from."""

    def settings(self) -> Mapping[str, Any]:
        """What they depend on."""

    def make(self, path: Path, asked: Sequence[ParaphraseTask]) -> Paraphrases:
        """The paraphrases of the templates ``asked``, also written to ``path``."""


@dataclass(frozen=True)
class ByModel:
    """Written by a GGUF model; ``note`` is told how many templates are done, of how many. Raises
    ModelError for a file that is none."""

    model: Path
    threads: int = 0
    note: Note = _silent

    def settings(self) -> Mapping[str, Any]:
        """The model's and the prompt's hashes."""
        from ehrqa_cli.chat import Gguf

        prompt = json.dumps([SYSTEM, dict(_OPENINGS), EACH, MOST_TOKENS]).encode()
        return {
            "model": self.model.name,
            "model_sha256": Gguf.named(self.model).sha256,
            "prompt_sha256": hashlib.sha256(prompt).hexdigest(),
        }

    def make(self, path: Path, asked: Sequence[ParaphraseTask]) -> Paraphrases:
        """As Wordings'."""
        if path.is_file() and all((a.family, a.text) in read(path).done for a in asked):
            return read(path)
        chat = LocalChat(self.model, self.threads)
        try:
            return write(asked, list(all_templates()), chat, local_embed(), path, note=self.note)
        finally:
            chat.close()


@dataclass(frozen=True)
class FromFile:
    """Those that another set has, or that somebody has looked through."""

    file: Path

    def settings(self) -> Mapping[str, Any]:
        """The file's hash."""
        read(self.file)
        return {"file_sha256": hashlib.sha256(self.file.read_bytes()).hexdigest()}

    def make(self, path: Path, asked: Sequence[ParaphraseTask]) -> Paraphrases:
        """As Wordings'."""
        found = read(self.file)
        wanted = {(a.family, a.text) for a in asked}
        own = Paraphrases({key: done for key, done in found.done.items() if key in wanted})
        lines = (json.dumps(d.plain(), ensure_ascii=False) + "\n" for d in own.done.values())
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(lines), encoding="utf-8")
        except OSError as error:
            raise _unwritten(path, error) from None
        return own


def wordings(name: str, threads: int = 0, note: Note = _silent) -> ByModel | FromFile:
    """What ``--paraphrase`` names: a file of paraphrases (by its ending .jsonl), a GGUF file, or a
    model that was pulled. Raises ModelError for none of these."""
    from ehrqa_cli.chat import Gguf

    path = Path(name)
    if path.suffix == ".jsonl":
        return FromFile(path)
    if path.suffix == ".gguf" or path.is_file():
        return ByModel(path, threads, note)
    return ByModel(Gguf.pulled(name).path, threads, note)


def _unwritten(path: Path, error: OSError) -> BuildError:
    return BuildError(
        f"cannot write {path}: {error.strerror or error}",
        "make room, then run the same command again: it goes on",
    )


def local_embed() -> Embed:
    """The sentence encoder that the notes are searched with."""
    from ehrqa_cli.notes.find.embed import Embedder

    embedder = Embedder.open(threads=1)

    def embed(texts: Iterable[str]) -> Sequence[Sequence[float]]:
        rows: Sequence[Sequence[float]] = embedder.embed(list(texts)).tolist()
        return rows

    return embed
