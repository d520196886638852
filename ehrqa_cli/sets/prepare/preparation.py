"""A preparation from end to end: import, images and labels, cohort, two databases, the card.

Every file appears whole or not at all, and depends on the settings alone; so a preparation that was
broken off goes on behind the last whole file and ends in the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ehrqa_cli import __version__
from ehrqa_cli.contracts.errors import BuildError, DatabaseError, UsageError
from ehrqa_cli.contracts.images import Relation
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.ehr.backend.now import now_in
from ehrqa_cli.ehr.mimic.files import find
from ehrqa_cli.ehr.mimic.importer import import_mimic
from ehrqa_cli.ehr.mimic.options import ImportOptions
from ehrqa_cli.ehr.schema import TABLES, TIME_TYPE
from ehrqa_cli.sets.making import card as cards
from ehrqa_cli.sets.making.files import Plain, replace_text, writing
from ehrqa_cli.sets.making.journal import WORK, Journal
from ehrqa_cli.sets.prepare import imagenome
from ehrqa_cli.sets.prepare.cohort import Drawn, choose, read_patients, split_names
from ehrqa_cli.sets.prepare.copy import Copied, TableCount, kept_studies, write_database
from ehrqa_cli.sets.prepare.images import Study, one_each, only, read_metadata, read_table
from ehrqa_cli.sets.prepare.labels import (
    Checked,
    Label,
    from_folder,
    read_checked,
    read_relations,
    write_labels,
)
from ehrqa_cli.sets.prepare.options import GOLD, Options
from ehrqa_cli.sets.prepare.source import EhrSource
from ehrqa_cli.sets.prepare.units import Units, read_units
from ehrqa_cli.vqa import OracleGraphs

DATABASE, LABELS, SPLITS, UNITS = "ehr.sqlite", "labels", "splits.tsv", "units.tsv"
Report = Callable[[str, int, int], None]
Opener = Callable[[Path], Database]


def _silent(_what: str, _done: int, _of: int) -> None:
    return None


@dataclass(frozen=True)
class Order:
    """What to prepare: an EHR that is open (``database``) or MIMIC-IV's files (``mimic``, imported
    with all of EHRSQL's conventions but its time shift where ``ehrsql``); images from
    ``metadata`` or the EHR's own tb_cxr; labels from ``imagenome`` or ``scene_graphs``;
    ``checked`` says which of them people checked, ``relations`` which can be."""

    out: Path
    options: Options
    opener: Opener
    database: Database | None = None
    mimic: Path | None = None
    ehrsql: bool = False
    metadata: Path | None = None
    imagenome: Path | None = None
    scene_graphs: Path | None = None
    checked: Path | None = None
    relations: Path | None = None

    def settings(self) -> Plain:
        """What the result depends on. Raises UsageError for options that do not go together."""
        if (self.database is None) == (self.mimic is None):
            raise UsageError("name one source", "give either --db or --mimic")
        if self.imagenome and self.scene_graphs:
            raise UsageError("labels from two places", "give --imagenome or --scene-graphs")
        if self.imagenome and not self.metadata:
            raise UsageError("--imagenome needs --metadata", "name MIMIC-CXR's metadata file")
        if self.checked and not (self.imagenome or self.scene_graphs):
            raise UsageError("--gold needs labels", "give --imagenome or --scene-graphs as well")
        graphs = OracleGraphs.open(self.scene_graphs) if self.scene_graphs else None
        names = imagenome.Graphs(self.imagenome).names() if self.imagenome else None
        return {
            "set": "prepare",
            **self.options.plain(),
            "source": self.database.fingerprint() if self.database else _files(self.mimic),
            "ehrsql": self.ehrsql,
            "metadata": _digest(self.metadata),
            "imagenome": None if names is None else _hash(names),
            "scene_graphs": dict(graphs.provenance()) if graphs else None,
            "gold_labels": _digest(self.checked),
            "relations": _digest(self.relations),
            "ehrqa": __version__,
        }


def prepare(order: Order, report: Report = _silent) -> Plain:
    """Prepare, or go on preparing. Returns the card. Raises UsageError for options or a folder
    that do not fit, BuildError, ImportFailed, DatabaseError."""
    journal = Journal(order.out, order.settings())
    if journal.complete:
        return cards.kept(journal)
    journal.claim()
    with writing(order.out):
        order.out.chmod(0o700)  # patients' records, and whose they are
        with journal.alone():
            work = _Work(order, journal.out / WORK, report)
            try:
                card = {"settings": journal.settings, **work.run()}
            finally:
                work.close()
        return cards.finish(journal, card, cards.readme("prepare", card))


class _Work:
    """One preparation under way; ``folder`` holds what is only needed to go on."""

    def __init__(self, order: Order, folder: Path, report: Report) -> None:
        self.order, self.folder, self.report = order, folder, report
        self.options = order.options
        self.imported: Plain | None = None
        self.database = order.database or self._import()
        self.source = EhrSource(self.database)
        self.steps: Counter[str] = Counter()

    def close(self) -> None:
        """Close what was opened here."""
        if self.order.database is None:
            self.database.close()

    def run(self) -> Plain:
        """Everything; returns what the card says of it."""
        images = self._images()
        labels, relations = self._labels(images)
        if labels is not None:
            found = sum(map(len, images.values()))
            images = only(images, set(labels))
            self.steps["without labels"] = found - sum(map(len, images.values()))
            checked = self._checked(images)
            labels = {
                s: replace(label, present=checked.present.get(s, label.present))
                for s, label in labels.items()
            }
        else:
            checked = Checked(frozenset(), {})
        if not images and self.options.studies:
            options = replace(self.options, studies=0)
        else:
            options = self.options
        patients = read_patients(self.source, images)
        before = now_in(self.database)
        drawn = choose(patients, checked.studies, options, before)
        units = read_units(self.source)
        copied = {name: self._database(d, units, bool(images)) for name, d in drawn.items()}
        shown = {}
        if labels is not None:
            shown = {n: self._write_labels(d, labels, relations) for n, d in drawn.items()}
        self._lists(drawn, units)
        return {
            "source_now": before,
            "now": self.options.now,
            "import": self.imported,
            "images": dict(self.steps),
            "gold_studies": len(checked.studies),
            "databases": {n: self._about(d, copied[n], shown.get(n)) for n, d in drawn.items()},
            "patients_by_split": dict(split_names(drawn)),
            "items_in_several_units": {t: len(found) for t, found in units.counts.items()},
        }

    def _import(self) -> Database:
        assert self.order.mimic is not None
        path, told = self.folder / "source.sqlite", self.folder / "import.json"
        if not (path.is_file() and told.is_file()):
            chosen = ImportOptions(lower_case=self.options.lower_case, force=True)
            if self.order.ehrsql:
                chosen = replace(chosen.as_ehrsql(), time_shift="none")
            path.parent.mkdir(parents=True, exist_ok=True)
            made = import_mimic(self.order.mimic, path, chosen, self.report)
            replace_text(told, json.dumps({t.table: asdict(t) for t in made.tables}))
        self.imported = json.loads(told.read_text(encoding="utf-8"))
        return self.order.opener(path)

    def _images(self) -> dict[int, list[Study]]:
        if self.order.metadata is not None:
            images = read_metadata(self.order.metadata)
        elif self.source.has("tb_cxr"):
            images = read_table(self.source)
        elif self.order.scene_graphs is not None:
            raise BuildError(
                "the EHR has no table tb_cxr: it knows of no chest X-rays",
                "name MIMIC-CXR's metadata with --metadata, or leave --scene-graphs out",
            )
        else:
            return {}
        found = one_each(images, self.steps)
        self.steps["studies"] = sum(map(len, found.values()))
        return found

    def _labels(
        self, images: Mapping[int, Sequence[Study]]
    ) -> tuple[dict[int, Label] | None, list[Relation]]:
        """Labels of the images, None where nothing gives any; and the relations that can be."""
        order = self.order
        wanted = [s for own in images.values() for s in own]
        if order.imagenome is not None:
            read = self.folder / "graphs.sqlite"
            graphs = imagenome.Graphs(order.imagenome)
            pairs = [(s.study, s.image) for s in wanted]
            imagenome.read(graphs, pairs, read, lambda d, of: self.report("scene graphs", d, of))
            return imagenome.labels(read, self.steps), read_relations(order.relations)
        if order.scene_graphs is None:
            return None, []
        labels, listed = from_folder(order.scene_graphs, [s.study for s in wanted])
        return labels, read_relations(order.relations) if order.relations else sorted(listed)

    def _checked(self, images: Mapping[int, Sequence[Study]]) -> Checked:
        if self.order.checked is None:
            return Checked(frozenset(), {})
        studies = {s.image: s.study for own in images.values() for s in own}
        found = read_checked(self.order.checked, studies)
        if not found.studies:
            raise BuildError(
                f"{self.order.checked} names none of the studies that have labels",
                "check that --gold and the labels belong together",
            )
        return found

    def _database(self, drawn: Drawn, units: Units, images: bool) -> Copied:
        """Write one database, or take the one that an earlier run wrote."""
        path = self.order.out / drawn.name / DATABASE
        told = self.folder / f"{drawn.name}.json"
        if path.is_file() and told.is_file():
            found = json.loads(told.read_text(encoding="utf-8"))
            return Copied(tuple(TableCount(**t) for t in found["tables"]), found["earlier"])
        made_of = getattr(self.database, "meta", {}).get("source")
        copied = write_database(
            self.source,
            drawn,
            self.options,
            {table: units.kept(table) for table in units.counts},
            path,
            # MIMIC-IV has no day of birth; what another EHR says of it is kept.
            redraw_births=made_of == "mimic-iv",
            meta={"as_of": self.options.now, "source": "ehrqa build prepare", "format": "1"},
            images=images,
            report=self.report,
        )
        replace_text(told, json.dumps(asdict(copied)))
        return copied

    def _write_labels(
        self, drawn: Drawn, labels: Mapping[int, Label], relations: list[Relation]
    ) -> Plain:
        times = kept_studies(drawn, self.options.now)
        path = self.order.out / drawn.name / DATABASE
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as opened:
            found = opened.execute("SELECT subject_id, lower(substr(gender, 1, 1)) FROM patients")
            sexes = {who: {"m": "male", "f": "female"}.get(sex, "") for who, sex in found}
        moved = [replace(s, time=times[s.study][1]) for s in drawn.studies if s.study in times]
        moved.sort(key=lambda s: s.study)
        return write_labels(self.order.out / drawn.name / LABELS, moved, labels, relations, sexes)

    def _lists(self, drawn: Mapping[str, Drawn], units: Units) -> None:
        lines = ["subject_id\tdatabase\tsplit"]
        for name, one in drawn.items():
            lines += [f"{p.id}\t{name}\t{one.splits[p.id]}" for p in one.patients]
        replace_text(self.order.out / SPLITS, "\n".join(lines) + "\n")
        replace_text(self.order.out / UNITS, "\n".join(units.lines()) + "\n")

    def _about(self, drawn: Drawn, copied: Copied, labels: Plain | None) -> Plain:
        """What the card says of one database."""
        path = self.order.out / drawn.name / DATABASE
        return {
            "kind": "labels that people checked" if drawn.name == GOLD else "labels as they are",
            "patients": dict(drawn.steps),
            "in_hospital_now": drawn.current,
            "rows": {t.table: t.kept for t in copied.tables},
            "rows_dropped": {t.table: dict(t.dropped) for t in copied.tables if t.dropped},
            "rows_before_the_frame": copied.earlier,
            "labels": labels,
            "checks": checks(path, self.options.now),
        }


def checks(path: Path, now: str) -> dict[str, int]:
    """What a new database must be: nothing after now, every reference there, and who is in
    hospital. Raises DatabaseError."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as opened:
            later = 0
            for table in TABLES:
                for column in table.columns:
                    if column.type == TIME_TYPE:
                        sql = f"SELECT count(*) FROM {table.name} WHERE {column.name} > ?"
                        later += opened.execute(sql, (now,)).fetchone()[0]
            broken = sum(1 for _ in opened.execute("PRAGMA foreign_key_check"))
            sql = "SELECT count(DISTINCT subject_id) FROM admissions WHERE dischtime IS NULL"
            present = opened.execute(sql).fetchone()[0]
    except sqlite3.Error as error:
        raise DatabaseError(f"cannot read {path}: {error}", "prepare it again") from None
    return {"rows_after_now": later, "broken_references": broken, "in_hospital_now": present}


def _digest(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "check the name") from None


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _files(folder: Path | None) -> str:
    """A hash of MIMIC-IV's files: names, sizes, first and last mebibyte of each."""
    assert folder is not None
    digest = hashlib.sha256()
    for name, source in sorted(find(folder)[0].items()):
        size = source.path.stat().st_size
        digest.update(f"{name} {size}\0".encode())
        with source.path.open("rb") as file:
            digest.update(file.read(1 << 20))
            file.seek(max(0, size - (1 << 20)))
            digest.update(file.read(1 << 20))
    return "mimic-iv:" + digest.hexdigest()[:16]
