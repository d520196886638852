"""What a reviewer decided: one line for each decision, on the disk before the next is taken.

``review/NAME.jsonl`` in the set's folder; undoing is a line too, so nothing that was decided is
rewritten. How long each took is kept apart (``NAME.times.jsonl``), and an edit that was not ended
too (``NAME.drafts.json``), so that what is exported never depends on the clock.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ehrqa_cli.contracts.errors import BuildError, UsageError
from ehrqa_cli.sets.making.files import Plain, whole, whole_lines
from ehrqa_cli.sets.notes.review.items import Content, ReviewSet
from ehrqa_cli.store import own

ACCEPTED, EDITED, DROPPED = "accepted", "edited", "dropped"
DECISIONS = (ACCEPTED, EDITED, DROPPED)
FOLDER = "review"
_NAME = re.compile(r"[\w][\w.-]{0,40}")
_JOURNAL, _TIMES, _DRAFTS = ".jsonl", ".times.jsonl", ".drafts.json"


@dataclass(frozen=True)
class Decision:
    """What became of an item; ``content`` where it was edited."""

    item: str
    kind: str
    content: Content | None = None


class Review:
    """One reviewer's decisions on a set. With ``writable`` the journal is held for this process
    alone. Raises UsageError for a name that cannot be a file's or a journal of another set,
    BuildError when nothing can be written or another process holds it."""

    def __init__(self, data: ReviewSet, reviewer: str, writable: bool = True) -> None:
        if not _NAME.fullmatch(reviewer):
            raise UsageError(
                f"{reviewer!r} cannot be a reviewer's name",
                "letters, digits, dots and dashes, as in --reviewer j.doe",
            )
        self.data, self.reviewer = data, reviewer
        folder = data.folder / FOLDER
        self._path = folder / f"{reviewer}{_JOURNAL}"
        self._times = folder / f"{reviewer}{_TIMES}"
        self._drafts = folder / f"{reviewer}{_DRAFTS}"
        self._made: list[Decision] = []
        self._file: IO[bytes] | None = None
        kept = self._read()
        if writable:
            self._open(kept)

    def __enter__(self) -> Review:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def decisions(self) -> dict[str, Decision]:
        """The last decision on each item, by its id."""
        return {decision.item: decision for decision in self._made}

    def decide(self, decision: Decision, seconds: float | None = None) -> None:
        """Write a decision down; when this returns it is on the disk."""
        line: Plain = {"id": decision.item, "decision": decision.kind}
        if decision.content is not None:
            line["item"] = decision.content.as_plain()
        self._append(line)
        self._made.append(decision)
        if seconds is not None:
            self._took(decision.item, seconds)

    def undo(self) -> Decision | None:
        """Take the last decision back, and return it; None where there is none."""
        if not self._made:
            return None
        self._append({"undo": self._made[-1].item})
        return self._made.pop()

    def seconds(self) -> dict[str, float]:
        """How long each item took in all, by its id."""
        out: dict[str, float] = {}
        for line, _ in whole_lines(self._times):
            with suppress(KeyError, TypeError, ValueError):
                out[str(line["id"])] = out.get(str(line["id"]), 0.0) + float(line["seconds"])
        return out

    def drafts(self) -> dict[str, Plain]:
        """Edits that were begun and not ended, by item: the fields as they were typed."""
        try:
            found = json.loads(self._drafts.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        known = {item.id for item in self.data.items}
        if not isinstance(found, dict):
            return {}
        return {k: v for k, v in found.items() if k in known and isinstance(v, dict)}

    def keep_draft(self, item: str, fields: Mapping[str, str] | None) -> None:
        """Keep what is typed so far, or forget it (None). Raises BuildError."""
        drafts = self.drafts()
        if fields is None:
            if item not in drafts:
                return
            drafts.pop(item)
        else:
            drafts[item] = dict(fields)
        try:
            with (
                whole(self._drafts) as part,
                open(part, "w", encoding="utf-8", opener=_private) as file,
            ):
                json.dump(drafts, file, ensure_ascii=False)
        except OSError as error:
            raise _unwritable(self._drafts, error) from None

    def close(self) -> None:
        """Let others have the journal."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self) -> int:
        """Take in the journal; the offset of its end, without a torn last line."""
        end = 0
        for number, (line, after) in enumerate(whole_lines(self._path)):
            if number == 0:
                self._check(line)
            elif "undo" in line:
                if self._made:
                    self._made.pop()
            else:
                self._made.append(self._decision(line))
            end = after
        return end

    def _check(self, header: Plain) -> None:
        if header.get("set") != self.data.sha256:
            raise UsageError(
                f"{self._path} holds decisions on another set",
                "give another --reviewer, or move that file away",
            )

    def _decision(self, line: Plain) -> Decision:
        try:
            content = Content.of_plain(line["item"]) if "item" in line else None
            if line["decision"] not in DECISIONS:
                raise ValueError(line["decision"])
            return Decision(str(self.data.item(str(line["id"])).id), line["decision"], content)
        except (KeyError, TypeError, ValueError, StopIteration):
            raise BuildError(
                f"{self._path} holds a line that is no decision", "restore it from a copy"
            ) from None

    def _open(self, kept: int) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self._path, "ab", buffering=0, opener=_private)  # noqa: SIM115
            self._own(self._file)
            self._file.truncate(kept)
            if not kept:
                self._append({"set": self.data.sha256, "reviewer": self.reviewer})
        except OSError as error:
            raise _unwritable(self._path, error) from None

    def _own(self, file: IO[bytes]) -> None:
        if not own(file):
            self.close()
            raise BuildError(
                f"{self.reviewer} is reviewing this set in another window",
                "go on there, or give another --reviewer",
            )

    def _append(self, line: Plain) -> None:
        if self._file is None:
            raise BuildError("this review is only read", "open it for writing")
        end = os.fstat(self._file.fileno()).st_size
        try:
            text = json.dumps(line, ensure_ascii=False) + "\n"
            self._file.write(text.encode("utf-8", "surrogatepass"))
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):  # what was not taken must not be found later
                self._file.truncate(end)
            raise _unwritable(self._path, error) from None

    def _took(self, item: str, seconds: float) -> None:
        with (
            suppress(OSError),  # a time that is not kept loses no work
            open(self._times, "a", encoding="utf-8", opener=_private) as file,
        ):
            file.write(json.dumps({"id": item, "seconds": round(seconds, 1)}) + "\n")


def _unwritable(path: Path, error: OSError) -> BuildError:
    return BuildError(
        f"cannot write {path}: {error.strerror or error}",
        "make room, then do it again; what was decided before is kept",
    )


def reviewers(folder: Path) -> list[str]:
    """Who has reviewed the set in this folder, by name."""
    found = sorted((folder / FOLDER).glob(f"*{_JOURNAL}"))
    names = [path.name.removesuffix(_JOURNAL) for path in found]
    return [name for name in names if not name.endswith(".times")]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
