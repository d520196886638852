"""A vision model as a source of scene graphs: kept ones where there are, else the model reads."""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import ClassVar, TypeAlias

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.contracts.images import NO_STUDY, Coverage, SceneGraph
from ehrqa_cli.contracts.plugins import Database, SceneGraphSource
from ehrqa_cli.vqa.imaging.picture import Picture
from ehrqa_cli.vqa.model import graph, pipeline, studies
from ehrqa_cli.vqa.model.cache import Entry, File, GraphCache
from ehrqa_cli.vqa.model.network import Seen, VisionModel
from ehrqa_cli.vqa.reader import UNREAD
from ehrqa_cli.vqa.thresholds import VqaThresholds

# Called with (images looked at so far, images to look at).
OnImage: TypeAlias = Callable[[int, int], None]
KEPT_EVERY = 32  # images between two writes of the cache: what an interruption may lose
_NOT_FRONTAL = "is not a frontal one"


@dataclass(frozen=True)
class Parts:
    """Where a source finds what it needs; everything is opened when it is first needed."""

    files: Callable[[], studies.Files] = studies.Folders
    cache: Callable[[], GraphCache] = lambda: GraphCache.open(None)
    database: Callable[[], Database | None] = lambda: None
    on_image: OnImage = lambda _done, _all: None
    workers: int | None = None


