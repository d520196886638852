"""Labels of the images, as the tables that `--scene-graphs` takes (``vqa.oracle``).

They come from another such folder, or from Chest ImaGenome's scene graphs (``imagenome``), and
where people checked them from a table of their own: the gold labels. Presence is carried from parts
and kinds to what they are part and kind of, and a relation that cannot be is left out (Bae et al.
2023, appendix B.2.2, label refinement).
"""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.images import Relation
from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, CATEGORY_OF, OBJECTS
from ehrqa_cli.sets.making.files import replace_text, whole
from ehrqa_cli.sets.prepare.images import Study, opened
from ehrqa_cli.vqa import OracleGraphs
from ehrqa_cli.vqa.ontology import POSSIBLE, children, parts

GRAPHS, STUDIES = "scene_graph.tsv.gz", "studies.tsv"
# Columns of Chest ImaGenome's table of checked labels, by our names for them.
_THEIRS = {
    "image_id": "dicom_id", "object": "bbox", "attribute": "label_name", "present": "context",
}  # fmt: skip
_YES, _NO = frozenset({"1", "yes", "true", "present"}), frozenset({"0", "no", "false", "absent"})
_GOLD_HINT = "it needs study_id or image_id; for labels of its own also object, attribute, present"


@dataclass(frozen=True)
class Label:
    """What is known of one image; widths are of the thorax's. Of a relation that is neither
    ``present`` nor ``unknown`` it is said that it is absent."""

    present: frozenset[Relation]
    heart: float | None = None
    mediastinum: float | None = None
    unknown: frozenset[Relation] = frozenset()


@dataclass(frozen=True)
class Checked:
    """Studies whose labels people checked, and those labels where the table has them."""

    studies: frozenset[int]
    present: Mapping[int, frozenset[Relation]]


