"""A wrong path, half a download, another schema: each is said in one line, with what is expected
where, and nothing is measured."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eval_trees import TREES

Args = list[str]


def option(args: Args, name: str) -> Path:
    return Path(args[args.index(name) + 1])


def replaced(args: Args, name: str, value: object) -> Args:
    place = args.index(name) + 1
    return [*args[:place], str(value), *args[place + 1 :]]


def halved(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def without(path: Path, *fields: str) -> None:
    """The questions of a file without these fields, as of another data set."""
    raw = json.loads(path.read_text())
    rows = raw["data"] if isinstance(raw, dict) else raw
    kept = [{k: v for k, v in row.items() if k not in fields} for row in rows]
    path.write_text(json.dumps({**raw, "data": kept} if isinstance(raw, dict) else kept))


def other_tables(args: Args) -> Args:
    """A database with none of the tables that gold asks."""
    path = option(args, "--db").with_name("other.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE cars (row_id INT, admittime TEXT)")
    connection.close()
    return replaced(args, "--db", path)


Broken = Callable[[Args], Args]


def file_of(args: Args, name: str) -> Path:
    return option(args, "--data") / name


def changed(change: Callable[[Args], object]) -> Broken:
    def make(args: Args) -> Args:
        change(args)
        return args

    return make


def no_labels(args: Args) -> None:
    file_of(args, "valid/label.json").unlink()


def fewer_labels(args: Args) -> None:
    path = file_of(args, "valid/label.json")
    path.write_text(json.dumps(dict(list(json.loads(path.read_text()).items())[:3])))


def half_labels(args: Args) -> Args:
    folder = option(args, "--scene-graphs")
    halved(folder / "scene_graph.tsv.gz")
    return [*args, "--labels", str(folder)]


OLD = "dataset/ehrsql/mimic_iii/valid.json"
XQA = "dataset/mimic_iv_cxr/test.json"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
# (benchmark, what is wrong, what is said of it, what is said to do)
CASES: list[tuple[str, str, Broken, str, str]] = [
    # A wrong path or split
    *(
        (name, "no folder", lambda a: replaced(a, "--data", "nowhere"), "does not exist", "--data")
        for name in TREES
        if name != "spider"
    ),
    (
        "spider",
        "no file",
        lambda a: replaced(a, "--gold", "nowhere"),
        "no file nowhere",
        "SQL<tab>",
    ),
    ("spider", "no tables", lambda a: replaced(a, "--tables", "no"), "no", "tables.json"),
    ("spider", "no dbs", lambda a: replaced(a, "--databases", "no"), "no", "DB/DB.sqlite"),
    (
        "ehrsql-2024",
        "no split",
        lambda a: replaced(a, "--split", "test"),
        "no EHRSQL split",
        "train, valid",
    ),
    (
        "ehrsql-2022",
        "no split",
        lambda a: replaced(a, "--split", "dev"),
        "no EHRSQL split",
        "dev.json",
    ),
    (
        "abstention",
        "no split",
        lambda a: [*a, "--valid", "test"],
        "no EHRSQL split",
        "train, valid",
    ),
    ("ehrxqa", "no split", lambda a: replaced(a, "--split", "dev"), "no EHRXQA", "dev.json"),
    (
        "mimic-cxr-vqa",
        "no split",
        lambda a: replaced(a, "--split", "dev"),
        "no MIMIC-CXR-VQA",
        "dev.json",
    ),
    # Half a download
    (
        "ehrsql-2024",
        "half",
        changed(lambda a: halved(file_of(a, "valid/data.json"))),
        "not JSON",
        "fetch it again",
    ),
    (
        "ehrsql-2024",
        "half labels",
        changed(lambda a: halved(file_of(a, "valid/label.json"))),
        "not JSON",
        "fetch it again",
    ),
    (
        "ehrsql-2024",
        "no labels",
        changed(no_labels),
        "no labels (label.json)",
        "measure on a split",
    ),
    (
        "ehrsql-2024",
        "some labels",
        changed(fewer_labels),
        "no label of question validd",
        "fetch both",
    ),
    (
        "ehrsql-2022",
        "half",
        changed(lambda a: halved(file_of(a, OLD))),
        "not JSON",
        "fetch it again",
    ),
    (
        "abstention",
        "half",
        changed(lambda a: halved(file_of(a, "valid/data.json"))),
        "not JSON",
        "fetch it again",
    ),
    ("ehrxqa", "half", changed(lambda a: halved(file_of(a, XQA))), "not JSON", "fetch it again"),
    (
        "mimic-cxr-vqa",
        "half",
        changed(lambda a: halved(file_of(a, "test.json"))),
        "not JSON",
        "fetch it again",
    ),
    (
        "mimic-cxr-vqa",
        "half labels",
        half_labels,
        "scene_graph.tsv.gz: Compressed file ended",
        "the folder needs scene_graph.tsv",
    ),
    (
        "ehrxqa",
        "half labels",
        half_labels,
        "scene_graph.tsv.gz: Compressed file ended",
        "the folder needs scene_graph.tsv",
    ),
    (
        "ehrnoteqa",
        "half",
        changed(lambda a: halved(file_of(a, "EHRNoteQA.jsonl"))),
        "not JSON",
        "fetch it again",
    ),
    (
        "ehrnoteqa",
        "half notes",
        changed(lambda a: halved(option(a, "--notes"))),
        "discharge.csv.gz",
        "again",
    ),
    (
        "ehrnoteqa",
        "no notes",
        lambda a: replaced(a, "--notes", "nothing.csv"),
        "nothing.csv",
        "--notes",
    ),
    (
        "emrqa",
        "half",
        changed(lambda a: halved(file_of(a, "data.json"))),
        "not JSON",
        "fetch it again",
    ),
    (
        "spider",
        "half",
        changed(lambda a: halved(option(a, "--tables"))),
        "not JSON",
        "fetch it again",
    ),
    (
        "ehrsql-2024",
        "a pointer",
        changed(lambda a: file_of(a, "valid/data.json").write_text(POINTER)),
        "Git LFS pointer",
        "git lfs pull",
    ),
    (
        "ehrxqa",
        "a web page",
        changed(lambda a: file_of(a, XQA).write_text("<html>")),
        "web page",
        "log in",
    ),
    (
        "emrqa",
        "empty",
        changed(lambda a: file_of(a, "data.json").write_text("")),
        "is empty",
        "fetch it again",
    ),
    # Of another shape
    (
        "ehrsql-2024",
        "fields",
        changed(lambda a: without(file_of(a, "valid/data.json"), "question")),
        "has no question",
        "--data",
    ),
    (
        "ehrsql-2022",
        "fields",
        changed(lambda a: without(file_of(a, OLD), "query")),
        "has no query",
        "is_impossible",
    ),
    (
        "ehrxqa",
        "fields",
        changed(lambda a: without(file_of(a, XQA), "query")),
        "has no query",
        "--data",
    ),
    (
        "mimic-cxr-vqa",
        "fields",
        changed(lambda a: without(file_of(a, "test.json"), "content_type")),
        "content_type",
        "--data",
    ),
    (
        "mimic-cxr-vqa",
        "no study",
        changed(lambda a: without(file_of(a, "test.json"), "study_id", "image_path", "image_id")),
        "names no study",
        "image_id",
    ),
    (
        "emrqa",
        "fields",
        changed(lambda a: without(file_of(a, "data.json"), "paragraphs")),
        "no paragraphs",
        "--data",
    ),
    # A database of another schema, or none
    *(
        (name, "tables", other_tables, said, "--db" if name != "ehrxqa" else "ehrqa db")
        for name, said in (
            ("ehrsql-2024", "no table patients"),
            ("ehrsql-2022", "no table prescriptions"),
            ("ehrxqa", "is not an EHR"),
        )
    ),
    *(
        (name, "no db", lambda a: replaced(a, "--db", "none.sqlite"), "none.sqlite", "")
        for name in ("ehrsql-2024", "ehrsql-2022", "abstention", "ehrxqa", "mimic-cxr-vqa")
    ),
]


@pytest.mark.parametrize(
    ("name", "what", "broken", "said", "hint"), CASES, ids=[f"{c[0]}: {c[1]}" for c in CASES]
)
def test_what_is_wrong_is_said(
    cli: Any, tmp_path: Path, name: str, what: str, broken: Broken, said: str, hint: str
) -> None:
    args = broken(TREES[name](tmp_path / "data"))
    out = tmp_path / "out"
    ran = cli("eval", *args, "--system", "gold", "--out", out)
    assert ran.code in (1, 2) and ran.out == "", what
    lines = ran.err.splitlines()
    assert len(lines) == 2 and lines[0].startswith("error: ") and "unexpected" not in ran.err, (
        ran.err
    )
    assert said in lines[0] and hint in lines[1], ran.err
    assert not (out / "report.json").exists()


def test_several_databases_of_one_repository(cli: Any, tmp_path: Path) -> None:
    args = TREES["ehrsql-2022"](tmp_path / "data")
    top = tmp_path / "data" / "dataset" / "ehrsql"
    (top / "eicu").mkdir()
    (top / "eicu" / "valid.json").write_bytes((top / "mimic_iii" / "valid.json").read_bytes())
    ran = cli("eval", *args, "--system", "gold")
    assert ran.code == 1 and f"{top / 'mimic_iii'} or {top / 'eicu'}" in ran.err
    ran = cli("eval", *replaced(args, "--data", top / "mimic_iii"), "--system", "gold")
    assert ran.code == 0, ran.err


def test_a_time_that_the_database_does_not_tell(cli: Any, tmp_path: Path) -> None:
    args = TREES["ehrsql-2022"](tmp_path / "data")
    place = args.index("--as-of")
    path = option(args, "--db")
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM admissions")
    connection.close()
    ran = cli("eval", *args[:place], *args[place + 2 :], "--system", "gold")
    assert ran.code in (1, 2) and "--as-of" in ran.err


def test_few_shot_says_what_it_needs(cli: Any, tmp_path: Path) -> None:
    args = TREES["ehrsql-2024"](tmp_path / "data")
    ran = cli("eval", *args, "--system", "fewshot-bm25")
    assert ran.code == 2 and "--model FILE.gguf" in ran.err
    ran = cli("eval", *args, "--system", "fewshot-bm25", "--model", tmp_path / "no.gguf")
    assert ran.code in (1, 2) and "no.gguf" in ran.err
    text = tmp_path / "text.gguf"
    text.write_text("no model")
    ran = cli("eval", *args, "--system", "fewshot-fixed", "--model", text)
    assert ran.code in (1, 2) and "is not a GGUF file" in ran.err
    flags = ("--system", "nearest", "--examples", tmp_path / "none.json")
    ran = cli("eval", *args, *flags)
    assert ran.code == 1 and "none.json" in ran.err
    args = TREES["ehrxqa"](tmp_path / "xqa")
    (option(args, "--data") / "dataset" / "mimic_iv_cxr" / "train.json").unlink()
    ran = cli("eval", *args, "--system", "nearest")
    assert ran.code == 1 and "no train.json" in ran.err and "--examples" in ran.err


def test_a_pulled_model_by_its_name(cli: Any, tmp_path: Path) -> None:
    args = TREES["ehrsql-2024"](tmp_path / "data")
    ran = cli("eval", *args, "--system", "fewshot-bm25", "--model", "qwen2.5-coder-1.5b")
    assert ran.code in (1, 2) and "ehrqa models pull qwen2.5-coder-1.5b" in ran.err
