"""The demo EHR with chest X-rays of its patients, and made-up labels of them."""

from __future__ import annotations

import gzip
import random
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.ehr import schema
from ehrqa_cli.ehr.backend.now import now_in
from ehrqa_cli.ehr.cxr_vocabulary import CATEGORY_OF
from ehrqa_cli.ehr.open import open_database
from ehrqa_cli.sets.own.questions import Sources
from ehrqa_cli.sets.own.sheet import Labels
from ehrqa_cli.sets.own.working import Working
from ehrqa_cli.sets.pairs.vocabulary import read_vocabulary
from ehrqa_cli.vqa import OracleGraphs, Vqa
from ehrqa_cli.vqa.ontology import POSSIBLE


@dataclass(frozen=True)
class Pictured:
    """An EHR with images: its file, the folder of labels, and both opened."""

    db: Path
    labels: Path
    database: Database
    vqa: Vqa
    sources: Sources


@pytest.fixture(scope="session")
def pictured(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pictured]:
    folder = tmp_path_factory.mktemp("pictured")
    db, labels = folder / "ehr.sqlite", folder / "labels"
    shutil.copy(demo, db)
    studies = add_studies(db)
    write_labels(labels, studies)
    database = open_database(db)
    working = Working(db, now_in(database))
    vqa = Vqa(OracleGraphs.open(labels))
    found = Labels(vqa, working)
    found.into(working)
    yield Pictured(db, labels, database, vqa, Sources(read_vocabulary(db), working, found))
    working.close()
    database.close()


def add_studies(db: Path) -> list[int]:
    """Two studies in each admission, one before it."""
    rng = random.Random(4)
    with sqlite3.connect(db) as connection:
        found = connection.execute(
            "SELECT subject_id, hadm_id, admittime FROM admissions ORDER BY hadm_id"
        ).fetchall()
        connection.execute("DROP TABLE IF EXISTS tb_cxr")
        for table in schema.OPTIONAL_TABLES:
            if table.name == "tb_cxr":
                connection.execute(table.ddl())
        rows = []
        for subject, stay, start in found:
            for shift, own in (("-40 days", None), ("+9 hours", stay), ("+2 days", stay)):
                moved = "SELECT datetime(?, ?)"
                time = connection.execute(moved, (start, shift)).fetchone()[0]
                study = 50_000_000 + len(rows)
                view = rng.choice(("ap", "pa"))
                rows.append((len(rows), subject, own, study, f"i{study}", time, view))
        connection.executemany("INSERT INTO tb_cxr VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    return [row[3] for row in rows]


def write_labels(folder: Path, studies: list[int]) -> None:
    """Some twenty relations in most studies, none in the others; not yet carried to parents."""
    rng = random.Random(5)
    folder.mkdir()
    relations = sorted(POSSIBLE)
    lines = ["study_id\tobject\tattribute\tcategory\tpresent"]
    about = ["study_id\timage_id\tview\tgender\tctr\tmtr"]
    for study in studies:
        share = 0.0 if rng.random() < 0.15 else rng.choice((0.02, 0.06))
        lines += [
            f"{study}\t{place}\t{name}\t{CATEGORY_OF[name]}\t{int(rng.random() < share)}"
            for place, name in relations
        ]
        widths = f"{rng.uniform(0.4, 0.6):.4f}\t{rng.uniform(0.25, 0.42):.4f}"
        view, sex = rng.choice(("AP", "PA")), rng.choice(("male", "female"))
        about.append(f"{study}\ti{study}\t{view}\t{sex}\t{widths}")
    with gzip.open(folder / "scene_graph.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    (folder / "studies.tsv").write_text("\n".join(about) + "\n", encoding="utf-8")
