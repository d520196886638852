"""What needs no Spark: where tables lie, settings, values, what errors say, the list of what is
allowed, and a machine without Java."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from ehrqa_spark import SparkDatabase, engine, files, guard, settings, told, values

from ehrqa_cli.contracts.errors import DatabaseError, Refused, UsageError

CATALYST = "org.apache.spark.sql.catalyst."


def tables(*paths: str) -> dict[str, str]:
    return files.tables_in([files.File(path, 1, 1) for path in paths], "ehr")


@pytest.mark.parametrize(
    ("path", "table", "at"),
    [
        ("patients.parquet", "patients", "patients.parquet"),
        ("PATIENTS.parquet", "patients", "PATIENTS.parquet"),
        ("patients.parquet/part-0.snappy.parquet", "patients", "patients.parquet"),
        ("labevents/part-00000-ab.parquet", "labevents", "labevents"),
        ("labevents/data_3.parquet", "labevents", "labevents"),
        ("labevents/year=2100/month=1/part-0.parquet", "labevents", "labevents"),
        ("hosp/admissions.parquet", "admissions", "hosp/admissions.parquet"),
        ("icu/chartevents/0001.parquet", "chartevents", "icu/chartevents"),
    ],
)
def test_where_a_table_lies(path: str, table: str, at: str) -> None:
    assert tables(path) == {table: at}


def test_what_is_no_table() -> None:
    found = tables("a.parquet", "x/y/z/b.parquet", "_tmp/c.parquet", ".d.parquet", "e e.parquet")
    assert found == {"a": "a.parquet"}
    with pytest.raises(DatabaseError, match="two tables are called a"):
        tables("a.parquet", "hosp/a.parquet")
    with pytest.raises(DatabaseError, match="no Parquet"):
        tables("part-0.parquet/x/y.parquet")


def test_a_folder_is_listed_and_marked(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "part-0.parquet").write_bytes(b"123")
    (tmp_path / "a.parquet").write_bytes(b"1")
    (tmp_path / "a.csv").write_bytes(b"1")
    found = files.in_folder(tmp_path)
    assert [(f.path, f.size) for f in found] == [("a.parquet", 1), ("b/part-0.parquet", 3)]
    mark = files.fingerprint(found)
    assert files.fingerprint(reversed(files.in_folder(tmp_path))) == mark
    (tmp_path / "a.parquet").write_bytes(b"12")
    assert files.fingerprint(files.in_folder(tmp_path)) != mark


@pytest.mark.parametrize(
    ("given", "said"), [("2GB", "2g"), ("512 MiB", "512m"), ("1t", "1t"), ("8G", "8g")]
)
def test_sizes(given: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.MEMORY, given)
    assert settings.memory() == said


def test_settings_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.MEMORY, "much; rm -rf")
    with pytest.raises(UsageError, match="EHRQA_SPARK_MEMORY"):
        settings.memory()
    monkeypatch.setenv(settings.THREADS, "-1")
    with pytest.raises(UsageError, match="EHRQA_SPARK_THREADS"):
        settings.master()


def test_where_spark_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert settings.master() == "local[2]"
    here = settings.fixed(settings.master(), tmp_path)
    assert here["spark.driver.bindAddress"] == here["spark.driver.host"] == "127.0.0.1"
    assert here["spark.sql.shuffle.partitions"] == "4"
    monkeypatch.setenv(settings.MASTER, "spark://host:7077")
    there = settings.fixed(settings.master(), tmp_path)
    assert "spark.driver.host" not in there and "spark.local.dir" not in there
    for shut in ("spark.sql.runSQLOnFiles", "spark.sql.variable.substitute", "spark.ui.enabled"):
        assert here[shut] == there[shut] == "false"


def test_rows_come_back_as_they_went() -> None:
    types = ["long", "double", "string", "timestamp", "boolean", "decimal(9,2)", "double", "void"]
    sent = ["3", "0.1", 'a "b"\n', "2100-01-02 03:04:05", "1", "1.5", "NaN", None]
    found = values.read(json.dumps(sent), types)
    assert found == (3, 0.1, 'a "b"\n', "2100-01-02 03:04:05", 1, 1.5, None, None)
    assert values.read("null", types) is None
    assert "DATE_FORMAT(c1, 'yyyy-MM-dd HH:mm:ss')" in values.written(["long", "timestamp"])


SPARKS = """An error occurred while calling o58.analyzed.
: org.apache.spark.sql.AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] The table `x` cannot be found. \
Verify the spelling and correctness of the schema. SQLSTATE: 42P01; line 1 pos 14;
'Project [*]
	at org.apache.spark.sql.catalyst.analysis.failAnalysis(package.scala:52)
"""
LOST = """An error occurred while calling o5.collectAsList.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 \
times, most recent failure: Lost task 0.0 in stage 1.0 (TID 1) (h executor driver): \
java.lang.ArithmeticException: long overflow
	at java.base/java.lang.Math
