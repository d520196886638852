"""Thresholds that a user calibrated on an own database: where they are kept, and whether they hold.

They lie in the configuration folder, one file a database, readable by its owner only (0600): the
file's name is made from the database's path, because a folder of data may be read-only and
thresholds that came with somebody's data must not decide what is answered.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from ehrqa_cli import config
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.engine.parts import shipped_thresholds
from ehrqa_cli.engine.risk import Thresholds


def path_for(db: Path) -> Path:
    """Where the thresholds of the database at ``db`` are kept; the file may not exist."""
    digest = hashlib.sha256(str(db.resolve()).encode()).hexdigest()[:12]
    stem = "".join(c if c.isalnum() else "-" for c in db.stem)[:40]
    return config.settings_file().parent / "thresholds" / f"{stem}-{digest}.json"


def stored(db: Path | None) -> Thresholds | None:
    """The thresholds calibrated on ``db``, or None. Raises UsageError for a broken file."""
    if db is None:
        return None
    path = path_for(db)
    return Thresholds.load(path) if path.is_file() else None


def holds(thresholds: Thresholds, model_sha256: str | None) -> bool:
    """Whether they were made with this model: another one's scores mean other things."""
    made = thresholds.source.get("model_sha256")
    return made is None or made == model_sha256


def in_force(
    db: Path | None, model_sha256: str | None, warn: Callable[[str], None]
) -> tuple[Thresholds, str]:
    """Those calibrated on ``db``, else those stored with the model, else the defaults; and which.

    Those of another model would be a confidence that nobody measured. Raises UsageError for a
    broken file.
    """
    mine = stored(db)
    if mine is not None and holds(mine, model_sha256):
        return mine, "calibrated on this database"
    if mine is not None:
        warn(
            "the thresholds calibrated on this database are of another model and are not "
            "used; run `ehrqa calibrate` again"
        )
    shipped = shipped_thresholds()
    if shipped is not None and holds(shipped, model_sha256):
        return shipped, "stored with the model"
    return Thresholds(), "defaults"


def write(thresholds: Thresholds, path: Path) -> None:
    """Write a thresholds file for its owner alone. Raises UsageError when it cannot be written."""
    text = json.dumps(thresholds.as_dict(), indent=1) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}", "name another file with --out"
        ) from None
