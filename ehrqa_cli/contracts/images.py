"""What flows between a reader of images and those who ask it: scene graphs, answers, reasons.

A scene graph says of one image which finding (attribute) is in which place (object), with a
probability (Chest ImaGenome's relations, as MIMIC-CXR-VQA uses them: Bae et al. 2023,
arXiv:2310.18652). Probabilities are in 0..1, widths are ratios to the width of the thorax.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ehrqa_cli.contracts.errors import EhrqaError

# The object of a finding that a source knows for the image as a whole only.
ANYWHERE = ""
NO_STUDY = -1  # in place of a study's id: an image that belongs to none
Relation = tuple[str, str]  # (object, attribute)


@dataclass(frozen=True)
class Coverage:
    """What a source was trained (or labelled) to see.

    ``relations`` are in the order of ``SceneGraph.probabilities``. ``possible`` are the relations
    that can occur at all, where the source has an ontology of its own; what is possible and not
    among ``relations`` is unknown, what is not possible is absent. ``validated`` widths only may
    be answered from: ``heart`` and ``mediastinum``.
    """

    relations: tuple[Relation, ...]
    view: bool = False
    sex: bool = False
    heart: bool = False
    mediastinum: bool = False
    possible: frozenset[Relation] | None = None


@dataclass(frozen=True)
class SceneGraph:
    """One image: ``probabilities`` of the source's relations (NaN: not to be said of this image).

    ``pa`` is the probability of a PA view (else AP), ``female`` of a female patient; ``heart`` and
    ``mediastinum`` are their widths over that of the thorax. None is unknown. A graph with a
    ``problem`` says nothing but why ("cannot be read: ...", after "the image of study 5"), and
    counts as missing. ``cached`` graphs were not made for this question.
    """

    study_id: int
    probabilities: Sequence[float]
    pa: float | None = None
    female: float | None = None
    heart: float | None = None
    mediastinum: float | None = None
    image: str = ""
    problem: str = ""
    cached: bool = False


@dataclass(frozen=True)
class VqaReason:
    """Why a question about images gets no answer.

    ``kind`` is ``not_understood`` (the words make no question of the 48 types or a compound of
    them), ``ambiguous``, ``unknown_finding`` (something outside the vocabulary), ``not_covered``
    (the source cannot see it), ``partly_covered`` (it could say yes, but not no, nor give the
    whole list; or of these images it can say neither), ``general`` (it is about no image),
    ``no_image`` (there is no scene graph of the study), ``unreadable`` (there is an image that
    cannot be read), or ``unlike`` (it is no upright frontal chest X-ray as the source knows them).
    """

    kind: str
    sentence: str


def no_image(studies: Sequence[int]) -> VqaReason:
    """There is no scene graph of these studies."""
    return VqaReason("no_image", f"There is no image or scene graph of {_named(studies)}.")


def undecided(studies: Sequence[int], what: str = "") -> VqaReason:
    """The source sees too little of these studies, or not surely enough, to say yes or no;
    ``what`` is asked of them."""
    asked = f"“{what}”" if what else "what is asked"
    count = f"{len(studies):,} " if len(studies) > 1 else ""
    return VqaReason(
        "partly_covered",
        f"The image reader cannot tell: in {count}{_named(studies)} {asked} is neither seen nor "
        "excluded surely enough.",
    )


def _named(studies: Sequence[int]) -> str:
    if list(studies) == [NO_STUDY]:
        return "this image"
    more = f" and {len(studies) - 5} more" if len(studies) > 5 else ""
    return f"{'study' if len(studies) == 1 else 'studies'} {', '.join(map(str, studies[:5]))}{more}"


class NotAnswered(EhrqaError):
    """A question about images that the reader declines; ``reason`` says why. An abstention."""

    def __init__(self, reason: VqaReason, hint: str = "") -> None:
        super().__init__(reason.sentence, hint or "ask about what the image reader can see")
        self.reason = reason


@dataclass(frozen=True)
class ImageQuestion:
    """How a question was read: ``verify`` (answered 1 or 0) or a set of names, or not at all."""

    question: str
    verify: bool = True
    content_type: str = ""
    semantic_type: str = ""
    program: str = ""
    reason: VqaReason | None = None


@dataclass(frozen=True)
class RelationUsed:
    """A relation that an answer rests on, with its probability."""

    object: str
    attribute: str
    probability: float


@dataclass(frozen=True)
class ImageAnswer:
    """One answer about one image: 1 or 0, or names; none with a ``reason``.

    ``probability`` is that of the least certain decision that the answer rests on.
    """

    study_id: int
    values: tuple[str | int, ...] = ()
    probability: float | None = None
    relations: tuple[RelationUsed, ...] = ()
    reason: VqaReason | None = None


@dataclass(frozen=True)
class ImageAnswers:
    """Answers to one question about many studies.

    Of a verify question ``yes`` holds the studies answered 1; of others ``values`` the names, for
    studies that have any. ``unknown`` were read but cannot be decided, ``missing`` have no scene
    graph (``problems`` says why where it is known); all other studies asked about are 0 or empty.
    ``read`` images were read for this, in ``batches``; ``cached`` were there already.
    ``probability`` is that of the least certain of all answers that are given; None where there
    are none, or what people say of the images gives them (labels).
    """

    asked: ImageQuestion
    yes: Sequence[int] = ()
    values: Mapping[int, Sequence[str]] = field(default_factory=dict)
    unknown: Sequence[int] = ()
    missing: Sequence[int] = ()
    read: int = 0
    cached: int = 0
    batches: int = 0
    problems: Mapping[int, str] = field(default_factory=dict)
    probability: float | None = None


class ImageReader(Protocol):
    """What NeuralSQL needs of a reader of images (``ehrqa_cli.vqa.Vqa`` is ours)."""

    def ask(self, question: str) -> ImageQuestion:
        """Read the words; no image is touched. ``reason`` is set if no image could answer."""

    def answer(self, question: str, studies: Sequence[int]) -> ImageAnswers:
        """Answers about many studies, each image read at most once. Raises NotAnswered."""

    def provenance(self) -> Mapping[str, str]:
        """Names and hashes of what reads the images."""

    def detail(self, question: str, study_id: int) -> ImageAnswer:
        """One answer with its probability and the relations it rests on."""


@dataclass(frozen=True)
class ImageSets:
    """What a question finds in tables of scene graphs, as SELECTs in SQLite's SQL.

    ``found`` gives the studies answered 1 of a verify question, (study, name) of any other;
    ``unknown`` the studies that cannot be decided, "" where all can. Without duplicates or not.
    """

    asked: ImageQuestion
    found: str
    unknown: str = ""


@runtime_checkable
class ImageTables(ImageReader, Protocol):
    """A reader whose scene graphs are tables of the database, so that questions can be joins."""

    @property
    def seen(self) -> str:
        """A SELECT of the studies that have a scene graph."""

    def holds(self, database: Any) -> bool:
        """Are the tables in this database?"""

    def sets(self, question: str, within: Sequence[int] | None = None) -> ImageSets:
        """A question as SQL, for all studies or for some. Raises NotAnswered."""

    def least(self, question: str, studies: Sequence[int], needed: str = "") -> float | None:
        """The probability of the least certain answer about ``studies``; where a WITH clause
        ``needed`` names them needed(study), no more than that. None of labels."""

    def warm(self, studies: Sequence[int]) -> None:
        """Read the graphs of studies that ``detail`` will be asked for."""

    def studies(self, sql: str) -> list[int]:
        """The study ids that a query on the database gives."""
