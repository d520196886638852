"""What every source of scene graphs must do."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

from ehrqa_cli.contract_suite.checking import Check, demand, has_provenance
from ehrqa_cli.contracts.images import SceneGraph
from ehrqa_cli.contracts.plugins import SceneGraphSource

_STUDIES = (1, 2, 999_999_999, -5)
_LABELS = """\
study_id\tobject\tattribute\tcategory\tpresent
1\tleft lung\tpleural effusion\tanatomicalfinding\t1
1\tright lung\tpleural effusion\tanatomicalfinding\t0
2\tleft lung\tpleural effusion\tanatomicalfinding\t0
2\tright lung\tpleural effusion\tanatomicalfinding\t0
"""
_VIEWS = """\
study_id\timage_id\tview\tgender\tctr\tmtr
1\ti1\tPA\tfemale\t0.5\t0.2
2\ti2\tAP\tmale\t0.4\t0.3
"""


def make(plugin: type[SceneGraphSource], folder: Path) -> SceneGraphSource:
    """As the program makes one: ours of labels and of the shipped model, others as they ask."""
    from ehrqa_cli.vqa import OracleGraphs
    from ehrqa_cli.vqa.model import choose
    from ehrqa_cli.vqa.model.source import ModelGraphs

    if issubclass(plugin, OracleGraphs):
        (folder / "scene_graph.tsv").write_text(_LABELS, encoding="utf-8")
        (folder / "studies.tsv").write_text(_VIEWS, encoding="utf-8")
        return plugin.open(folder)
    if issubclass(plugin, ModelGraphs):
        found = choose.model_graphs(choose.Wanted(None, pulled=folder, images=(folder,)))
        demand(found is not None, "no vision model is shipped")
        assert found is not None
        return found
    given: dict[str, Any] = {"images": (folder,), "db": None}
    asked = signature(plugin).parameters
    made: Callable[..., SceneGraphSource] = plugin
    return made(**{name: value for name, value in given.items() if name in asked})


def tells_what_it_sees(source: SceneGraphSource) -> None:
    """It says which relations it knows, each once, and always the same."""
    coverage = source.coverage()
    pairs = all(len(relation) == 2 and relation[1] for relation in coverage.relations)
    demand(pairs, "a relation is not (object, attribute)")
    demand(len(set(coverage.relations)) == len(coverage.relations), "a relation stands twice")
    demand(source.coverage() == coverage, "the coverage changes")


def reads_a_batch(source: SceneGraphSource) -> None:
    """Graphs have a probability for each relation; studies without an image are left out or say
    why."""
    width = len(source.coverage().relations)
    found = source.read(_STUDIES)
    demand(set(found) <= set(_STUDIES), "graphs of studies that nobody asked for")
    for study, graph in found.items():
        demand(isinstance(graph, SceneGraph), f"a graph is a {type(graph).__name__}")
        demand(graph.study_id == study, f"the graph of {study} says it is of {graph.study_id}")
        if graph.problem:
            continue
        demand(
            len(graph.probabilities) == width, f"{len(graph.probabilities)} of {width} relations"
        )
        wrong = [p for p in graph.probabilities if not (math.isnan(p) or 0 <= p <= 1)]
        demand(not wrong, f"probabilities of {wrong[:3]}")
        for name in ("pa", "female"):
            value = getattr(graph, name)
            demand(value is None or 0 <= value <= 1, f"{name} is {value}")


def reads_nothing(source: SceneGraphSource) -> None:
    """No studies give no graphs."""
    demand(not source.read([]), "graphs of nothing")


def says_the_same_twice(source: SceneGraphSource) -> None:
    """The same study gives the same graph, alone and in a batch."""
    first = source.read(_STUDIES)
    for study, graph in first.items():
        again = source.read([study]).get(study)
        same = again is not None and _numbers(again) == _numbers(graph)
        demand(same, f"study {study} has two graphs")


def _numbers(graph: SceneGraph) -> list[str]:
    return [f"{value:.5f}" for value in graph.probabilities]


CHECKS: tuple[Check[SceneGraphSource], ...] = (
    has_provenance,
    tells_what_it_sees,
    reads_a_batch,
    reads_nothing,
    says_the_same_twice,
)
