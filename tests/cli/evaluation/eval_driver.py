"""``ehrqa eval ...`` that ends itself as by ``kill -9``, with a model that answers by rote.

    python eval_driver.py RECORD PART eval ehrsql --data DIR ...

The process is killed when RECORD records have been written and PART (0 to 1) of the next one;
RECORD -1 lets it live.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ehrqa_cli import registry
from ehrqa_cli.cli import main
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_cli.engine import Session
from ehrqa_cli.evaluate import journal


class Rote(Text2Sql):
    """Counts patients and declines all else."""

    name: ClassVar[str] = "rote"

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        if "question a" not in question.text and "patients" not in question.text:
            return []
        return [Query(None, "count_patients person", scores={"max_entropy": 0.0123456789})]

    def provenance(self) -> Mapping[str, str]:
        return {"model": "rote", "sha256": "0" * 64}


def kill_at(count: int, part: float) -> None:
    """End this process when it adds its ``count``-th record."""
    add = journal.Journal._add
    added = 0

    def killing(self: journal.Journal, record: Any, seconds: Any) -> None:
        nonlocal added
        if added == count:
            line = json.dumps(record, ensure_ascii=False) + "\n"
            assert self.out is not None
            with (self.out / journal.RECORDS).open("a", encoding="utf-8") as file:
                file.write(line[: int(part * len(line))])
            os.kill(os.getpid(), signal.SIGKILL)
        added += 1
        add(self, record, seconds)

    journal.Journal._add = killing  # type: ignore[method-assign]


if __name__ == "__main__":
    load = registry.load
    registry.load = lambda group, name, contract: (  # type: ignore[assignment]
        Rote if group == registry.TEXT2SQL else load(group, name, contract)
    )
    Session.judge = None  # type: ignore[assignment]
    if int(sys.argv[1]) >= 0:
        kill_at(int(sys.argv[1]), float(sys.argv[2]))
    sys.exit(main.run(sys.argv[3:]))
