"""``ehrqa images tables``, questions that it makes into joins, and the demo as Parquet."""

from __future__ import annotations

import json
import shutil
import sqlite3

import pytest

from ehrqa_cli.contracts.types import Query

from .test_images import imaged, labels  # noqa: F401

QUERY = (
    "SELECT count(*) FROM tb_cxr WHERE FUNC_VQA('Is there scoliosis in the spine?', study_id) = 1"
)


def test_into_the_ehr_and_asked(cli, imaged, labels):  # noqa: F811
    ran = cli("images", "tables", "--db", imaged, "--scene-graphs", labels)
    assert ran.code == 0
    assert ran.out == f"{imaged}: 2 studies, 1 relations\n"
    assert "no image or label of these studies: 503" in ran.err
    shutil.rmtree(labels)  # from now on nothing but the database
    ran = cli("neuralsql", QUERY, "--db", imaged, "--explain")
    assert ran.out == "count(*)\n1\n"
    assert "joined with: SELECT" in ran.err and "FROM cxr_relations" in ran.err
    assert "1 studies have no image: 503" in ran.err
    ran = cli("vqa", "Where is scoliosis?", "--study", 501, "--db", imaged, "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["value"]) == (0, "spine")
    assert found["provenance"]["models"]["vqa"]["from"] == "tables"
    ran = cli("vqa", "Is there pneumonia?", "--study", 501, "--db", imaged)
    assert ran.code == 3 and "was not trained to see pneumonia" in ran.out


def test_ask_answers_from_the_tables(cli, imaged, labels, rote, monkeypatch):  # noqa: F811
    cli("images", "tables", "--db", imaged, "--scene-graphs", labels)
    monkeypatch.setattr(
        rote,
        "generate",
        lambda self, question, on_token=None: [Query(QUERY)],
    )
    ran = cli("ask", "how many films show scoliosis?", "--db", imaged, "--json", "--no-log")
    found = json.loads(ran.out)
    assert (ran.code, found["value"], found["scope"]) == (0, 1, "image+table")
    assert found["evidence"][0] == {
        "kind": "image",
        "study_id": 501,
        "finding": "scoliosis",
        "location": "spine",
        "probability": 1.0,
    }
    assert "cxr_relations" in found["executed_sql"]
    assert found["provenance"]["models"]["images"]["scene_graphs"].startswith("labels:")
    # A source that is named wins.
    ran = cli(
        *("ask", "how many films show scoliosis?", "--db", imaged, "--json", "--no-log"),
        *("--scene-graphs", labels),
    )
    found = json.loads(ran.out)
    assert found["value"] == 1 and "cxr_relations" not in found["executed_sql"]


def test_files_beside_the_others(cli, imaged, labels, tmp_path):  # noqa: F811
    out = tmp_path / "tables"
    ran = cli(
        *("images", "tables", "--db", imaged, "--scene-graphs", labels, "--out", out),
        *("--format", "csv", "--json"),
    )
    found = json.loads(ran.out)
    assert (found["studies"], found["relations"], found["missing"]) == (2, 1, [503])
    assert sorted(p.name for p in out.iterdir()) == sorted(
        p.rsplit("/", 1)[1] for p in found["files"]
    )
    with sqlite3.connect(imaged) as connection:
        assert connection.execute("SELECT count(*) FROM cxr_source").fetchone() == (0,)
    connection.close()


def test_what_cannot_be_written(cli, imaged, labels, tmp_path):  # noqa: F811
    ran = cli("images", "tables", "--db", imaged)
    assert ran.code == 2 and "--scene-graphs DIR" in ran.err
    folder = tmp_path / "parquet"
    folder.mkdir()
    (folder / "patients.csv").write_text("row_id\n1\n")
    ran = cli("images", "tables", "--db", folder, "--scene-graphs", labels)
    assert ran.code == 2 and "--out DIR" in ran.err
    with sqlite3.connect(imaged) as connection:
        connection.execute("DELETE FROM tb_cxr")
    connection.close()
    ran = cli("images", "tables", "--db", imaged, "--scene-graphs", labels)
    assert ran.code == 2 and "no chest X-rays" in ran.err


def test_demo_as_parquet(cli, tmp_path):
    pytest.importorskip("ehrqa_duckdb")
    out = tmp_path / "demo"
    flags = ("db", "demo", "--out", out, "--patients", 30, "--format", "parquet", "--images")
    assert cli(*flags).code == 0
    ran = cli("neuralsql", QUERY.replace("scoliosis in the spine", "atelectasis"), "--db", out)
    assert ran.code == 0 and int(ran.out.split()[1]) > 0
    assert cli(*flags).code == 1  # it is complete
    ran = cli("db", "demo", "--out", tmp_path / "x.sqlite", "--images")
    assert ran.code == 2 and "--format parquet" in ran.err
    ran = cli("db", "demo", "--out", tmp_path / "x.sqlite", "--patients", 200_000)
    assert ran.code == 2 and "too many for sqlite" in ran.err
