"""What a chat stands on: the database, when "now" is, the models and what they see."""

from __future__ import annotations

from dataclasses import dataclass

from ehrqa_cli.contracts.images import Coverage
from ehrqa_cli.ehr.backend.servers import called
from ehrqa_cli.engine.session import Session


@dataclass(frozen=True)
class About:
    """``images`` and ``coverage`` are empty without a reader of images."""

    database: str
    as_of: str
    model: str
    reader: str = ""
    images: str = ""
    coverage: str = ""


def about(session: Session) -> About:
    """Of an open session. Raises EhrqaError for a part that cannot be opened."""
    graphs, images, coverage = session.graphs, "", ""
    if graphs is not None:
        images = graphs.provenance().get("model") or "labels"
        source = getattr(graphs, "source", None)
        coverage = seen(source.coverage()) if source is not None else ""
    alone = session.only_notes
    return About(
        database=called(session.db) if session.db else "",
        as_of="" if alone else session.as_of,
        model="" if alone else session.model.provenance().get("model", session.model_name),
        reader=session.notes.reader.name if session.notes is not None else "",
        images=images,
        coverage=coverage,
    )


def seen(coverage: Coverage) -> str:
    """What a reader of images was trained to see, in a few words."""
    findings = len({name for _, name in coverage.relations})
    places = {place for place, _ in coverage.relations if place}
    parts = [f"{findings} findings" + (f" in {len(places)} places" if places else "")]
    parts += [name for name in ("view", "sex") if getattr(coverage, name)]
    parts += [f"{name} width" for name in ("heart", "mediastinum") if getattr(coverage, name)]
    return ", ".join(parts)
