"""``ehrqa batch ...`` with a model that answers by rote, for tests that end the process.

    python batch_driver.py SECONDS BYTES batch IN OUT --db FILE ...

Each question takes SECONDS; a file may not grow beyond BYTES (0: as it likes), as on a full disk.
Prints the most memory it had, in KiB, to stderr.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import ClassVar

from ehrqa_cli import registry
from ehrqa_cli.cli import main
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_cli.engine import Session

SECONDS, BYTES = float(sys.argv[1]), int(sys.argv[2])


class Rote(Text2Sql):
    """Counts patients, declines other questions, and fails where it is told to."""

    name: ClassVar[str] = "rote"

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        time.sleep(SECONDS)
        if "boom" in question.text:
            raise RuntimeError("boom")
        if "patients" not in question.text:
            return []
        return [Query(None, "count_patients person", scores={"max_entropy": 0.0123456789})]

    def provenance(self) -> Mapping[str, str]:
        return {"model": "rote", "sha256": "0" * 64}


if __name__ == "__main__":
    load = registry.load
    registry.load = lambda group, name, contract: (  # type: ignore[assignment]
        Rote if group == registry.TEXT2SQL else load(group, name, contract)
    )
    Session.judge = None  # type: ignore[assignment]
    if BYTES:
        resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, BYTES))
    code = main.run(sys.argv[3:])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
    sys.exit(code)
