"""A source of scene graphs as the rows of the tables (``ehr.schema.CXR_TABLES``)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ehrqa_cli.contracts.images import Relation, SceneGraph
from ehrqa_cli.contracts.plugins import SceneGraphSource
from ehrqa_cli.contracts.types import Row
from ehrqa_cli.ehr.cxr_vocabulary import CATEGORY_OF
from ehrqa_cli.vqa.matrix import Known
from ehrqa_cli.vqa.tables.source import FORMAT
from ehrqa_cli.vqa.thresholds import VqaThresholds

BATCH = 2048  # studies asked of the source at once


@dataclass
class Graphs:
    """The rows of one source, batch by batch, and what was counted on the way.

    ``missing`` studies have no scene graph; ``problems`` have a row that says why it says nothing.
    """

    source: SceneGraphSource
    thresholds: VqaThresholds
    studies: Sequence[int]
    progress: Callable[[int, int], None] = lambda _done, _of: None
    written: int = 0
    problems: int = 0
    relations: int = 0
    missing: list[int] = field(default_factory=list)
    _unsaid: dict[int, int] = field(default_factory=dict)

    def batches(self) -> Iterator[tuple[list[Row], list[Row]]]:
        """Rows of ``cxr_studies`` and of ``cxr_relations`` without their ``row_id``, in the order
        of the studies. Raises ModelError for a fault of the source."""
        for start in range(0, len(self.studies), BATCH):
            batch = self.studies[start : start + BATCH]
            found = self.source.read(batch)
            studies: list[Row] = []
            relations: list[Row] = []
            for study in batch:
                graph = found.get(study)
                if graph is None:
                    self.missing.append(study)
                    continue
                studies.append(_study(graph))
                self.problems += bool(graph.problem)
                if not graph.problem:
                    relations += self._relations(graph)
            self.written += len(studies)
            self.relations += len(relations)
            yield studies, relations
            self.progress(start + len(batch), len(self.studies))

    def _relations(self, graph: SceneGraph) -> Iterator[Row]:
        values = np.asarray(graph.probabilities, dtype=np.float32)
        for at in np.flatnonzero(values != 0).tolist():  # NaN is not 0
            p = float(values[at])
            if math.isnan(p):
                self._unsaid[at] = self._unsaid.get(at, 0) + 1
            yield graph.study_id, at, None if math.isnan(p) else p

    def dictionary(self) -> list[Row]:
        """Rows of ``d_cxr_relations``, once all batches are read."""
        coverage = self.source.coverage()
        known = Known(coverage)
        covered = coverage.relations
        others = sorted(known.possible - set(covered))
        every: list[Relation] = [*covered, *others]
        return [
            (
                number,
                place or None,
                name,
                CATEGORY_OF.get(name, ""),
                int(number < len(covered)),
                int((place, name) in known.possible),
                self._unsaid.get(number, 0),
            )
            for number, (place, name) in enumerate(every)
        ]

    def about(self) -> list[Row]:
        """Rows of ``cxr_source``."""
        coverage = self.source.coverage()
        flags = {name: getattr(coverage, name) for name in ("view", "sex", "heart", "mediastinum")}
        facts: Mapping[str, str] = {
            "format": FORMAT,
            **{name: str(int(value)) for name, value in flags.items()},
            "reader": _json(dict(self.source.provenance())),
            "thresholds": _json(self.thresholds.as_dict()),
        }
        return list(facts.items())


def _study(graph: SceneGraph) -> Row:
    good = not graph.problem
    return (
        graph.study_id,
        graph.image or None,
        graph.pa if good else None,
        graph.female if good else None,
        graph.heart if good else None,
        graph.mediastinum if good else None,
        graph.problem or None,
    )


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
