"""Which rows of the relations' table a fact rests on: what `vqa.matrix` computes, as numbers.

A fact is that any of some relations is present (MIMIC-CXR-VQA's leaves: Bae et al. 2023, appendix
B). It is sure where one of ``yes`` is present; it cannot be denied where one of ``unsaid`` cannot
be said, one of ``whole`` is present (somewhere, nobody knows where), or ``open`` is set, because
the source does not see all that it would take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.images import ANYWHERE, Relation
from ehrqa_cli.ehr.cxr_vocabulary import OBJECTS
from ehrqa_cli.vqa.matrix import Known
from ehrqa_cli.vqa.ontology import members
from ehrqa_cli.vqa.program import Leaf

NONE: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Fact:
    """Numbers of relations, as the module says."""

    yes: frozenset[int]
    unsaid: frozenset[int] = NONE
    whole: frozenset[int] = NONE
    open: bool = False

    @property
    def exact(self) -> bool:
        """Is it always either so or not so?"""
        return not (self.unsaid or self.whole or self.open)


class Facts:
    """Reads off a source's coverage what facts rest on. ``unsaid`` are the relations that some
    study has no answer to."""

    def __init__(self, known: Known, unsaid: Iterable[int]) -> None:
        self.known = known
        self._unsaid = frozenset(unsaid)

    def leaf(self, leaf: Leaf) -> Fact:
        """Is there any of a finding at a place?"""
        return self.any_of(self._cells(leaf.finding, leaf.place or ANYWHERE))

    def names(self, leaf: Leaf) -> dict[str, Fact]:
        """Of each attribute that a finding stands for: is it there?"""
        cells = self._cells(leaf.finding, leaf.place or ANYWHERE)
        return {name: self.any_of([(place, name)]) for place, name in cells}

    def places(self, leaf: Leaf) -> dict[str, Fact]:
        """Of each object that a finding can be in: is it there?"""
        wanted = [leaf.place] if leaf.place else list(OBJECTS)
        cells = {place: self._cells(leaf.finding, place) for place in wanted}
        return {place: self.any_of(found) for place, found in cells.items() if found}

    def any_of(self, cells: Sequence[Relation]) -> Fact:
        """Is any of these relations present?"""
        yes: set[int] = set()
        unsaid: set[int] = set()
        whole: set[int] = set()
        open_ = False
        for cell in cells:
            yes.update(self.known.columns(cell))
            columns, above, always = self._opens(cell)
            unsaid |= columns & self._unsaid
            whole |= above
            open_ = open_ or always
        return Fact(frozenset(yes), frozenset(unsaid), frozenset(whole - yes), open_)

    def _opens(self, cell: Relation) -> tuple[frozenset[int], frozenset[int], bool]:
        """As ``Matrix._open``: relations that, unsaid, and that, present, keep it from being
        denied; True where nothing could deny it."""
        place, name = cell
        column = self.known.column
        if cell in column:
            return frozenset({column[cell]}), NONE, False
        if place == ANYWHERE:
            spots = [(p, name) for p in self.known.places(name)]
            if any(spot not in column for spot in spots):
                return NONE, NONE, True
            return frozenset(column[spot] for spot in spots), NONE, False
        if (ANYWHERE, name) in column:
            found = frozenset({column[(ANYWHERE, name)]})
            return found, found, False
        return NONE, NONE, True

    def _cells(self, finding: str, place: str) -> list[Relation]:
        cells = [(place, name) for name in members(finding)]
        return [cell for cell in cells if self.known.can_be(cell)]


Named = Callable[[Leaf], dict[str, Fact]]
