"""Where the notes of an EHR and their index are kept."""

from __future__ import annotations

import hashlib
from pathlib import Path


def beside(db_path: Path, suffix: str) -> Path:
    """The file with this ending that belongs to the notes of the EHR at ``db_path``.

    It lies beside the EHR. The EHR of the settings has it in the folder ``notes`` of the settings
    if that is set; its name is then made from the EHR's path too, so that no EHR is ever given the
    notes of another one of the same name. Raises UsageError for wrong settings.
    """
    from ehrqa_cli import config

    settings = config.load()
    if settings.notes is None or settings.db is None:
        return db_path.with_name(db_path.name + suffix)
    from ehrqa_cli.ehr.open import path_of

    if path_of(str(settings.db)).resolve() != db_path.resolve():
        return db_path.with_name(db_path.name + suffix)
    digest = hashlib.sha256(str(db_path.resolve()).encode()).hexdigest()[:12]
    return settings.notes / f"{db_path.stem}-{digest}{suffix}"
