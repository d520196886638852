"""Times of studies into the time of a database that was imported with shifted times."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.ehr.mimic.files import find
from ehrqa_cli.ehr.mimic.options import EHRSQL_NOW, ImportOptions
from ehrqa_cli.ehr.mimic.visits import read_cohort


@dataclass(frozen=True)
class Shifts:
    """By how many days each patient's times were moved back; ``ends`` is the last time kept."""

    days: Mapping[int, int] = field(default_factory=dict)
    ends: datetime | None = None

    def moved(self, patient: int, when: datetime) -> datetime:
        """``when`` in the time of the database."""
        return when - timedelta(days=self.days.get(patient, 0))


def shifts_of(mimic_iv: Path | None, meta: Mapping[str, str], original: bool) -> Shifts:
    """The shifts of the database described by ``meta``, from the release it was imported from.

    ``original`` says that the studies have MIMIC-CXR's own times. Raises UsageError when those
    cannot be told in the database's time, ImportFailed for files of the release.
    """
    options = json.loads(meta.get("options", "null"))
    shift = options.get("time_shift") if options else None
    if mimic_iv is None:
        if shift == "ehrsql" and original:
            raise UsageError(
                "the database's times were shifted when it was imported, those of the images not",
                "name the MIMIC-IV release that it was imported from with --mimic-iv DIR",
            )
        return Shifts()
    if shift == "none":
        raise UsageError("the database's times were not shifted", "leave --mimic-iv out")
    files, _, _ = find(mimic_iv)
    cohort = read_cohort(files, ImportOptions(time_shift="ehrsql"), lambda what, done, of: None)
    days = {int(patient): dates.days for patient, dates in cohort.shifts.items()}
    return Shifts(days, datetime.fromisoformat(EHRSQL_NOW))
