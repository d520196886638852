"""Our own benchmarks are held to the contract of plugins' ones."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ehrqa_cli.contract_suite import benchmark as suite
from ehrqa_cli.contract_suite.checking import Unmet
from ehrqa_cli.contracts.benchmarks import Benchmark
from ehrqa_cli.contracts.types import Answer, Status
from ehrqa_cli.ehr.demo.make import build_demo
from ehrqa_cli.evaluate.ehrnoteqa import EhrNoteQa
from ehrqa_cli.evaluate.ehrsql import EhrSql
from ehrqa_cli.evaluate.ehrxqa import EhrXqa
from ehrqa_cli.evaluate.mimic_cxr_vqa import MimicCxrVqa

OWN = (EhrXqa, MimicCxrVqa, EhrNoteQa)


@pytest.mark.parametrize("check", suite.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("benchmark", OWN, ids=lambda benchmark: benchmark.name)
def test_of_rows_labels_and_words(
    tmp_path: Path, benchmark: type[Benchmark], check: Callable[[suite.Subject], None]
) -> None:
    with suite.made(benchmark, tmp_path) as subject:
        check(subject)


@pytest.mark.parametrize("check", suite.CHECKS, ids=lambda check: check.__name__)
def test_of_queries(tmp_path: Path, check: Callable[[suite.Subject], None]) -> None:
    """EHRSQL runs queries on a database of its own."""
    db, tree = tmp_path / "demo.sqlite", tmp_path / "tree"
    build_demo(db, seed=1, patients=10)
    tree.mkdir()
    data, split = EhrSql.sample(tree)
    with closing(EhrSql(db)) as benchmark:
        check(suite.Subject(benchmark, data, split, lambda _sql: ()))


def test_one_that_calls_silence_right_is_found(tmp_path: Path) -> None:
    class Lenient(EhrXqa):
        def record(self, item, answer: Answer, execute):  # type: ignore[no-untyped-def]
            return super().record(item, answer, execute) | {"correct": True}

    with ExitStack() as stack, pytest.raises(Unmet, match=str(Status.ABSTAINED)):
        suite.silence_is_not_right(stack.enter_context(suite.made(Lenient, tmp_path)))
