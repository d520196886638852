"""The reader of images: questions in words, answers from scene graphs, each image read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ehrqa_cli.contracts.images import (
    ANYWHERE,
    NO_STUDY,
    ImageAnswer,
    ImageAnswers,
    ImageQuestion,
    NotAnswered,
    Relation,
    RelationUsed,
    SceneGraph,
    VqaReason,
    no_image,
    undecided,
)
from ehrqa_cli.contracts.plugins import SceneGraphSource
from ehrqa_cli.vqa import evaluate
from ehrqa_cli.vqa.matrix import Known, Matrix
from ehrqa_cli.vqa.parse import Unparsed, parse
from ehrqa_cli.vqa.program import CTR, HEART, MEDIASTINUM, MTR, PLACE, RATIOS, SEX, VIEW, Program
from ehrqa_cli.vqa.thresholds import VqaThresholds

BATCH = 1024  # studies asked of a source at once; a model's own batches are smaller
_MOST_USED = 10
UNREAD = "cannot be read"  # how the problem of an image begins that is damaged or gone


class Vqa:
    """Answers questions about studies from a source of scene graphs.

    Graphs are kept, so that a study is read once however many questions are asked of it.
    ``on_batch`` is called with (images read, images to read).
    """

    def __init__(
        self,
        source: SceneGraphSource,
        thresholds: VqaThresholds | None = None,
        *,
        batch: int = BATCH,
        on_batch: Callable[[int, int], None] | None = None,
    ) -> None:
        self.source = source
        self.thresholds = thresholds or VqaThresholds()
        self.known = Known(source.coverage())
        self._matrix = Matrix(self.known, self.thresholds)
        self._missing: dict[int, str] = {}  # and why, where that is known
        self._batch = batch
        self._on_batch = on_batch or (lambda _done, _all: None)

    def provenance(self) -> Mapping[str, str]:
        """Names and hashes of the source of scene graphs."""
        return self.source.provenance()

    @property
    def labelled(self) -> bool:
        """Do people say what the images show (labels), and no model?"""
        return "scene_graphs" in self.provenance()

    def ask(self, question: str) -> ImageQuestion:
        """Read the words; ``reason`` is set when no image could give an answer."""
        try:
            program = parse(question)
        except Unparsed as error:
            return ImageQuestion(question, reason=error.reason)
        return ImageQuestion(
            question,
            program.verify,
            program.content_type,
            program.semantic_type,
            str(program),
            self._not_covered(program),
        )

    def answer(self, question: str, studies: Sequence[int]) -> ImageAnswers:
        """Answers about many studies. Raises NotAnswered where no image could give one."""
        asked, program = self._program(question)
        read, batches = self._read(studies)
        there = [s for s in dict.fromkeys(studies) if s in self._matrix.row]
        missing = [s for s in dict.fromkeys(studies) if s not in self._matrix.row]
        problems = {s: self._missing[s] for s in missing if self._missing[s]}
        if problems and not there:
            raise NotAnswered(unreadable(problems))
        rows = self._matrix.rows(there)
        whole = ImageAnswers(
            asked,
            missing=missing,
            read=read,
            cached=len(there) - read,
            batches=batches,
            problems=problems,
        )
        if program.verify:
            found = evaluate.truth(program, self._matrix)
            yes, unknown = found.yes[rows], found.unknown[rows]
            return replace(
                whole,
                probability=self._least(found.sure[rows][~unknown]),
                yes=[s for s, y in zip(there, yes.tolist(), strict=True) if y],
                unknown=[s for s, u in zip(there, unknown.tolist(), strict=True) if u],
            )
        if program.ask in RATIOS:
            shares, known = (x[rows].tolist() for x in evaluate.ratios(program, self._matrix))
            told = [*zip(there, shares, known, strict=True)]
            return replace(
                whole,
                values={s: [repr(share)] for s, share, k in told if k},
                unknown=[s for s, _, k in told if not k],
            )
        return self._listing(program, whole, there)

    def _listing(self, program: Program, whole: ImageAnswers, there: list[int]) -> ImageAnswers:
        """The names of each study."""
        rows = self._matrix.rows(there)
        values: dict[int, list[str]] = {}
        undecided: set[int] = set()
        sures = np.ones(len(there))
        for name, one in sorted(evaluate.names(program, self._matrix).items()):
            sures = np.minimum(sures, one.sure[rows])
            for study, y, u in zip(
                there, one.yes[rows].tolist(), one.unknown[rows].tolist(), strict=True
            ):
                if u:
                    undecided.add(study)
                elif y:
                    values.setdefault(study, []).append(name)
        for study in undecided:
            values.pop(study, None)  # a part of a list would pass for the whole
        unsure = [s for s in there if s in undecided]
        told = sures[np.asarray([s not in undecided for s in there], dtype=np.bool_)]
        return replace(whole, values=values, unknown=unsure, probability=self._least(told))

    def _least(self, sures: npt.NDArray[np.float64]) -> float | None:
        return None if self.labelled or not sures.size else rounded(float(sures.min()))

    def detail(self, question: str, study_id: int) -> ImageAnswer:
        """One answer with its probability and the relations used; never raises NotAnswered."""
        try:
            _, program = self._program(question)
        except NotAnswered as error:
            return ImageAnswer(study_id, reason=error.reason)
        self._read([study_id])
        if study_id not in self._matrix.row:
            problem = self._missing[study_id]
            reason = unreadable({study_id: problem}) if problem else no_image([study_id])
            return ImageAnswer(study_id, reason=reason)
        one = Matrix(self.known, self.thresholds)
        one.add([self._matrix.graph(study_id)])
        return _detail(program, one, study_id)

    def graph(self, study_id: int) -> SceneGraph | None:
        """The scene graph of one study, read if need be."""
        self._read([study_id])
        return self._matrix.graph(study_id) if study_id in self._matrix.row else None

    def close(self) -> None:
        """Close the source, where it has something to close."""
        close = getattr(self.source, "close", None)
        if close is not None:
            close()

    def _program(self, question: str) -> tuple[ImageQuestion, Program]:
        asked = self.ask(question)
        if asked.reason:
            raise NotAnswered(asked.reason)
        return asked, parse(question)

    def problem(self, study_id: int) -> str:
        """Why a study that was asked about has no scene graph, where that is known."""
        return self._missing.get(study_id, "")

    def _read(self, studies: Sequence[int]) -> tuple[int, int]:
        """Get what is not there yet; how many images were read for it, in how many batches."""
        new = [
            s
            for s in dict.fromkeys(studies)
            if s not in self._matrix.row and s not in self._missing
        ]
        got: list[SceneGraph] = []
        starts = range(0, len(new), self._batch)
        for start in starts:
            batch = new[start : start + self._batch]
            found = self.source.read(batch)
            got += [found[s] for s in batch if s in found]
            self._missing.update((s, "") for s in batch if s not in found)
            self._on_batch(start + len(batch), len(new))
        self._missing.update((g.study_id, g.problem) for g in got if g.problem)
        good = [g for g in got if not g.problem]
        if good:
            self._matrix.add(good)
        return sum(not g.cached for g in good), len(starts)

    def _not_covered(self, program: Program) -> VqaReason | None:
        """Why no image at all could answer, or None."""
        coverage = self.known.coverage
        seen = {
            VIEW: coverage.view,
            SEX: coverage.sex,
            HEART: coverage.heart,
            MEDIASTINUM: coverage.mediastinum,
            CTR: coverage.heart,
            MTR: coverage.mediastinum,
        }
        if program.ask in seen:
            return None if seen[program.ask] else _not_covered([program.asked])
        cells = evaluate.cells_of(program, self.known)
        unseen = [cell for cell in cells if not self.known.seen(cell)]
        partly = [cell for cell in cells if not self.known.closed(cell)]
        if cells and len(unseen) == len(cells):
            return _not_covered([_said(cell) for cell in unseen])
        if partly and program.ask == PLACE:
            names = list(dict.fromkeys(name for _, name in partly))
            return VqaReason(
                "not_covered", f"The image reader has not learned where {_listed(names)} is."
            )
        if partly and evaluate.is_list(program) and not self._implied(partly):
            return VqaReason(
                "partly_covered",
                f"The image reader does not see {_listed([_said(c) for c in partly])}, "
                "so that a list would not be complete.",
            )
        return None

    def _implied(self, cells: list[Relation]) -> bool:
        """Are all of them absent where the image as a whole has no such finding?"""
        return all((ANYWHERE, name) in self.known.column for _, name in cells)


def unreadable(problems: Mapping[int, str]) -> VqaReason:
    """There are images of these studies, but they say nothing."""
    said = [
        f"{'The image' if study == NO_STUDY else f'The image of study {study}'} {problem}."
        for study, problem in problems.items()
    ]
    more = f" So it is with {len(said) - 3} more." if len(said) > 3 else ""
    kind = "unreadable" if any(p.startswith(UNREAD) for p in problems.values()) else "unlike"
    return VqaReason(kind, " ".join(said[:3]) + more)


def _not_covered(what: list[str]) -> VqaReason:
    return VqaReason("not_covered", f"The image reader was not trained to see {_listed(what)}.")


def _said(cell: Relation) -> str:
    place, name = cell
    return f"{name} in the {place}" if place != ANYWHERE else name


def _listed(what: list[str]) -> str:
    return ", ".join(what[:3]) + (f" and {len(what) - 3} more" if len(what) > 3 else "")


def _detail(program: Program, one: Matrix, study: int) -> ImageAnswer:
    relations = _used(program, one)
    if program.verify:
        found = evaluate.truth(program, one)
        if found.unknown[0]:
            return ImageAnswer(study, relations=relations, reason=undecided([study], program.asked))
        sure = rounded(float(found.sure[0]))
        return ImageAnswer(study, (int(found.yes[0]),), sure, relations)
    if program.ask in RATIOS:
        (share,), (known,) = evaluate.ratios(program, one)
        if known:
            return ImageAnswer(study, (repr(float(share)),))
        return ImageAnswer(study, reason=undecided([study], program.asked))
    truths = evaluate.names(program, one)
    if any(t.unknown[0] for t in truths.values()):
        return ImageAnswer(study, relations=relations, reason=undecided([study], program.asked))
    names = tuple(sorted(name for name, t in truths.items() if t.yes[0]))
    sures = [float(t.sure[0]) for t in truths.values()]
    return ImageAnswer(study, names, rounded(min(sures, default=1.0)), relations)


def _used(program: Program, one: Matrix) -> tuple[RelationUsed, ...]:
    """The relations that count most: the present ones, else the most probable of the absent."""
    columns = {k for cell in evaluate.cells_of(program, one.known) for k in one.known.columns(cell)}
    found = []
    for k in columns:
        place, name = one.known.coverage.relations[k]
        probability = one.probability(k, 0)
        if probability is not None:
            found.append((one.is_above(k, 0), probability, place, name))
    found.sort(key=lambda f: (-f[0], -f[1], f[2], f[3]))
    kept = [f for f in found if f[0]] or found[:3]
    return tuple(RelationUsed(place, name, rounded(p)) for _, p, place, name in kept[:_MOST_USED])


def rounded(p: float) -> float:
    """A probability as it is told: four places, within 0 and 1."""
    return round(min(1.0, max(0.0, p)), 4)
