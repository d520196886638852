"""Scene graphs of many studies as one matrix: what is present, what may be, how probable.

Every look-up gives arrays over the studies, so that a question over ten thousand of them is a
handful of array operations. ``yes`` is what is surely present, ``maybe`` what is not surely absent:
they differ where the source cannot tell (three-valued logic).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ehrqa_cli.contracts.images import ANYWHERE, Coverage, Relation, SceneGraph
from ehrqa_cli.ehr.cxr_vocabulary import OBJECTS
from ehrqa_cli.vqa.ontology import POSSIBLE, children, members, parts
from ehrqa_cli.vqa.thresholds import VqaThresholds

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Truth:
    """Three-valued truth over studies, with the probability of yes."""

    yes: Bools
    maybe: Bools
    p: Floats

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.yes & other.yes, self.maybe & other.maybe, np.minimum(self.p, other.p))

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.yes | other.yes, self.maybe | other.maybe, np.maximum(self.p, other.p))

    def __invert__(self) -> Truth:
        return Truth(~self.maybe, ~self.yes, (1 - self.p).astype(np.float32))

    @property
    def sure(self) -> npt.NDArray[np.float64]:
        """The probability of what is said, yes or no."""
        p = self.p.astype(np.float64)
        return np.where(self.yes, p, 1 - p)

    @property
    def unknown(self) -> Bools:
        """Where neither yes nor no can be said."""
        return np.logical_xor(self.yes, self.maybe)


class Known:
    """What follows from a source's coverage alone: which relations a fact rests on."""

    def __init__(self, coverage: Coverage) -> None:
        self.coverage = coverage
        self.column = {relation: k for k, relation in enumerate(coverage.relations)}
        self.possible = coverage.possible if coverage.possible is not None else POSSIBLE
        self._places: dict[str, list[str]] = {}
        for place, name in sorted(self.possible | {r for r in self.column if r[0]}):
            self._places.setdefault(name, []).append(place)
        self._columns: dict[Relation, tuple[int, ...]] = {}

    def places(self, name: str) -> list[str]:
        """The objects that an attribute can be in."""
        return self._places.get(name, [])

    def can_be(self, cell: Relation) -> bool:
        """May the relation occur? Anywhere: in some object, or for the image as a whole."""
        place, name = cell
        if place == ANYWHERE:
            return bool(self.places(name)) or cell in self.column
        return place in self.places(name)

    def columns(self, cell: Relation) -> tuple[int, ...]:
        """Columns of the relations whose presence makes ``cell`` present (its own among them)."""
        if cell not in self._columns:
            place, name = cell
            inside = parts(place) if place != ANYWHERE else frozenset({ANYWHERE, *OBJECTS})
            self._columns[cell] = tuple(
                self.column[(p, a)]
                for a in sorted(children(name))
                for p in sorted(inside)
                if (p, a) in self.column
            )
        return self._columns[cell]

    def closed(self, cell: Relation) -> bool:
        """Is the absence of ``cell`` known wherever the source says something of the image?"""
        place, name = cell
        if cell in self.column:
            return True
        return place == ANYWHERE and all((p, name) in self.column for p in self.places(name))

    def seen(self, cell: Relation) -> bool:
        """Can the source say anything of ``cell`` at all?"""
        return bool(self.columns(cell)) or (ANYWHERE, cell[1]) in self.column


