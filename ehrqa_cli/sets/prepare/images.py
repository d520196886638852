"""Which chest X-rays there are: EHRXQA's TB_CXR, from MIMIC-CXR's metadata or the EHR's own table.

    mimic-cxr-2.0.0-metadata.csv[.gz]   dicom_id, subject_id, study_id, ViewPosition, StudyDate
                                        (20800506), StudyTime (213014.531)

As MIMIC-CXR-VQA selects them (Bae et al. 2023, appendix B.2.2): frontal ones, of a study the
earliest, of equally early ones the first by id, at most 20 studies of a patient.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, TypeVar

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.sets.prepare.source import EhrSource

FRONTAL = ("AP", "PA")
MOST_STUDIES = 20
STEPS = (
    "images", "not frontal", "not the first of its study",
    f"beyond {MOST_STUDIES} studies of a patient",
)  # fmt: skip
METADATA = ("dicom_id", "subject_id", "study_id", "ViewPosition", "StudyDate", "StudyTime")
_HINT = "name mimic-cxr-2.0.0-metadata.csv[.gz] of MIMIC-CXR, or a table of the same columns"


@dataclass(frozen=True)
class Study:
    """One image of a study. ``view`` is in capitals; ``visit`` is None where none is known."""

    patient: int
    study: int
    image: str
    time: str
    view: str
    visit: int | None = None


Image = TypeVar("Image", bound=Study)


def read_metadata(path: Path) -> Iterator[Study]:
    """The images of a metadata file. Raises UsageError, with the line."""
    try:
        with opened(path) as file:
            reader = csv.DictReader(file)
            lacking = [name for name in METADATA if name not in (reader.fieldnames or ())]
            if lacking:
                raise UsageError(f"{path} has no column {', '.join(lacking)}", _HINT)
            for row in reader:
                try:
                    yield _study(row)
                except (ValueError, TypeError, AttributeError):
                    what = f"{path}, line {reader.line_num}, is no image with a date and a time"
                    raise UsageError(what, _HINT) from None
    except (OSError, EOFError, csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", _HINT) from None


def _study(row: dict[str, str]) -> Study:
    day, clock = row["StudyDate"].strip(), row["StudyTime"].strip().partition(".")[0].zfill(6)
    if not (len(day) == 8 and len(clock) == 6 and (day + clock).isdigit()):
        raise ValueError(day)
    time = f"{day[:4]}-{day[4:6]}-{day[6:]} {clock[:2]}:{clock[2:4]}:{clock[4:]}"
    return Study(
        int(row["subject_id"]),
        int(row["study_id"]),
        row["dicom_id"].strip(),
        time,
        row["ViewPosition"].strip().upper(),
    )


def read_table(source: EhrSource) -> Iterator[Study]:
    """The images of the EHR's own tb_cxr."""
    columns = ("subject_id", "hadm_id", "study_id", "image_id", "studydatetime", "viewposition")
    for _, patient, visit, study, image, time, view in source.rows("tb_cxr", columns, None):
        if patient is None or study is None or time is None:
            continue
        yield Study(
            int(patient),
            int(study),
            str(image or study),
            str(time)[:19],
            str(view or "").strip().upper(),
            None if visit is None else int(visit),
        )


def one_each(images: Iterable[Image], steps: Counter[str]) -> dict[int, list[Image]]:
    """One image of each study, by patient, in the order of time; ``steps`` counts, under the names
    of ``STEPS``, what there was and what went."""
    every, sideways, later, beyond = STEPS
    first: dict[int, Image] = {}
    for image in images:
        steps[every] += 1
        if image.view not in FRONTAL:
            steps[sideways] += 1
            continue
        other = first.get(image.study)
        if other is not None:
            steps[later] += 1
        if other is None or (image.time, image.image) < (other.time, other.image):
            first[image.study] = image
    found: dict[int, list[Image]] = {}
    for study in sorted(first.values(), key=lambda s: (s.patient, s.time, s.study)):
        own = found.setdefault(study.patient, [])
        if len(own) < MOST_STUDIES:
            own.append(study)
        else:
            steps[beyond] += 1
    return found


def only(found: dict[int, list[Study]], studies: set[int]) -> dict[int, list[Study]]:
    """Those studies alone, of patients who have any left."""
    kept = {p: [s for s in own if s.study in studies] for p, own in found.items()}
    return {p: own for p, own in kept.items() if own}


def opened(path: Path) -> TextIO:
    """A text file, compressed or not. Raises OSError."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def covering(visits: Sequence[tuple[int, str, str | None]], time: str) -> int | None:
    """The visit that a time lies in: (hadm_id, begin, end); of several the one begun last."""
    inside = [(b, h) for h, b, e in visits if b <= time and (e is None or time <= e)]
    return max(inside)[1] if inside else None
