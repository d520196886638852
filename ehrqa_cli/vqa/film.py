"""Image files that belong to no study: each is looked at once, and answers any question."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.contracts.images import ImageReader, SceneGraph
from ehrqa_cli.contracts.types import Answer, Question
from ehrqa_cli.vqa.answer import image_answer
from ehrqa_cli.vqa.imaging.decode import decode
from ehrqa_cli.vqa.model.network import Seen
from ehrqa_cli.vqa.model.source import ModelGraphs, OneGraph
from ehrqa_cli.vqa.oracle import OracleGraphs
from ehrqa_cli.vqa.reader import Vqa

KEPT = 4096  # films whose graph is kept, the last ones; a graph takes about 1 kB


@dataclass(frozen=True)
class Film:
    """What was seen of one file: its name, the SHA-256 of its bytes, its scene graph."""

    name: str
    sha256: str
    graph: SceneGraph


class Films:
    """Answers questions about image files with a vision model."""

    def __init__(self, source: ModelGraphs) -> None:
        self.source = source
        self._kept: OrderedDict[tuple[Path, int, int], Film] = OrderedDict()

    def answer(self, question: Question, path: Path) -> Answer:
        """The answer from the film at ``path`` alone. A film that is looked at is kept until its
        file changes. Raises ImageError for a file that cannot be read, and ModelError."""
        return self.answer_of(question, self._film(path))

    def answer_of(self, question: Question, film: Film) -> Answer:
        """The answer from a film that was looked at."""
        reader = Vqa(OneGraph(self.source, film.graph), self.source.thresholds())
        return image_answer(question, film.name, film.sha256, reader)

    def look(self, path: Path) -> tuple[Film, Seen]:
        """Look at a file now. Raises ImageError and ModelError."""
        picture = decode(path, size=max(self.source.model.card.input.size))
        seen = self.source.model.see([picture])[0]
        return Film(path.name, picture.sha256, self.source.graph_of(seen, picture)), seen

    def _film(self, path: Path) -> Film:
        try:
            now = path.stat()
        except (OSError, ValueError):
            return self.look(path)[0]  # which says what is wrong with it
        key = (path, now.st_size, now.st_mtime_ns)
        if key not in self._kept:
            self._kept[key] = self.look(path)[0]
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def films_of(reader: ImageReader | None, vision: str | None) -> Films:
    """What looks at image files: the model of ``reader`` where it has one, else that of
    ``vision`` (a card's path or a name) or the settings, else the shipped one.

    Raises ImageError where ``reader`` has labels, or there is no model; UsageError for a wrong one.
    """
    from ehrqa_cli import config
    from ehrqa_cli.vqa.model.choose import Wanted, model_graphs

    source = reader.source if isinstance(reader, Vqa) else None
    if isinstance(source, OracleGraphs):
        raise ImageError(
            "labels are by study and say nothing of an image file",
            "name a study_id instead of an image, or leave --scene-graphs out",
        )
    if isinstance(source, ModelGraphs):
        return Films(source)
    settings = config.load()
    wanted = Wanted(vision=vision or settings.vision, pulled=settings.models_dir())
    found = model_graphs(wanted)
    if found is None:
        raise ImageError("there is no reader of images", "name a vision model with --vision CARD")
    return Films(found)
