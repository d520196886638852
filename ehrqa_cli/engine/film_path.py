"""The path of a question that names an image file: that film answers it, no table and no note."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.contracts.types import Answer, PatientScope, Scope
from ehrqa_cli.engine.choices import chosen
from ehrqa_cli.engine.route import Route

if TYPE_CHECKING:
    from ehrqa_cli.engine.draft import Draft

ROUTE = Route(Scope.IMAGE, PatientScope.SINGLE, "it names an image file")


def look(draft: Draft) -> None:
    """Answer from the film. Raises ImageError for a file that cannot be read and for several,
    ModelError."""
    draft.route = ROUTE
    images = draft.question.images
    if len(images) > 1:
        raise ImageError(
            f"a question is about one image, and {len(images)} are named",
            "ask about each of them in a row of its own",
        )
    draft.film = draft.session.films.answer(draft.question, Path(images[0]))


def film_answer(draft: Draft, found: Answer) -> Answer:
    """What the film says, as an answer of this session."""
    return replace(
        found,
        choice=chosen(draft.question.choices, found.rows),
        provenance={**found.provenance, "versions": draft.session.versions},
        timings={**draft.timings, "total": sum(draft.timings.values())},
    )


def film_provenance(draft: Draft) -> dict[str, Any]:
    """Of a film that could not be looked at: neither database nor thresholds came into play."""
    return {
        "question": draft.question.text,
        "image": ", ".join(Path(image).name for image in draft.question.images),
        "models": {},
        "database": None,
        "versions": draft.session.versions,
    }