"""


def test_errors_are_told_in_a_line() -> None:
    assert told.told(Exception(SPARKS)) == "[TABLE_OR_VIEW_NOT_FOUND] The table `x` cannot be found"
    assert told.kind(Exception(SPARKS)) == "org.apache.spark.sql.AnalysisException"
    assert told.told(Exception(LOST)) == "long overflow"
    assert told.told(Exception("")) == "Exception"
    assert told.kind(Exception("no Java in it")) == ""


def plan(*nodes: dict[str, object]) -> str:
    return json.dumps([{**node, "class": CATALYST + str(node["class"])} for node in nodes])


PROJECT = {"class": "plans.logical.Project"}


def test_a_plan_of_known_parts_passes() -> None:
    table = {"class": "analysis.UnresolvedRelation", "multipartIdentifier": "[Patients]"}
    count = {"class": "analysis.UnresolvedFunction", "nameParts": "[count]"}
    guard.check_parsed(plan(PROJECT, table, count), ["patients"])
    cte = {"class": "plans.logical.UnresolvedWith", "cteRelations": [{"_1": "a", "_2": []}]}
    named = {"class": "analysis.UnresolvedRelation", "multipartIdentifier": "[a]"}
    guard.check_parsed(plan(cte, named), ["patients"])
    guard.check_analyzed(plan(PROJECT))


@pytest.mark.parametrize(
    "node",
    [
        {"class": "plans.logical.ScriptTransformation"},
        {"class": "plans.logical.DropTable"},
        {"class": "plans.logical.CompoundBody"},
        {"class": "plans.logical.SomethingOfNextYear"},
        {"class": "analysis.UnresolvedExecuteImmediate"},
        {"class": "analysis.UnresolvedTableValuedFunction"},
        {"class": "expressions.CallMethodViaReflection"},
        {"class": "expressions.CurrentTimestamp"},
        {"class": "analysis.UnresolvedFunction", "nameParts": "[java_method]"},
        {"class": "analysis.UnresolvedFunction", "nameParts": "[system, builtin, reflect]"},
        {"class": "analysis.UnresolvedRelation", "multipartIdentifier": "[parquet, /etc/passwd]"},
        {"class": "analysis.UnresolvedRelation", "multipartIdentifier": "[other]"},
        {"class": "analysis.UnresolvedRelation", "multipartIdentifier": "[patients]",
         "options": {"a": "b"}},
    ],
)  # fmt: skip
def test_a_part_that_is_not_known_is_refused(node: dict[str, object]) -> None:
    deep = {"class": "plans.logical.Filter", "condition": [[{"x": [json.loads(plan(node))]}]]}
    with pytest.raises(Refused) as raised:
        guard.check_parsed(plan(PROJECT, deep), ["patients"])
    assert raised.value.hint


def test_what_is_no_text() -> None:
    for sql in ("SELECT 'a\x00'", "SELECT '\ud800'"):
        with pytest.raises(Refused):
            guard.check_text(sql)


def parquet_like(folder: Path) -> Path:
    (folder / "patients.parquet").write_bytes(b"PAR1")
    return folder


def launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pyspark whose launcher must not be reached."""
    made = ModuleType("pyspark.java_gateway")
    monkeypatch.setitem(sys.modules, "pyspark", ModuleType("pyspark"))
    monkeypatch.setitem(sys.modules, "pyspark.java_gateway", made)
    monkeypatch.setitem(sys.modules, "py4j", ModuleType("py4j"))
    monkeypatch.setitem(sys.modules, "py4j.java_gateway", ModuleType("py4j.java_gateway"))


def test_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.stop()
    launcher(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(DatabaseError, match="needs Java, and there is none on this") as raised:
        SparkDatabase.open(f"spark:{parquet_like(tmp_path)}")
    assert "openjdk-17" in raised.value.hint
    assert "\n" not in str(raised.value)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(DatabaseError, match=r"in JAVA_HOME \(/nowhere\)"):
        SparkDatabase.open(f"spark:{tmp_path}")


def test_without_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.stop()
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.java_gateway", None)
    with pytest.raises(DatabaseError, match="pyspark cannot be loaded") as raised:
        SparkDatabase.open(f"spark:{parquet_like(tmp_path)}")
    assert raised.value.hint


def test_a_folder_that_is_none_needs_no_spark(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="there is no folder"):
        SparkDatabase.open(f"spark:{tmp_path / 'missing'}")
    with pytest.raises(DatabaseError, match="no Parquet files"):
        SparkDatabase.open(f"spark:{tmp_path}")


def test_a_key_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(DatabaseError) as raised:
        SparkDatabase.open("spark:s3a://AKIA:hush@bucket/ehr")
    assert "hush" not in str(raised.value) and "AKIA" not in str(raised.value)
