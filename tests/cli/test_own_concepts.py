"""A user's own concepts, and names with several meanings, as a user meets them."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from ehrqa_cli.contracts.types import Query

CODES = ("icd10|j9600", "icd10|j9601", "icd9|51881", "icd10|n179")
TITLES = (
    "acute respiratory failure",
    "acute respiratory failure with hypoxia",
    "acute respiratory failure",
    "acute kidney failure, unspecified",
)
OWN = '[[concept]]\nname = "lung failure"\nphrases = ["lf"]\nicd = ["J96.0*"]\n'
LUNGS = "how many patients had lf?"
SEVERAL = "how many patients had ARF?"


@pytest.fixture
def ward(ehr: Path) -> Path:
    """The small EHR with a diagnosis a code: the first patient has all, the second the last."""
    rows = [(i, 101, 1001, code) for i, code in enumerate(CODES)] + [(9, 102, 1002, CODES[-1])]
    with closing(sqlite3.connect(ehr)) as connection, connection:
        connection.executemany(
            "INSERT INTO d_icd_diagnoses (row_id, icd_code, long_title) VALUES (?, ?, ?)",
            [(i, *pair) for i, pair in enumerate(zip(CODES, TITLES, strict=True))],
        )
        connection.executemany(
            "INSERT INTO diagnoses_icd (row_id, subject_id, hadm_id, icd_code, charttime)"
            " VALUES (?, ?, ?, ?, '2101-02-05 10:00:00')",  # not the year of EHRSQL's clock
            rows,
        )
    return ehr


@pytest.fixture
def counting(rote, monkeypatch):
    """A model that counts the patients of the one diagnosis that a question has."""
    monkeypatch.setattr(
        rote,
        "generate",
        lambda self, question, on_token=None: (
            [Query(None, "count_patients dx #1", scores={"max_entropy": 0.01})]
            if "<dx>#1" in question.text
            else []
        ),
    )


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "ward.toml"
    path.write_text(OWN)
    return path


def asked(cli, *args):
    return json.loads(cli("ask", *args, "--json").out)


def test_a_file_of_a_flag_is_counted_shown_and_named_with_its_hash(cli, ward, counting, own):
    answer = asked(cli, LUNGS, "--db", ward, "--concepts", own)
    assert (answer["status"], answer["value"]) == ("answered", 1)
    (concept,) = answer["concepts"]
    assert (concept["mention"], concept["concept"], concept["members"]) == ("lf", "lung failure", 2)
    assert "Lf: 2 codes (J96.0*)." in answer["text"]
    told = {"file": "ward.toml", "sha256": sha256(OWN.encode()).hexdigest()}
    assert answer["provenance"]["concepts"] == [told]
    without = asked(cli, LUNGS, "--db", ward)
    assert without["status"] == "abstained" and "concepts" not in without["provenance"]


def test_the_settings_and_the_variable_name_files_too(cli, ward, counting, own, monkeypatch):
    settings = ward.with_name("config.toml")
    settings.write_text('concepts = ["ward.toml"]\n')
    monkeypatch.setenv("EHRQA_CONFIG", str(settings))
    assert asked(cli, LUNGS, "--db", ward)["value"] == 1
    wider = own.with_name("wider.toml")
    wider.write_text(OWN.replace('"J96.0*"', '"J96.0*", "N17*"'))
    monkeypatch.setenv("EHRQA_CONCEPTS", os.pathsep.join(map(str, (own, wider))))
    answer = asked(cli, LUNGS, "--db", ward)
    assert answer["value"] == 2  # of two files the later means it
    assert [one["file"] for one in answer["provenance"]["concepts"]] == ["ward.toml", "wider.toml"]
    assert asked(cli, LUNGS, "--db", ward, "--concepts", own)["value"] == 1  # a flag wins


def test_a_file_beside_the_database_travels_with_it(cli, ward, counting, own, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    shutil.copy(ward, folder / "ehr.sqlite")
    shutil.copy(own, folder / "ehr.sqlite.concepts.toml")
    answer = asked(cli, LUNGS, "--db", folder / "ehr.sqlite")
    assert answer["value"] == 1
    assert [x["file"] for x in answer["provenance"]["concepts"]] == ["ehr.sqlite.concepts.toml"]
    ran = cli("concepts", "find", "lf", "--db", folder / "ehr.sqlite")
    assert ran.out.splitlines()[0] == "lung failure (diagnosis): 2 codes, 2 rows"


def test_concepts_find_takes_several_files(cli, ward, own, tmp_path):
    sugar = tmp_path / "sugar.csv"
    sugar.write_text("name,code,kind\nkidneys,50912,lab\n")
    flags = ("--concepts", own, "--concepts", sugar, "--db", ward)
    assert cli("concepts", "find", "lf", *flags).code == 0
    ran = cli("concepts", "find", "kidneys", *flags)
    assert ran.out.splitlines()[0] == "kidneys (lab test): 1 code, 3 rows"
    assert cli("concepts", "find", "lf", "--db", ward).code == 3


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("gone.toml", None, "cannot read"),
        ("own.txt", OWN, "cannot tell what"),
        ("own.toml", "[[concept]]\nname = 1\n", "concept 1"),
        ("own.toml", '[[concept]]\nadds = "lunacy"\nicd = ["A*"]\n', "which is no concept"),
    ],
)
@pytest.mark.parametrize("command", ["ask", "batch", "find"])
def test_a_mistake_is_one_line_and_a_next_step(
    cli, ward, counting, tmp_path, name, text, told, command
):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    lines = tmp_path / "in.txt"
    lines.write_text(f"{LUNGS}\n")
    words = {
        "ask": ("ask", LUNGS),
        "batch": ("batch", lines, tmp_path / "out.jsonl"),
        "find": ("concepts", "find", "lf"),
    }
    ran = cli(*words[command], "--db", ward, "--concepts", path)
    error, hint = ran.err.splitlines()
    assert (ran.code, ran.out) == (2, "")
    assert error.startswith("error: ") and told in error and hint.startswith("hint: ")


def test_validate_tries_the_files_of_the_settings(cli, ward, tmp_path, monkeypatch):
    settings = tmp_path / "config.toml"
    settings.write_text('concepts = "gone.toml"\n')
    monkeypatch.setenv("EHRQA_CONFIG", str(settings))
    ran = cli("config", "validate")
    assert ran.code == 1 and "config.toml:1: concepts: cannot read" in ran.out
    shown = json.loads(cli("config", "show", "--json").out)["settings"]["concepts"]
    assert shown["value"] == [str(tmp_path / "gone.toml")]


def test_a_batch_goes_on_only_with_the_same_concepts(cli, ward, counting, own, tmp_path):
    lines, out = tmp_path / "in.txt", tmp_path / "out.jsonl"
    lines.write_text(f"{LUNGS}\n{SEVERAL}\n")
    batch = ("batch", lines, out, "--db", ward, "--concepts", own, "--workers", "1")
    assert cli(*batch).code == 0
    whole = out.read_bytes()
    from ehrqa_cli.cli.answer_options import BatchOptions
    from ehrqa_cli.cli.batch.writing import settings_of
    from ehrqa_cli.contracts.types import Scope
    from ehrqa_cli.engine import Mode

    def settings() -> object:
        options = BatchOptions(
            ward, None, None, Scope.TABLE, "local", False, Mode.NORMAL, None, None, None,
            concepts=(own,),
        )  # fmt: skip
        with options.session() as session:
            return settings_of(options, session, False)

    before = settings()
    own.write_text(OWN.replace("J96.0*", "N17*"))
    assert settings() != before
    assert cli(*batch, "--restart").code == 0
    assert out.read_bytes() != whole


def test_on_a_database_of_ehrsql_own_concepts_are_not_used_and_it_says_so(cli, ehr, rote, own):
    ran = cli("ask", "how many patients are there?", "--db", ehr, "--concepts", own, "--json")
    assert "your own concepts are not used" in ran.err
    assert "concepts" not in json.loads(ran.out)["provenance"]


def test_a_name_of_several_meanings_is_asked_back_with_each(cli, ward, counting):
    answer = asked(cli, SEVERAL, "--db", ward)
    assert (answer["status"], answer["reason"]["kind"]) == ("abstained", "ambiguous")
    assert answer["reason"]["sentence"] == (
        "“ARF” may be: acute respiratory failure (diagnosis, 3 codes); acute kidney injury "
        "(diagnosis, 1 code). Say which."
    )
    lungs, kidneys = answer["suggestions"]
    assert lungs == "how many patients had acute respiratory failure?"
    assert [x["logical_form"] for x in answer["alternatives"]] == [
        'count_patients dx "acute respiratory failure"',
        'count_patients dx "acute kidney injury"',
    ]
    assert "kidney" in answer["alternatives"][1]["description"]
    assert [x["answer"] for x in answer["alternatives"]] == ["1", "2"]
    assert asked(cli, lungs, "--db", ward)["value"] == 1
    assert asked(cli, kidneys, "--db", ward)["value"] == 2


def test_a_meaning_that_the_model_cannot_read_has_no_form(cli, ward, rote):
    answer = asked(cli, "ARF of patient 101?", "--db", ward)
    assert [x["logical_form"] for x in answer["alternatives"]] == [None, None]
    assert [x["answer"] for x in answer["alternatives"]] == [None, None]
    assert answer["alternatives"][1]["description"] == "acute kidney injury (diagnosis, 1 code)"
    assert len(answer["suggestions"]) == 2


def test_a_concept_of_one_s_own_settles_what_is_meant(cli, ward, counting, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('[[concept]]\nname = "my kidneys"\nphrases = ["arf"]\nicd = ["N17*"]\n')
    answer = asked(cli, SEVERAL, "--db", ward, "--concepts", path)
    assert (answer["status"], answer["value"], answer["alternatives"]) == ("answered", 2, [])


def test_the_chat_offers_each_meaning_and_asks_the_one_that_is_chosen(
    cli, ward, counting, monkeypatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{SEVERAL}\n/suggest 2\n"))
    ran = cli("chat", "--plain", "--db", ward)
    assert "/suggest 2  how many patients had acute kidney injury?" in ran.out
    assert ran.out.count("acute kidney injury: 2.") == 1
