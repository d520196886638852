"""Mapping files: what is right in one, how statements are written anew, what is declined."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import (
    DatabaseError,
    LimitExceeded,
    Refused,
    UsageError,
)
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.mapping import check as mapping_check
from ehrqa_cli.ehr.mapping import document as mapping
from ehrqa_cli.ehr.mapping import template as mapping_template
from ehrqa_cli.ehr.mapping.fit import fit, signed
from ehrqa_cli.ehr.mapping.mapped import Mapped
from ehrqa_cli.ehr.open import open_as_it_is, open_database
from ehrqa_cli.ehr.schema import BY_NAME, TABLES, missing
from ehrqa_cli.ehr.value_index import ValueIndex

SMALL = """
name = "ward"
about = "a ward"
signature = ["people.pid", "stays"]
[absent]
cost = "nobody wrote down prices"
"admissions.insurance" = "this ward does not ask"
[patients]
from = "people AS p"
where = "p.pid > 0"
[patients.columns]
row_id = "p.pid"
subject_id = "p.pid"
gender = "substr(p.sex, 1, 1)"
[admissions]
from = "stays AS s JOIN people AS p ON p.pid = s.pid"
[admissions.columns]
row_id = "s.sid"
subject_id = "s.pid"
hadm_id = "s.sid"
admittime = "s.came"
dischtime = "s.went"
admission_type = "s.kind"
[d_labitems]
from = "(SELECT DISTINCT name AS title FROM tests) AS t"
[d_labitems.columns]
row_id = "t.title"
itemid = "t.title"
label = "t.title"
[[labevents]]
from = "tests AS t JOIN stays AS s ON s.sid = t.sid"
where = "t.val IS NOT NULL"
[labevents.columns]
row_id = "t.tid"
subject_id = "s.pid"
hadm_id = "t.sid"
itemid = "t.name"
charttime = "t.at"
valuenum = "t.val"
[[labevents]]
from = "more_tests AS t"
[labevents.columns]
row_id = "100 + t.tid"
subject_id = "t.pid"
hadm_id = "t.sid"
itemid = "t.name"
charttime = "t.at"
valuenum = "t.val"
"""
ROWS = """
CREATE TABLE people (pid INTEGER, sex TEXT);
INSERT INTO people VALUES (1, 'Female'), (2, 'Male'), (-1, 'Male');
CREATE TABLE stays (sid INTEGER, pid INTEGER, came TEXT, went TEXT, kind TEXT);
INSERT INTO stays VALUES (11, 1, '2100-01-01 08:00:00', '2100-01-03 08:00:00', ' Urgent '),
    (12, 2, '2100-02-01 08:00:00', NULL, '');
CREATE TABLE tests (tid INTEGER, sid INTEGER, name TEXT, at TEXT, val REAL);
INSERT INTO tests VALUES (1, 11, 'Sodium', '2100-01-01 09:00:00', 140.0),
    (2, 11, 'Sodium', '2100-01-02 09:00:00', 150.0), (3, 12, 'Zinc', '2100-02-01 09:00:00', NULL);
