"""An EHR with chest X-rays and labels of them, for the builders' tests."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ehrqa_cli.ehr import schema
from ehrqa_cli.ehr.cxr_vocabulary import CATEGORY_OF
from ehrqa_cli.ehr.demo.make import build_demo
from ehrqa_cli.vqa.ontology import POSSIBLE


def make_demo(path: Path) -> Path:
    """The demo EHR, with a chest X-ray on the second day of each stay."""
    build_demo(path, seed=3, patients=40)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE IF EXISTS tb_cxr")
        for table in schema.OPTIONAL_TABLES:
            if table.name == "tb_cxr":
                connection.execute(table.ddl())
        connection.execute(
            "INSERT INTO tb_cxr SELECT row_id, subject_id, hadm_id, 500000 + row_id, 'i' || row_id,"
            " datetime(admittime, '+1 day'), 'pa' FROM admissions"
        )
    connection.close()
    return path


def make_labels(folder: Path, demo: Path) -> Path:
    """Labels of its X-rays, in ``folder``."""
    with sqlite3.connect(demo) as connection:
        studies = [row[0] for row in connection.execute("SELECT study_id FROM tb_cxr ORDER BY 1")]
    connection.close()
    lines = ["study_id\tobject\tattribute\tcategory\tpresent"]
    about = ["study_id\timage_id\tview\tgender\tctr\tmtr"]
    for study in studies:
        for at, (place, name) in enumerate(sorted(POSSIBLE)):
            here = int((study * 31 + at * 7) % 17 == 0)
            lines.append(f"{study}\t{place}\t{name}\t{CATEGORY_OF[name]}\t{here}")
        about.append(
            f"{study}\ti{study}\t{'AP' if study % 2 else 'PA'}\t"
            f"{'male' if study % 3 else 'female'}\t0.{45 + study % 10}\t0.{28 + study % 10}"
        )
    (folder / "scene_graph.tsv").write_text("\n".join(lines) + "\n")
    (folder / "studies.tsv").write_text("\n".join(about) + "\n")
    return folder
