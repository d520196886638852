"""Questions about images as joins: scene graphs as Parquet beside the other tables, in Spark and in
DuckDB over the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.demo.folder import Size, build_folder
from ehrqa_cli.ehr.open import open_database
from ehrqa_cli.vqa.tables import reader_of
from ehrqa_cli.vqa.tables.demo_films import dictionaries, films

pytestmark = [pytest.mark.backend, pytest.mark.usefixtures("spark")]
LONG = Limits(seconds=300.0, rows=100_000)
FORMS = (
    "SELECT COUNT(*) FROM tb_cxr WHERE FUNC_VQA('Is there pneumonia?', study_id) = 1",
    "SELECT DISTINCT p.gender FROM tb_cxr AS t JOIN patients AS p ON p.subject_id = t.subject_id "
    "WHERE FUNC_VQA('Is there pulmonary edema?', t.study_id) = 1",
    "SELECT FUNC_VQA('List all abnormalities.', x.study_id) FROM ( SELECT study_id FROM tb_cxr "
    "ORDER BY studydatetime, study_id LIMIT 1 ) AS x",
    "SELECT COUNT(*) FROM admissions AS a WHERE a.hadm_id IN ( SELECT hadm_id FROM tb_cxr WHERE "
    "FUNC_VQA('Are there any abnormalities in the left lung?', study_id) = 1 AND "
    "strftime('%Y', studydatetime) >= '2000' )",
    "SELECT COUNT(*) FROM tb_cxr AS now JOIN tb_cxr AS old ON old.subject_id = now.subject_id AND "
    "old.studydatetime = ( SELECT MAX(earlier.studydatetime) FROM tb_cxr AS earlier WHERE "
    "earlier.subject_id = now.subject_id AND earlier.studydatetime < now.studydatetime ) WHERE "
    "FUNC_VQA('Is there lung opacity?', now.study_id) = 1",
    "SELECT study_id FROM tb_cxr WHERE FUNC_VQA('Is there a PICC?', study_id) = 1 EXCEPT "
    "SELECT study_id FROM tb_cxr WHERE FUNC_VQA('Is there atelectasis?', study_id) = 1",
)


def test_questions_about_images_are_joins(tmp_path: Path) -> None:
    folder = tmp_path / "ehr"
    build_folder(folder, Size(60, images=True), more=films, whole=dictionaries(7))
    there, here = open_database(f"spark:{folder}"), open_database(folder)
    try:
        for sql in FORMS:
            found, wanted = asked(sql, there), asked(sql, here)
            assert found == wanted, sql
            assert found[0], sql
    finally:
        there.close()
        here.close()


def asked(sql: str, database: Database) -> tuple[object, ...]:
    """The rows, what could not be decided, and what the images show."""
    graphs = reader_of(database)
    assert graphs is not None
    try:
        done = neuralsql.execute(
            sql, database, as_of="2100-12-31 23:59:00", limits=LONG, graphs=graphs
        )
    except EhrqaError as error:
        pytest.fail(f"{error}: {sql}")
    shown = neuralsql.image_evidence(done, graphs)
    keys = ("study_id", "finding", "location", "probability")
    seen = sorted(str([one[key] for key in keys]) for one in shown)
    return (
        sorted(done.result.rows, key=str),
        sorted(map(str, done.missing)),
        sorted(map(str, done.undecided)),
        seen,
    )