CREATE TABLE secrets (x TEXT);
INSERT INTO secrets VALUES ('hidden');
"""


# Of what EHRSQL-2024 lacks, what questions are about: a mapping has it or says why not.
ASKED = (
    "admissions.encounter", "admissions.race", "admissions.hospital_expire_flag",
    "d_labitems.fluid", "d_labitems.category", "labevents.value", "labevents.flag",
    "labevents.ref_range_lower", "inputevents.amount", "inputevents.rate", "inputevents.endtime",
    "microbiologyevents.micro_specimen_id", "microbiologyevents.ab_name",
    "microbiologyevents.interpretation", "prescriptions.form_rx", "prescriptions.drug_type",
)  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ward.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    path = tmp_path / "ward.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(ROWS)
    return path


@pytest.fixture
def mapped(file: Path, ward: Path) -> Iterator[Mapped]:
    inner = open_as_it_is(ward)
    made = Mapped(inner, fit(mapping.load(str(file)), inner.schema()))
    yield made
    made.close()


@pytest.mark.parametrize("name", mapping.shipped())
def test_what_is_shipped_is_right(name: str) -> None:
    found = mapping.load(name)
    assert found.name == name
    assert found.about
    assert found.signature
    mapped_or_told = {*found.tables, *found.absent}
    assert [t.name for t in TABLES if t.name not in mapped_or_told] == []
    for table, parts in found.tables.items():
        for column in BY_NAME[table].columns:
            told = f"{table}.{column.name}" in found.absent or column.extra
            assert told or any(column.name in part.columns for part in parts) or column.name in (
                "discharge_location", "totalamountuom", "valueuom"
            )  # fmt: skip
    for column in ASKED:
        table, _, name = column.partition(".")
        parts = found.tables.get(table, ())
        assert not parts or column in found.absent or any(name in p.columns for p in parts), column


def test_our_own_layout_is_mapped_to_itself(demo_file: Path) -> None:
    inner = open_as_it_is(demo_file)
    same = Mapped(inner, fit(mapping.load("mimic_iv"), inner.schema()))
    assert missing(same.schema()) == []
    for table in TABLES:
        sql = f"SELECT * FROM {table.name}"
        assert same.execute(sql).rows == inner.execute(sql).rows
    assert same.default_as_of() == inner.default_as_of()
    same.close()


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('name = "ward"', "name = ward", "not valid TOML"),
        ('name = "ward"', 'name = "Ward 7"', "name must be"),
        ('about = "a ward"', 'text = "upper"', "text is 'upper'"),
        ('about = "a ward"', 'as_of = "now"', "as_of is 'now'"),
        ('about = "a ward"', "about = 7", "about must be text"),
        ("[d_labitems]", "[labitems]", "unknown table or key 'labitems'"),
        ('subject_id = "p.pid"', 'subjekt_id = "p.pid"', "no column 'subjekt_id'"),
        ('where = "p.pid > 0"', 'were = "p.pid > 0"', "unknown key 'were'"),
        ('"substr(p.sex, 1, 1)"', "7", "must be SQL in quotes"),
        ('"substr(p.sex, 1, 1)"', '"p.sex, p.pid"', "is not one value"),
        ('"substr(p.sex, 1, 1)"', '"p.sex FROM secrets"', "is not one value"),
        ('"substr(p.sex, 1, 1)"', '"p.sex -- x"', "holds a comment"),
        ('"substr(p.sex, 1, 1)"', '"1); DROP TABLE people; SELECT (1"', "not readable|statements"),
        ('"substr(p.sex, 1, 1)"', '"load_extension(p.sex)"', "calls load_extension"),
        ('"substr(p.sex, 1, 1)"', '"random()"', "calls random"),
        ('"substr(p.sex, 1, 1)"', '"current_timestamp"', "computer's clock"),
        (
            '"substr(p.sex, 1, 1)"',
            "\"(SELECT 1 FROM pragma_table_info('x'))\"",
            "pragma_table_info",
        ),
        ('"people AS p"', '"people AS p"\nsame = "people"', "same names no table"),
        ('"people AS p"', '"main.people AS p"', "main.people"),
        ('"people AS p"', '"people AS p WHERE 1"', "from has where"),
        ('"people AS p"', '"people AS p; DELETE FROM people"', "statements|not readable"),
        ('"p.pid > 0"', '"p.pid IN secrets"', "after IN"),
        ("cost = ", "labevents = ", "both mapped and absent"),
        ("cost = ", "costs = ", "none of our tables"),
        ('signature = ["people.pid", "stays"]', 'signature = "people"', "signature must be"),
        ("[patients.columns]", "[absent.columns]", "absent.columns|patients has no columns|absent"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(file: Path, old: str, new: str, what: str) -> None:
    assert old in SMALL
    file.write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError, match=what) as raised:
        mapping.load(str(file))
    assert str(file) in raised.value.message
    assert raised.value.hint


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no mapping 'omop'") as raised:
        mapping.load("omop")
    assert "omop_5_4" in raised.value.hint
    with pytest.raises(UsageError, match="cannot read"):
        mapping.load(str(tmp_path / "none.toml"))
    (tmp_path / "big.toml").write_bytes(b"#" * (mapping.MOST + 1))
    with pytest.raises(UsageError, match="too large"):
        mapping.load(str(tmp_path / "big.toml"))
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        mapping.load(str(tmp_path / "odd.toml"))
    (tmp_path / "few.toml").write_text('name = "few"')
    with pytest.raises(UsageError, match=r"no \[patients\]"):
        mapping.load(str(tmp_path / "few.toml"))


def test_statements_are_over_our_tables(mapped: Mapped) -> None:
    def rows(sql: str) -> tuple[tuple[object, ...], ...]:
        return mapped.execute(sql).rows

    assert rows("SELECT * FROM patients ORDER BY row_id") == (
        (1, 1, "f", None, None), (2, 2, "m", None, None)
    )  # fmt: skip
    assert rows("SELECT admission_type, age FROM admissions ORDER BY 1") == (
        (None, None), ("urgent", None)
    )  # fmt: skip
    assert rows('SELECT count(*) FROM "labevents"') == ((2,),)
    assert rows("SELECT l.valuenum FROM labevents l, [admissions] WHERE l.hadm_id = "
                "admissions.hadm_id AND l.charttime > '2100-01-02'") == ((150.0,),)  # fmt: skip
    assert rows("WITH x AS (SELECT avg(valuenum) AS m FROM labevents) SELECT m FROM x") == (
        (145.0,),
    )
    assert rows("SELECT subject_id FROM patients EXCEPT SELECT subject_id FROM labevents") == (
        (2,),
    )
    assert rows("SELECT label FROM d_labitems WHERE 'é' <> '' ORDER BY 1") == (
        ("sodium",),
        ("zinc",),
    )
    assert rows("SELECT count(*), sum(cost) FROM cost") == ((0, None),)
    assert rows("SELECT gender, valuenum FROM patients NATURAL JOIN labevents") == (("f", 140.0),)


def test_only_the_columns_that_are_used_are_asked_for(mapped: Mapped) -> None:
    sql = mapped.rewritten("SELECT count(*) FROM labevents WHERE valuenum > 3")
    assert sql == (
        "SELECT count(*) FROM (SELECT t.val AS valuenum FROM tests AS t JOIN stays AS s ON "
        "s.sid = t.sid WHERE t.val IS NOT NULL) AS labevents WHERE valuenum > 3"
    )
    assert mapped.spelled("SELECT 1 FROM patients x") == (
        "SELECT 1 FROM (SELECT 1 AS one FROM people AS p WHERE p.pid > 0) x"
    )


@pytest.mark.parametrize(
    ("sql", "error", "what"),
    [
        ("SELECT * FROM people", DatabaseError, "no such table: people"),
        ("SELECT x FROM secrets", DatabaseError, "no such table: secrets"),
        ("SELECT * FROM main.people", Refused, "main.people"),
        ("SELECT 1 FROM patients WHERE subject_id IN people", Refused, "after IN"),
        ("SELECT * FROM sqlite_master", DatabaseError, "sqlite_master"),
        ("SELECT * FROM pragma_table_info('people')", Refused, "not allowed"),
        (
            "WITH people AS (SELECT 5 AS pid, 'x' AS sex) SELECT * FROM patients",
            Refused,
            "WITH people",
        ),
        ("DELETE FROM patients", Refused, "not a SELECT"),
        ("SELECT 1; SELECT 2", Refused, "statements"),
        ("SELECT load_extension('x') FROM patients", Refused, "load_extension"),
        ("SELECT colour FROM patients", DatabaseError, "no such column"),
    ],
)
def test_nothing_else_can_be_read(
    mapped: Mapped, sql: str, error: type[DatabaseError], what: str
) -> None:
    with pytest.raises(error, match=what):
        mapped.execute(sql)


def test_limits_and_cancel_are_the_databases(mapped: Mapped) -> None:
    assert mapped.execute("SELECT row_id FROM labevents", Limits(rows=1)).truncated
    with pytest.raises(LimitExceeded, match="longer than"):
        mapped.execute("SELECT row_id FROM labevents", Limits(length=5))
    assert mapped.execute("SELECT row_id FROM labevents", Limits(length=40)).rows
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT count(*) FROM n, patients"
    )
    with pytest.raises(LimitExceeded, match="longer than"):
        mapped.execute(endless, Limits(seconds=0.2))
    assert mapped.counts_steps


def test_what_a_layout_does_not_record_is_named(mapped: Mapped) -> None:
    assert mapped.lacking("SELECT sum(cost.cost) FROM cost") == "costs (nobody wrote down prices)"
    assert mapped.lacking("SELECT count(*) FROM chartevents") == "vital signs"
    assert mapped.lacking("SELECT admissions.insurance FROM admissions") == (
        "the insurance (this ward does not ask)"
    )
    assert mapped.lacking("SELECT a.age FROM admissions AS a") == "the age"
    assert mapped.lacking("SELECT dob FROM patients") == "the date of birth"
    assert mapped.lacking("SELECT valuenum FROM labevents WHERE valuenum > 1") == ""
    both = "SELECT count(*) FROM labevents JOIN prescriptions USING (hadm_id) WHERE valueuom = 'g'"
    assert mapped.lacking(both) == "prescriptions, the unit of the value"
    either = "SELECT valueuom FROM labevents JOIN outputevents USING (hadm_id)"
    assert mapped.lacking(either) == "outputs"


def test_a_mapping_is_named_in_what_is_kept(mapped: Mapped, file: Path, ward: Path) -> None:
    sha = mapping.load(str(file)).sha256
    assert mapped.versions()["schema"] == f"ward sha256:{sha[:16]}"
    assert mapped.fingerprint().endswith(f"+{sha[:8]}")
    assert mapped.default_as_of() == "2100-12-31 23:59:00"
    file.write_text(SMALL.replace("[absent]", 'as_of = "2101-02-03 04:05:06"\n[absent]'))
    inner = open_as_it_is(ward)
    again = Mapped(inner, fit(mapping.load(str(file)), inner.schema()))
    assert again.fingerprint() != mapped.fingerprint()
    assert again.default_as_of() == "2101-02-03 04:05:06"
    again.close()


def test_settings_name_a_mapping(
    file: Path, ward: Path, demo_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DatabaseError, match="not an EHR"):
        open_database(ward)
    monkeypatch.setenv("EHRQA_SCHEMA", str(file))
    database = open_database(ward)
    assert database.execute("SELECT count(*) FROM patients").rows == ((2,),)
    database.close()
    own = open_database(demo_file)  # it has our tables: nothing to map
    assert not isinstance(own, Mapped)
    own.close()
    monkeypatch.setenv("EHRQA_SCHEMA", "omop_5_4")
    with pytest.raises(DatabaseError, match="omop_5_4 does not fit") as raised:
        open_database(ward)
    assert "no table death, person" in raised.value.message
    monkeypatch.setenv("EHRQA_SCHEMA", "nothing")
    with pytest.raises(UsageError, match="no mapping 'nothing'"):
        open_database(ward)


def test_a_layout_is_known_by_all_of_its_signature(file: Path) -> None:
    ours = mapping.load(str(file))
    assert signed(ours, {"PEOPLE": ["PID"], "Stays": ["sid"]})
    assert not signed(ours, {"people": ["pid"]})
    assert not signed(ours, {"people": ["id"], "stays": ["sid"]})


def test_images_that_are_registered_are_seen(file: Path, ward: Path) -> None:
    columns = "row_id, subject_id, hadm_id, study_id, image_id, studydatetime, viewposition"
    with closing(sqlite3.connect(ward)) as connection:
        connection.execute(f"CREATE TABLE tb_cxr ({columns})")
        connection.execute(
            "INSERT INTO tb_cxr VALUES (0, 1, 11, 5, 'A', '2100-01-01 00:00:00', 'PA')"
        )
        connection.commit()
    inner = open_as_it_is(ward)
    database = Mapped(inner, fit(mapping.load(str(file)), inner.schema()))
    assert database.execute("SELECT image_id FROM tb_cxr").rows == (("A",),)
    database.close()


def test_the_checker_tells_faults(file: Path, ward: Path) -> None:
    with closing(sqlite3.connect(ward)) as connection:
        connection.execute("INSERT INTO stays VALUES (11, 1, '1 January', NULL, 'x')")
        connection.execute(
            "INSERT INTO tests VALUES (9, 99, 'Iron', '2100-01-01 09:00:00', 'high')"
        )
        connection.execute("INSERT INTO stays VALUES (99, 7, '2100-02-01 08:00:00', NULL, 'x')")
        connection.execute("INSERT INTO people VALUES (7, NULL)")
        connection.commit()
    inner = open_as_it_is(ward)
    report = mapping_check.check(inner, fit(mapping.load(str(file)), inner.schema()))
    faults = " | ".join(report.faults)
    assert not report.usable
    assert "admissions: admittime should be a time YYYY-MM-DD HH:MM:SS; 1 of 4 rows" in faults
    assert "'1 January'" in faults
    assert "admissions: hadm_id is not unique: 1 rows too many" in faults
    assert "labevents: valuenum should be a number; 1 of" in faults
    assert report.unused == ("secrets",)
    assert "costs (nobody wrote down prices)" in report.declined
    assert "the insurance of admissions (this ward does not ask)" in report.declined
    inner.close()


def test_the_checker_tells_lost_keys_and_capitals(file: Path, ward: Path) -> None:
    text = SMALL.replace('about = "a ward"', 'text = "as_is"')
    file.write_text(text.replace('"s.pid"\nhadm_id = "t.sid"', '"s.pid"\nhadm_id = "t.sid + 5"'))
    inner = open_as_it_is(ward)
    report = mapping_check.check(inner, fit(mapping.load(str(file)), inner.schema()))
    faults = " | ".join(report.faults)
    assert "labevents: hadm_id is none of admissions's in 2 of 2 rows" in faults
    assert "admissions: admission_type should be trimmed and in lower case" in faults
    inner.close()


def test_a_source_that_is_gone_leaves_out_what_needs_it(file: Path, ward: Path) -> None:
    with closing(sqlite3.connect(ward)) as connection:
        connection.execute("ALTER TABLE stays RENAME COLUMN kind TO sort")
        connection.execute("ALTER TABLE tests RENAME COLUMN val TO result")
        connection.commit()
    inner = open_as_it_is(ward)
    fitted = fit(mapping.load(str(file)), inner.schema())
    assert fitted.broken == ()
    assert fitted.tables["admissions"].lacking["admission_type"] == "there is no column s.kind"
    assert fitted.tables["labevents"].parts == ()
    assert "there is no column" in fitted.tables["labevents"].lacking[""]
    assert "there is no table more_tests" in fitted.tables["labevents"].lacking[""]
    inner.close()


def test_a_mapping_to_begin_with(tmp_path: Path, demo_file: Path, ward: Path) -> None:
    for target, usable in ((demo_file, True), (ward, False)):
        inner = open_as_it_is(target)
        text = mapping_template.text("mine", "mine.toml", str(target), inner.schema())
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        if usable:
            report = mapping_check.check(inner, fit(mapping.load(str(path)), inner.schema()))
            assert report.usable
            assert report.declined == ()
        else:
            assert "#   people(pid, sex)" in text
            with pytest.raises(UsageError, match=r"no \[patients\]"):
                mapping.load(str(path))
        inner.close()


def test_patients_without_numbers_are_an_error(file: Path, ward: Path) -> None:
    text = SMALL.replace('subject_id = "p.pid"', """subject_id = "'pat-' || p.pid\"""")
    file.write_text(text, encoding="utf-8")
    inner = open_as_it_is(ward)
    database = Mapped(inner, fit(mapping.load(str(file)), inner.schema()))
    with pytest.raises(DatabaseError, match=r"subject_id holds 'pat-\d', which is no whole number"):
        ValueIndex.build(database)
    report = mapping_check.check(inner, database.fitted)
    assert any("subject_id should be a whole number" in fault for fault in report.faults)
    database.close()
