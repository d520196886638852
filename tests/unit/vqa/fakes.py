"""A source of scene graphs for tests: what it sees, and the probabilities of each study."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import ClassVar

from ehrqa_cli.contracts.images import Coverage, Relation, SceneGraph
from ehrqa_cli.contracts.plugins import SceneGraphSource

NAN = float("nan")


class FakeGraphs(SceneGraphSource):
    """``studies``: study id to the probabilities of its relations; others stand at 0."""

    name: ClassVar[str] = "fake"

    def __init__(
        self,
        seen: Sequence[Relation],
        studies: Mapping[int, Mapping[Relation, float]],
        *,
        possible: frozenset[Relation] | None = None,
        **more: float,
    ) -> None:
        self._coverage = Coverage(
            tuple(seen),
            view="pa" in more,
            sex="female" in more,
            heart="heart" in more,
            mediastinum="mediastinum" in more,
            possible=possible,
        )
        self._graphs = {
            study: SceneGraph(study, array("f", [known.get(r, 0.0) for r in seen]), **more)
            for study, known in studies.items()
        }
        self.batches: list[list[int]] = []

    def coverage(self) -> Coverage:
        """As given."""
        return self._coverage

    def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
        """Those that are there; every call is noted in ``batches``."""
        self.batches.append(list(studies))
        return {s: self._graphs[s] for s in studies if s in self._graphs}

    def provenance(self) -> Mapping[str, str]:
        """A name."""
        return {"scene_graphs": "fake"}