class ModelGraphs(SceneGraphSource):
    """Scene graphs of an ONNX model, kept by image and model.

    ``retry`` makes it look again at images that could not be read before.
    """

    name: ClassVar[str] = "onnx"

    def __init__(self, model: VisionModel, parts: Parts | None = None) -> None:
        self.model = model
        self.parts = parts or Parts()
        self.retry = False
        self._relations = graph.Relations(model.card)
        self._nothing = array("f", [float("nan")]) * len(self._relations.names)

    def coverage(self) -> Coverage:
        """What the model's card says it sees."""
        return graph.coverage(self.model.card)

    def thresholds(self) -> VqaThresholds:
        """Those of the card."""
        return graph.thresholds(self.model.card)

    def provenance(self) -> Mapping[str, str]:
        """The model's name, its file's SHA-256, and that of its card."""
        card = self.model.card
        return {"model": card.name, "sha256": card.sha256, "card": card.digest[:16]}

    @cached_property
    def cache(self) -> GraphCache:
        """What is kept."""
        return self.parts.cache()

    @cached_property
    def _files(self) -> studies.Files:
        return self.parts.files()

    @cached_property
    def _database(self) -> Database | None:
        return self.parts.database()

    def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
        """The graphs of those studies that have an image; one that cannot be read, or is no
        frontal chest X-ray, has a ``problem``. Raises ModelError."""
        try:
            return self._read(list(dict.fromkeys(studies)))
        except sqlite3.Error as error:
            raise ModelError(
                f"the kept scene graphs cannot be used: {error}",
                "delete the database's .scene-graphs.sqlite and run `ehrqa images index` again",
            ) from error

    def graph_of(self, seen: Seen, picture: Picture) -> SceneGraph:
        """The graph of what was seen of a picture that belongs to no study; nothing is kept."""
        entry = self._entry(pipeline.Looked(picture.path, picture.sha256, seen))
        return replace(self._graph(NO_STUDY, str(picture.path), entry), cached=False)

    def file_of(self, study: int) -> Path | None:
        """The image file that a study's graph was made from. Raises ModelError."""
        self.read([study])
        found = self.cache.studies([study], self.model.card.key).get(study)
        return Path(found.file.path) if found else None

    def close(self) -> None:
        """Close the cache and the database."""
        for name in ("cache", "_database"):
            part = self.__dict__.pop(name, None)
            if part is not None:
                part.close()

    def _read(self, wanted: list[int]) -> dict[int, SceneGraph]:
        ids = studies.image_ids(self._database, wanted)
        out = self._kept(wanted, ids)
        rest = [study for study in wanted if study not in out]
        if not rest:
            return out
        found = {study: studies.candidates(study, ids, self._files) for study in rest}
        paths = list(dict.fromkeys(path for listed in found.values() for path in listed))
        entries, fresh = self._entries(paths)
        chosen: dict[int, tuple[str, str]] = {}
        for study, listed in found.items():
            path = self._choose(listed, entries)
            if path is not None:
                known = replace(
                    self._graph(study, str(path), entries[path]), cached=path not in fresh
                )
                out[study] = known
                chosen[study] = str(path), _first(ids.get(study))
            elif study in ids and not ids[study]:
                out[study] = SceneGraph(study, self._nothing, problem=_NOT_FRONTAL, cached=True)
        self.cache.choose(chosen, self.model.card.key)
        return out

    def _kept(self, wanted: list[int], ids: Mapping[int, list[str]]) -> dict[int, SceneGraph]:
        """Those that need no look at an image: the same file stands for the study as before."""
        out: dict[int, SceneGraph] = {}
        for study, chosen in self.cache.studies(wanted, self.model.card.key).items():
            if self.retry and chosen.entry.error:
                continue
            if chosen.image_id == _first(ids.get(study)) and chosen.file.unchanged():
                out[study] = self._graph(study, chosen.file.path, chosen.entry)
        return out

    def _choose(self, listed: list[Path], entries: Mapping[Path, Entry]) -> Path | None:
        readable = [path for path in listed if not entries[path].error] or listed
        frontal = {p: entries[p].pa for p in readable if entries[p].in_distribution}
        return studies.best(readable, frontal, self.thresholds().view)

    def _entries(self, paths: list[Path]) -> tuple[dict[Path, Entry], set[Path]]:
        """What is known of each file, after looking at those that are new: ``fresh`` ones."""
        key = self.model.card.key
        facts = {path: self._file(path) for path in paths}
        kept = self.cache.graphs({f.image for f in facts.values() if f}, key)
        out: dict[Path, Entry] = {}
        for path, file in facts.items():
            entry = kept.get(file.image) if file else Entry("", error="is gone")
            if entry is not None and not (self.retry and entry.error):
                out[path] = entry
        self.cache.keep([f for p, f in facts.items() if f and p in out], [], key)
        new = [path for path in paths if path not in out]
        looked = pipeline.look(self.model, new, workers=self.parts.workers)
        done = 0
        while part := list(islice(looked, KEPT_EVERY)):
            made = {one.path: self._entry(one) for one in part}
            files = [replace(f, image=made[p].image) for p in made if (f := facts[p])]
            self.cache.keep(files, [e for e in made.values() if e.image], key)
            out |= made
            done += len(part)
            self.parts.on_image(done, len(new))
        return out, set(new)

    def _file(self, path: Path) -> File | None:
        """The file as it is now, its hash from the cache if it has not changed."""
        try:
            now = os.stat(path)
        except OSError:
            return None
        image = self.cache.image_of(path, now.st_size, now.st_mtime_ns) or pipeline.digest(path)
        return File(str(path), now.st_size, now.st_mtime_ns, image)

    def _entry(self, looked: pipeline.Looked) -> Entry:
        seen = looked.seen
        if seen is None:
            return Entry(looked.sha256, error=looked.error or "cannot be read")
        card = self.model.card
        heart = graph.heart_ratio(card, seen)
        findings = graph.findings(card, seen, heart)
        return Entry(
            image=looked.sha256,
            probabilities=self._relations.probabilities(findings).tobytes(),
            pa=graph.told(card.view, seen.pa, "PA"),
            female=graph.told(card.sex, seen.female, "F"),
            heart=heart,
            in_distribution=seen.in_distribution,
            problem=seen.strange,
        )

    def _graph(self, study: int, path: str, entry: Entry) -> SceneGraph:
        image = os.path.basename(path)  # of ten thousand paths, where Path would take longer
        if entry.error:
            problem = f"{UNREAD}: {entry.error}"
            return SceneGraph(study, self._nothing, image=image, problem=problem, cached=True)
        if not entry.in_distribution:
            problem = f"does not look like a frontal chest X-ray: {entry.problem}"
            return SceneGraph(study, self._nothing, image=image, problem=problem, cached=True)
        probabilities = array("f", entry.probabilities)
        return SceneGraph(
            study,
            probabilities,
            pa=entry.pa,
            female=entry.female,
            heart=entry.heart,
            image=image,
            cached=True,
        )


def _first(ids: Sequence[str] | None) -> str:
    return ids[0] if ids else ""


class OneGraph(SceneGraphSource):
    """A single graph of a model: of an image that belongs to no study."""

    name: ClassVar[str] = "image"

    def __init__(self, source: ModelGraphs, made: SceneGraph) -> None:
        self._source = source
        self._made = made

    def coverage(self) -> Coverage:
        """That of the model."""
        return self._source.coverage()

    def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
        """The graph, if it is asked for."""
        return {s: self._made for s in studies if s == self._made.study_id}

    def provenance(self) -> Mapping[str, str]:
        """That of the model."""
        return self._source.provenance()