def read_checked(path: Path, study_of: Mapping[str, int]) -> Checked:
    """A table (tab or comma) of checked studies; ``study_of`` is the study of an image. Rows of
    images that are not known are left out. Raises UsageError."""
    try:
        with opened(path) as file:
            head = file.readline()
            separator = "\t" if "\t" in head else ","
            cells = next(csv.reader([head], delimiter=separator), [])
            names = [name.strip().lower() for name in cells]
            for ours, theirs in _THEIRS.items():
                if ours not in names:
                    names = [ours if name == theirs else name for name in names]
            if "study_id" not in names and "image_id" not in names:
                raise UsageError(f"{path} has no column study_id or image_id", _GOLD_HINT)
            return _checked(path, names, csv.reader(file, delimiter=separator), study_of)
    except (OSError, EOFError, csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", _GOLD_HINT) from None


def _checked(
    path: Path,
    names: Sequence[str],
    rows: Iterable[list[str]],
    study_of: Mapping[str, int],
) -> Checked:
    own = {"object", "attribute", "present"} <= set(names)
    known = frozenset(study_of.values())
    images = {name.lower(): study for name, study in study_of.items()}
    studies: set[int] = set()
    said: dict[int, dict[Relation, bool]] = {}
    for number, cells in enumerate(rows, 2):
        row = defaultdict(str, zip(names, (cell.strip().lower() for cell in cells), strict=False))
        named, image = row["study_id"], row["image_id"]
        if "study_id" in names and not named.lstrip("s").isdigit():
            raise UsageError(f"{path}, line {number}: study_id is no number: {named[:40]}", "")
        study = int(named.lstrip("s")) if named else images.get(image.partition(".")[0])
        if study is None or study not in known:
            continue
        studies.add(study)
        if not own:
            continue
        answer = row["present"]
        if answer not in _YES | _NO:
            raise UsageError(
                f"{path}, line {number}: {answer[:40]!r} is neither yes nor no", _GOLD_HINT
            )
        # Of several mentions in a report the last one counts, as in its impression.
        said.setdefault(study, {})[(row["object"], row["attribute"])] = answer in _YES
    present = {s: frozenset(r for r, yes in found.items() if yes) for s, found in said.items()}
    return Checked(frozenset(studies), present if own else {})


def from_folder(folder: Path, studies: Collection[int]) -> tuple[dict[int, Label], list[Relation]]:
    """The labels of studies in a folder of tables, and the relations that it lists."""
    source = OracleGraphs.open(folder)
    relations = list(source.coverage().relations)
    found = {}
    for study, graph in source.read(sorted(studies)).items():
        pairs = list(zip(relations, graph.probabilities, strict=True))
        held = frozenset(r for r, p in pairs if p >= 0.5)
        unknown = frozenset(r for r, p in pairs if math.isnan(p))
        if len(unknown) == len(pairs):  # only studies.tsv knows it
            continue
        found[study] = Label(held, graph.heart, graph.mediastinum, unknown)
    return found, relations


def read_relations(path: Path | None) -> list[Relation]:
    """The relations that can be: those of a table with object and attribute, else our own 435.
    Raises UsageError."""
    if path is None:
        return sorted(POSSIBLE)
    hint = "a table with the columns object and attribute, parted by tabs"
    try:
        with opened(path) as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        found = {(r["object"].strip().lower(), r["attribute"].strip().lower()) for r in rows}
    except (OSError, EOFError, csv.Error, UnicodeDecodeError, KeyError, AttributeError) as error:
        raise UsageError(f"cannot read the relations in {path}: {error}", hint) from None
    other = sorted(r for r in found if r[0] not in OBJECTS or r[1] not in ATTRIBUTES)
    if other or not found:
        shown = f"{other[0][0]} - {other[0][1]}" if other else "nothing"
        raise UsageError(f"{path} names {shown}, which is not in the vocabulary", hint)
    return sorted(found)


def carrier(relations: Iterable[Relation]) -> Callable[[Collection[Relation]], set[Relation]]:
    """Of what an image shows to those of ``relations`` that are there once presence is carried
    from parts and kinds to what they are part and kind of."""
    below = {
        (place, name): frozenset((p, a) for p in parts(place) for a in children(name))
        for place, name in relations
    }
    return lambda present: {r for r, shown in below.items() if not shown.isdisjoint(present)}


def write_labels(
    folder: Path,
    studies: Iterable[Study],
    labels: Mapping[int, Label],
    relations: list[Relation],
    sexes: Mapping[int, str],
) -> dict[str, int]:
    """Write both tables, of the studies that have labels, with the sex of each patient; counts of
    what is in them. The same labels give the same bytes."""
    own = [line for line in studies if line.study in labels]
    counts = {"studies": len(own), "relations": len(relations), "present": 0, "impossible": 0}
    carry, possible = carrier(relations), frozenset(relations)
    # No name and no time in the header of the compressed file.
    with (
        whole(folder / GRAPHS) as part,
        part.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        io.TextIOWrapper(packed, "utf-8", newline="\n") as file,
    ):
        file.write("study_id\tobject\tattribute\tcategory\tpresent\n")
        for line in own:
            label = labels[line.study]
            there = carry(label.present)
            counts["present"] += len(there)
            counts["impossible"] += len(label.present - possible)
            for place, name in relations:
                here = int((place, name) in there)
                if here or (place, name) not in label.unknown:
                    kind = CATEGORY_OF.get(name, "")
                    file.write(f"{line.study}\t{place}\t{name}\t{kind}\t{here}\n")
    replace_text(folder / STUDIES, "".join(_study_lines(own, labels, sexes)))
    return counts


def _study_lines(
    lines: Iterable[Study], labels: Mapping[int, Label], sexes: Mapping[int, str]
) -> Iterator[str]:
    yield "study_id\timage_id\tview\tgender\tctr\tmtr\tsubject_id\tstudydatetime\n"
    for line in lines:
        label = labels[line.study]
        widths = f"{_shown(label.heart)}\t{_shown(label.mediastinum)}"
        about = f"{line.image}\t{line.view}\t{sexes.get(line.patient, '')}\t{widths}"
        yield f"{line.study}\t{about}\t{line.patient}\t{line.time}\n"


def _shown(width: float | None) -> str:
    return "" if width is None else f"{width:.4f}"
