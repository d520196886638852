"""Records of a run that are the same to the byte whether or not it was broken off.

``records.jsonl`` has a header, then one plain JSON object for each question in their order;
seconds go to ``timings.jsonl``. Each record names its run by a hash of the header.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.files import write_whole

RECORDS, TIMINGS = "records.jsonl", "timings.jsonl"
Plain = dict[str, Any]
Made = tuple[str, Plain, Plain]  # a question's id, its record, its seconds by step


def run_hash(header: Plain) -> str:
    """What names a run: the start of the SHA-256 of its settings."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()[:16]


class Journal:
    """The records of one run; without a folder they are only handed on.

    ``done`` are records and ``seconds`` their seconds, by question id.
    """

    def __init__(self, out: Path | None, header: Plain) -> None:
        """Opens or begins the files. Raises EvaluationError when they are of another run."""
        self.out = out
        self.header = json.loads(json.dumps(header))
        self.hash = run_hash(self.header)
        self.done: dict[str, Plain] = {}
        self.seconds: dict[str, Plain] = {}
        if out is None:
            return
        path = out / RECORDS
        try:
            out.mkdir(parents=True, exist_ok=True)
            if path.is_file() and path.stat().st_size:
                self._resume(path)
            else:
                write_whole(out / TIMINGS, "")
                write_whole(path, _line({"header": self.header}))
        except (OSError, UnicodeDecodeError) as error:
            told = error.strerror if isinstance(error, OSError) else "it is not text"
            raise EvaluationError(f"cannot use {path}: {told}", "check --out") from None

    def run(
        self,
        ids: Iterable[str],
        make: Callable[[str], tuple[Plain, Plain]],
        progress: Callable[[int], None] = lambda _done: None,
    ) -> list[Plain]:
        """A record of each id, those of an earlier run first kept. ``make`` gives (record,
        seconds by step); ``progress`` is called with how many are done."""
        return self.run_many(list(ids), lambda todo: ((key, *make(key)) for key in todo), progress)

    def run_many(
        self,
        ids: Sequence[str],
        make: Callable[[Sequence[str]], Iterable[Made]],
        progress: Callable[[int], None] = lambda _done: None,
    ) -> list[Plain]:
        """As `run`, where ``make`` gives (id, record, seconds) of all ids that are still to do, in
        their order."""
        todo = [key for key in ids if key not in self.done]
        if len(todo) < len(ids):
            progress(len(ids) - len(todo))
        for number, (key, record, seconds) in enumerate(make(todo) if todo else (), 1):
            self._add({"id": key, **record, "run": self.hash}, {"id": key, **seconds})
            progress(len(ids) - len(todo) + number)
        return [self.done[key] for key in ids]

    def _add(self, record: Plain, seconds: Plain) -> None:
        line = _line(record)
        if self.out is not None:
            try:
                with (self.out / TIMINGS).open("a", encoding="utf-8") as file:
                    file.write(_line(seconds))
                with (self.out / RECORDS).open("a", encoding="utf-8") as file:
                    file.write(line)
            except OSError as error:
                raise EvaluationError(
                    f"cannot write to {self.out}: {error.strerror}",
                    "make room, then give the same command again: it goes on",
                ) from None
        # Read back, so that a resumed run scores exactly what a whole one does.
        self.done[record["id"]] = json.loads(line)
        self.seconds[record["id"]] = {k: v for k, v in seconds.items() if k != "id"}

    def _resume(self, path: Path) -> None:
        lines = list(whole_lines(path))
        found = lines[0].get("header") if lines else None
        if found != self.header:
            other = found if isinstance(found, dict) else {}
            changed = sorted(
                key
                for key in {*self.header, *other}
                if other.get(key, self) != self.header.get(key, self)
            )
            raise EvaluationError(
                f"{path} is of another run (different {', '.join(changed) or 'header'})",
                "give another folder with --out, or delete that one",
            )
        self.done = {line["id"]: line for line in lines[1:] if line.get("run") == self.hash}
        times = path.with_name(TIMINGS)
        told = {line.get("id"): line for line in whole_lines(times)} if times.is_file() else {}
        self.seconds = {
            key: {k: v for k, v in told[key].items() if k != "id"}
            for key in self.done
            if key in told
        }
        # A line cut short by an interruption goes, so that the next one begins afresh.
        write_whole(
            times, "".join(_line({"id": key, **rest}) for key, rest in self.seconds.items())
        )
        kept = [_line({"header": self.header}), *(_line(r) for r in self.done.values())]
        write_whole(path, "".join(kept))


def whole_lines(path: Path) -> Iterator[Plain]:
    """The objects of a file of JSON Lines up to one that was cut short. Raises OSError, and
    UnicodeDecodeError for a file that is no text."""
    for text in path.read_text(encoding="utf-8").split("\n"):
        try:
            line = json.loads(text)
        except ValueError:
            return  # the last line, cut short
        if isinstance(line, dict):
            yield line


def _line(value: Plain) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
