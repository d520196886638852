"""Where the paraphrases of a set's templates come from: a local model, or a file that is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.sets.making.files import write_lines, writing
from ehrqa_cli.sets.own.vqa_templates import TEMPLATES
from ehrqa_cli.sets.pairs.image_templates import image_templates
from ehrqa_cli.sets.pairs.paraphrase import (
    EACH,
    MOST_TOKENS,
    OPENINGS,
    SYSTEM,
    Note,
    Paraphrases,
    ParaphraseTask,
    Say,
    read,
    silent,
    write,
)
from ehrqa_cli.sets.pairs.paraphrase_checks import Embed
from ehrqa_cli.sets.pairs.paraphrase_words import spell
from ehrqa_cli.sets.pairs.templates import load_library
from ehrqa_cli.vqa import Unparsed, parse


def all_templates() -> Iterator[ParaphraseTask]:
    """The templates of both kinds of set."""
    yield from question_templates()
    yield from vqa_asked()


def question_templates() -> Iterator[ParaphraseTask]:
    """The 417 templates over tables and images."""
    for table in load_library().families["table"]:
        yield ParaphraseTask("table", table.text)
    for image in image_templates():
        yield ParaphraseTask(image.modality, image.text)


def vqa_asked() -> Iterator[ParaphraseTask]:
    """The 48 templates about one image, each with a parser that tells what a sentence asks."""
    for _, text in TEMPLATES:
        wanted = parse(spell(text).text)

        def same(said: str, wanted: Any = wanted) -> bool:
            try:
                return bool(parse(said) == wanted)
            except Unparsed:
                return False

        yield ParaphraseTask("vqa", text, same)


@contextmanager
def local_model(path: Path, threads: int = 0) -> Iterator[Say]:
    """A GGUF model on this computer, greedy. Without ``threads``, as many as a model is given."""
    from ehrqa_cli.chat import Transcript
    from ehrqa_cli.llama import Llama

    llama = Llama(path, threads)
    transcript = Transcript(llama)

    def say(system: str, user: str, opening: str) -> str:
        ids = [*transcript.chat(system, user), *llama.tokenize(opening)]
        return transcript.write(transcript.read(ids), MOST_TOKENS, "\n")

    try:
        yield say
    finally:
        llama.close()


@dataclass(frozen=True)
class ByModel:
    """Written by a GGUF model; ``note`` is told how many templates are done, of how many. Raises
    ModelError for a file that is none."""

    model: Path
    threads: int = 0
    note: Note = silent

    def settings(self) -> Mapping[str, Any]:
        """The model's and the prompt's hashes."""
        from ehrqa_cli.chat import Gguf

        prompt = json.dumps([SYSTEM, dict(OPENINGS), EACH, MOST_TOKENS]).encode()
        return {
            "model": self.model.name,
            "model_sha256": Gguf.named(self.model).sha256,
            "prompt_sha256": hashlib.sha256(prompt).hexdigest(),
        }

    def make(self, path: Path, asked: Sequence[ParaphraseTask]) -> Paraphrases:
        """The paraphrases of the templates ``asked``, also written to ``path``."""
        if path.is_file() and all((a.family, a.text) in read(path).done for a in asked):
            return read(path)
        with local_model(self.model, self.threads) as say:
            return write(asked, list(all_templates()), say, local_embed(), path, note=self.note)


@dataclass(frozen=True)
class FromFile:
    """Those that another set has, or that somebody has looked through."""

    file: Path

    def settings(self) -> Mapping[str, Any]:
        """The file's hash."""
        read(self.file)
        return {"file_sha256": hashlib.sha256(self.file.read_bytes()).hexdigest()}

    def make(self, path: Path, asked: Sequence[ParaphraseTask]) -> Paraphrases:
        """Those of the templates ``asked``, also written to ``path``."""
        found = read(self.file)
        wanted = {(a.family, a.text) for a in asked}
        own = Paraphrases({key: done for key, done in found.done.items() if key in wanted})
        with writing(path):
            write_lines(path, (done.plain() for done in own.done.values()))
        return own


Wordings = ByModel | FromFile
"""Where a set's paraphrases come from."""


def wordings(name: str, threads: int = 0, note: Note = silent) -> Wordings:
    """What ``--paraphrase`` names: a file of paraphrases (by its ending .jsonl), a GGUF file, or a
    model that was pulled. Raises ModelError for none of these."""
    from ehrqa_cli.chat import Gguf

    path = Path(name)
    if path.suffix == ".jsonl":
        return FromFile(path)
    if path.suffix == ".gguf" or path.is_file():
        return ByModel(path, threads, note)
    return ByModel(Gguf.pulled(name).path, threads, note)


def local_embed() -> Embed:
    """The sentence encoder that the notes are searched with."""
    from ehrqa_cli.notes.find.embed import Embedder

    embedder = Embedder.open(threads=1)

    def embed(texts: Iterable[str]) -> Sequence[Sequence[float]]:
        rows: Sequence[Sequence[float]] = embedder.embed(list(texts)).tolist()
        return rows

    return embed