class Matrix:
    """The graphs read so far. Grows by batches; rows are studies in the order they came."""

    def __init__(self, known: Known, thresholds: VqaThresholds) -> None:
        self.known = known
        self.thresholds = thresholds
        self.row: dict[int, int] = {}
        self._graphs: list[SceneGraph] = []

    def add(self, graphs: Iterable[SceneGraph]) -> None:
        """Take in more graphs."""
        for graph in graphs:
            self.row[graph.study_id] = len(self._graphs)
            self._graphs.append(graph)
        for name in ("_p", "_above", "_nan"):
            self.__dict__.pop(name, None)

    def graph(self, study: int) -> SceneGraph:
        """One graph as it was read. Raises KeyError."""
        return self._graphs[self.row[study]]

    def rows(self, studies: Sequence[int]) -> npt.NDArray[np.intp]:
        """Row numbers of studies that are all there."""
        return np.fromiter((self.row[s] for s in studies), dtype=np.intp, count=len(studies))

    def probability(self, column: int, row: int) -> float | None:
        """Of one relation in one study; None where the source says nothing."""
        p = float(self._p[column, row])
        return None if p != p else p

    def is_above(self, column: int, row: int) -> bool:
        """Does one relation count as present in one study?"""
        return bool(self._above[column, row])

    @cached_property
    def _p(self) -> Floats:
        """Probabilities, a row for each relation: (relations, studies)."""
        wide = len(self.known.column)
        flat = [np.asarray(graph.probabilities, dtype=np.float32) for graph in self._graphs]
        whole = np.stack(flat) if flat else np.zeros((0, wide), dtype=np.float32)
        return np.ascontiguousarray(whole.T)

    @cached_property
    def _above(self) -> Bools:
        limits = [self.thresholds.of(r) for r in self.known.coverage.relations]
        column = np.asarray(limits, dtype=np.float32)[:, None]
        above: Bools = np.greater_equal(self._p, column)  # NaN is not above anything
        return above

    @cached_property
    def _nan(self) -> Bools | None:
        nan = np.isnan(self._p)
        return nan if nan.any() else None

    def cell(self, cell: Relation) -> Truth:
        """One relation (object ANYWHERE: of the image)."""
        count = len(self._graphs)
        no, zero = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.float32)
        if not self.known.can_be(cell):
            return Truth(no, no, zero)
        columns = list(self.known.columns(cell))
        yes = np.any(self._above[columns], axis=0) if columns else no
        p = self._filled(columns).max(axis=0) if columns else zero
        return Truth(yes, yes | self._open(cell), p)

    def _filled(self, columns: list[int]) -> Floats:
        p = self._p[columns]
        return p if self._nan is None else np.nan_to_num(p, nan=0.0)

    def _open(self, cell: Relation) -> Bools:
        """Where nothing says that the relation is absent."""
        place, name = cell
        own = self.known.column.get(cell)
        whole = self.known.column.get((ANYWHERE, name))
        if own is not None:
            return self._unsaid([own])
        if place == ANYWHERE:
            spots = [(p, name) for p in self.known.places(name)]
            if any(spot not in self.known.column for spot in spots):
                return np.ones(len(self._graphs), dtype=np.bool_)
            return self._unsaid([self.known.column[spot] for spot in spots])
        if whole is not None:  # what is nowhere in the image is not here either
            here: Bools = self._unsaid([whole]) | self._above[whole]
            return here
        return np.ones(len(self._graphs), dtype=np.bool_)

    def _unsaid(self, columns: list[int]) -> Bools:
        if self._nan is None:
            return np.zeros(len(self._graphs), dtype=np.bool_)
        unsaid: Bools = np.any(self._nan[columns], axis=0)
        return unsaid

    def any_of(self, finding: str, place: str | None) -> Truth:
        """Is there any of a finding's attributes at a place (None: anywhere)?"""
        cells = [(place or ANYWHERE, name) for name in members(finding)]
        return self.union([cell for cell in cells if self.known.can_be(cell)])

    def union(self, cells: Sequence[Relation]) -> Truth:
        """Is any of these relations present? One pass over all their columns."""
        count = len(self._graphs)
        columns = sorted({k for cell in cells for k in self.known.columns(cell)})
        yes = np.any(self._above[columns], axis=0) if columns else np.zeros(count, dtype=np.bool_)
        p = self._filled(columns).max(axis=0) if columns else np.zeros(count, dtype=np.float32)
        maybe = yes
        for cell in cells:
            if self._nan is not None or not self.known.closed(cell):
                maybe = maybe | self._open(cell)
        return Truth(yes, maybe, p)

    def column_of(self, name: str) -> tuple[npt.NDArray[np.float64], Bools]:
        """``pa``, ``female``, ``heart`` or ``mediastinum`` of each study, and where it is known.

        As precise as they were given, so that tables of them are compared to the same end."""
        found = [getattr(graph, name) for graph in self._graphs]
        known = np.asarray([value is not None for value in found], dtype=np.bool_)
        values = np.asarray([0.0 if v is None else v for v in found], dtype=np.float64)
        return values, known
