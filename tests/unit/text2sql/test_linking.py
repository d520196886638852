"""Linking on a small made-up database, and its recall on EHRSQL where the data are at hand."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Link, LinkedQuestion, Result
from ehrqa_cli.ehr import cxr_vocabulary
from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.text2sql.linking import Linker

SCHEMA = """
CREATE TABLE patients (subject_id INT);
CREATE TABLE admissions (subject_id INT, admittime TEXT, dischtime TEXT, admission_type TEXT,
  admission_location TEXT, discharge_location TEXT, insurance TEXT, language TEXT,
  marital_status TEXT, hadm_id INT);
CREATE TABLE icustays (stay_id INT, first_careunit TEXT);
CREATE TABLE prescriptions (drug TEXT, route TEXT);
CREATE TABLE d_labitems (itemid INT, label TEXT);
CREATE TABLE labevents (itemid INT);
CREATE TABLE d_icd_diagnoses (icd_code TEXT, long_title TEXT);
CREATE TABLE diagnoses_icd (icd_code TEXT);
CREATE TABLE d_items (itemid INT, label TEXT, abbreviation TEXT, linksto TEXT);
CREATE TABLE inputevents (itemid INT);
CREATE TABLE outputevents (itemid INT);
CREATE TABLE chartevents (itemid INT);
CREATE TABLE transfers (careunit TEXT);
CREATE TABLE microbiologyevents (spec_type_desc TEXT, test_name TEXT, org_name TEXT);
CREATE TABLE tb_cxr (study_id INT);
"""
DRUGS = (
    "insulin|0.9% sodium chloride|heparin|heparin flush (10 units/ml)|bag|acetaminophen|"
    "tiotropium bromide|ibuprofen|fentanyl patch|fentanyl citrate|metoprolol tartrate|furosemide"
)
LABS = (
    "ptt|pt|h|hemoglobin|sodium|sodium, urine|creatinine|creatinine, urine|platelet count|"
    "bilirubin, total|alanine aminotransferase (alt)|potassium, whole blood|potassium, urine"
)
TITLES = (
    "acute kidney failure, unspecified|unspecified essential hypertension|"
    "essential (primary) hypertension|sepsis|atelectasis"
)
ITEMS = [
    (1, "heparin", "heparin", "inputevents"),
    (2, "platelets", "platelets", "inputevents"),
    (3, "dextrose 50%", "d50", "inputevents"),
    (4, "foley", "foley", "outputevents"),
    (5, "or urine", "or urine", "outputevents"),
    (6, "heart rate", "hr", "chartevents"),
    (7, "daily weight", "daily weight", "chartevents"),
    (8, "o2 saturation pulseoxymetry", "spo2", "chartevents"),
    (9, "head of bed", "hob", "chartevents"),
]


class Plain(Database):
    """A Database over a connection, without a guard; counts what it is asked."""

    dialect: ClassVar[str] = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.asked = 0

    @classmethod
    def open(cls, target: str) -> Plain:
        return cls(sqlite3.connect(target))

    def schema(self) -> dict[str, tuple[str, ...]]:
        rows = self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {row[0]: () for row in rows}

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        self.asked += 1
        return Result((), tuple(self.connection.execute(sql).fetchall()))

    def cancel(self) -> None:
        return

    def fingerprint(self) -> str:
        return "made-up"

    def close(self) -> None:
        return


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(":memory:")
    db.executescript(SCHEMA)
    db.executemany("INSERT INTO patients VALUES (?)", [(10004235,), (10018081,), (77,)])
    admission = (
        10004235, "2100-01-02 03:04:05", "2100-03-01 00:00:00", "elective", "emergency room",
        "home", "other", "english", "single", 24547356,
    )  # fmt: skip
    db.execute(f"INSERT INTO admissions VALUES ({','.join('?' * 10)})", admission)
    db.execute("INSERT INTO icustays VALUES (39553978, NULL)")
    drugs = [(drug, route) for drug in DRUGS.split("|") for route in ("po", "iv drip", "id")]
    db.executemany("INSERT INTO prescriptions VALUES (?, ?)", drugs)
    for number, label in enumerate(LABS.split("|")):
        db.execute("INSERT INTO d_labitems VALUES (?, ?)", (number, label))
        db.execute("INSERT INTO labevents VALUES (?)", (number,))
    db.execute("INSERT INTO d_labitems VALUES (999, 'never measured')")
    for number, title in enumerate(TITLES.split("|")):
        db.execute("INSERT INTO d_icd_diagnoses VALUES (?, ?)", (str(number), title))
        db.execute("INSERT INTO diagnoses_icd VALUES (?)", (str(number),))
    db.executemany("INSERT INTO d_items VALUES (?, ?, ?, ?)", ITEMS)
    db.executemany("INSERT INTO inputevents VALUES (?)", [(1,), (2,)])
    db.executemany("INSERT INTO outputevents VALUES (?)", [(4,), (5,)])
    db.executemany("INSERT INTO chartevents VALUES (?)", [(6,), (7,), (8,)])
    db.executemany("INSERT INTO transfers VALUES (?)", [("medicine",), ("trauma sicu (tsicu)",)])
    db.execute("INSERT INTO microbiologyevents VALUES ('urine', 'urine culture', 'yeast')")
    db.execute("INSERT INTO tb_cxr VALUES (50000001)")
    db.commit()
    yield db
    db.close()


@pytest.fixture(scope="module")
def linker(connection: sqlite3.Connection) -> Linker:
    return Linker(ValueIndex.build(connection))


def facts(linked: LinkedQuestion) -> list[tuple[str, object]]:
    return [("+".join(link.types), link.value) for link in linked.links]


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        (
            "What was the dose of INSULIN patient 10004235 was\nlast prescribed in 07/this year?",
            "what was the dose of <drug>#1 patient <pat>#2 was last prescribed in "
            "<num>#3/this year?",
            [("drug", "insulin"), ("pat", 10004235), ("num", 7)],
        ),
        ("how much heparin?", "how much <drug><intake>#1?", [("drug+intake", "heparin")]),
        (
            "cost of 'heparin flush ( 10 units / ml )'",
            "cost of <drug>#1",
            [("drug", "heparin flush (10 units/ml)")],
        ),
        ("dextrose 50% input", "<intake>#1 input", [("intake", "dextrose 50%")]),
        ("or urine of pt 77", "<output>#1 of pt <pat>#2", [("output", "or urine"), ("pat", 77)]),
        ("ptt of 30.0", "<lab>#1 of <num>#2", [("lab", "ptt"), ("num", 30.0)]),
        ("SpO2, pulse", "<vital>#1, <vital>#2",
         [("vital", "o2 saturation pulseoxymetry"), ("vital", "heart rate")]),
        ("come to the ER?", "come to the <admloc>#1?", [("admloc", "emergency room")]),
        ("drug via po route", "drug via <route>#1 route", [("route", "po")]),
        ("stayed in medicine", "stayed in <careunit>#1", [("careunit", "medicine")]),
        ("What does HOB stand for?", "what does <abbrev>#1 stand for?", [("abbrev", "hob")]),
    ],
)  # fmt: skip
def test_values(
    linker: Linker, question: str, text: str, expected: list[tuple[str, object]]
) -> None:
    linked = linker.link(question, fuzzy=False)
    assert (linked.text, facts(linked)) == (text, expected)
    for link in linked.links:
        assert question[link.start : link.end].strip() != ""


@pytest.mark.parametrize(
    "question",
    [
        "How many patients bag their own id at home?",
        "Is he or she single, and what other medicine has no h?",
        "which medicines were given",
        "Pt was seen; pt 10004235 went home",
        "covid-19 cases; the width is 1/3; which of the two?",
    ],
)
def test_everyday_words_are_no_values(linker: Linker, question: str) -> None:
    assert [fact for fact in facts(linker.link(question, fuzzy=False)) if fact[0] != "pat"] in (
        [],
        [("drug", "bag")] if "medic" in question else [],
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in 2100", [("year", "2100")]),
        ("a dose of 2100 mg", [("num", 2100)]),
        ("since 07/2100", [("ym", "2100-07")]),
        ("in July 2100 or 2100-08", [("ym", "2100-07"), ("ym", "2100-08")]),
        ("on 07/23/2100", [("ymd", "2100-07-23")]),
        ("July 23rd, 2100", [("ymd", "2100-07-23")]),
        ("23 July 2100", [("ymd", "2100-07-23")]),
        ("2100-07-23 10:00:00", [("stamp", "2100-07-23 10:00:00")]),
        ("2100-02-31", [("year", "2100"), ("num", 2), ("num", 31)]),
        ("on 07/23/this year", [("md", "07-23")]),
        ("on Apr 18 last year", [("md", "04-18")]),
        ("in March this year", [("num", 3)]),
        ("in March", [("mon", 3)]),
        ("between 3/5 and 4/6", [("md", "03-05"), ("md", "04-06")]),
        ("5-MAR-2100", [("ymd", "2100-03-05")]),
        ("3/5/00 and Mar '00", [("ymd", "2100-03-05"), ("ym", "2100-03")]),
        ("at 10:30", []),
        ("he may have been, in summer", []),
        ("within a fortnight", [("dur", "14 day")]),
        ("48h or 3 d", [("dur", "48 hour"), ("dur", "3 day")]),
        ("a couple of weeks", [("dur", "14 day")]),
        (
            "1.5k, a dozen, two hundred, .5",
            [("num", 1500), ("num", 12), ("num", 200), ("num", 0.5)],
        ),
        ("twenty-five 15mg doses", [("num", 25), ("num", 15)]),
        ("the proportion (0-1), yes=1 (1/0)", []),
        ("as a share between 0 and 1", []),
        ("type 2, stage 3", []),
        ("18 to 40 years old", [("agegrp", "18-40")]),
        ("10+ visits at 65yo", [("num", 10), ("num", 65)]),
        ("last month/27", [("num", 27)]),
        ("the 27th of last month", [("num", 27)]),
        ("155 days ago", [("dur", "155 day")]),
        ("a year ago", [("dur", "1 year")]),
        ("in the past year", [("dur", "1 year")]),
        ("within two months", [("dur", "2 month")]),
        ("6-month mortality", [("dur", "6 month")]),
        ("within 3 weeks", [("dur", "21 day")]),
        ("24 hours", [("dur", "24 hour")]),
        ("twice a day", [("num", 2)]),
        ("top three", [("num", 3)]),
        ("the first, second or third one", []),
        ("in their 50s", [("agegrp", "50-59")]),
        ("in their thirties", [("agegrp", "30-39")]),
        ("aged 60 or above", [("agegrp", "60+")]),
        ("aged 40 to 49", [("agegrp", "40-49")]),
        ("45 years old", [("num", 45)]),
        ("1,000 ml", [("num", 1000)]),
    ],
)
def test_dates_and_numbers(linker: Linker, text: str, expected: list[tuple[str, object]]) -> None:
    assert facts(linker.link(text, fuzzy=False)) == expected


def test_unknown_ids_are_said_and_rendered(linker: Linker) -> None:
    linked = linker.link("ptt of patient 28447 with cxr 51234567")
    assert linked.text == "<lab>#1 of patient <nopat> with cxr <nostudy>"
    assert linked.unknown == (("pat", "28447"), ("study", "51234567"))


def test_visits_by_their_numbers(linker: Linker) -> None:
    linked = linker.link("ptt in admission 24547356 and icu stay number 39553978?")
    assert linked.text == "<lab>#1 in admission <adm>#2 and icu stay number <stay>#3?"
    assert facts(linker.link("length of stay of 24547356")) == [("adm", 24547356)]
    unknown = linker.link("films of hospital admission 28157142 of patient 10018081")
    assert "admission <nopat> of patient <pat>#" in unknown.text
    assert unknown.unknown == (("adm", "28157142"),)


def test_options_are_appended_unless_named(linker: Linker) -> None:
    linked = linker.link("last ptt?", patient_id=10004235, study_id=50000001)
    assert linked.text == "last <lab>#1? patient <pat>#2 study <study>#3"
    assert linked.links[1] == Link(9, 9, ("pat",), 10004235, "option")
    named = linker.link("last ptt of 10018081?", patient_id=10004235)
    assert facts(named) == [("lab", "ptt"), ("pat", 10018081)]


def test_findings_only_where_an_image_is_meant(linker: Linker) -> None:
    question = "atelectasis and cardiomegaly in the left lung"
    assert facts(linker.link(question, fuzzy=False)) == [("dx", "atelectasis")]
    seen = linker.link(f"On CXR 50000001: any tubes/lines, {question}?", fuzzy=False)
    assert facts(seen) == [
        ("study", 50000001),
        ("cat", "tubesandlines"),
        ("dx+attr", "atelectasis"),
        ("attr", "enlarged cardiac silhouette"),
        ("obj", "left lung"),
    ]
    assert facts(linker.link(question, imaging=True, fuzzy=False)) == facts(seen)[2:]


@pytest.mark.parametrize("unit", ["2100-", "patient ", "heparinx ", "1/", "of the ", "9"])
def test_long_questions_are_linked_all_the_same(linker: Linker, unit: str) -> None:
    question = "insulin " + unit * (20_000 // len(unit))
    assert ("drug", "insulin") in facts(linker.link(question))


@pytest.mark.parametrize(
    ("text", "how", "expected"),
    [
        ("tylenol given", "alias", ("drug", "acetaminophen")),
        ("on Spiriva", "alias", ("drug", "tiotropium bromide")),
        ("fentanyl orders", "alias", ("drug", "fentanyl citrate")),
        ("ibuprofin orders", "spelling", ("drug", "ibuprofen")),
        ("last Hgb", "alias", ("lab", "hemoglobin")),
        ("last K of 77", "alias", ("lab", "potassium, whole blood")),
        ("urine creatinine", "alias", ("lab", "creatinine, urine")),
        ("peak ALT", "alias", ("lab", "alanine aminotransferase (alt)")),
        ("total bilirubin", "alias", ("lab", "bilirubin, total")),
        ("platelets below normal", "alias", ("lab", "platelet count")),
        (
            "acute kidney failure unspecified",
            "alias",
            ("dx", "acute kidney failure, unspecified"),
        ),
        ("diagnosed with AKI", "alias", ("dx", "acute kidney failure, unspecified")),
        ("stayed in the tsicu", "alias", ("careunit", "trauma sicu (tsicu)")),
    ],
)
def test_peoples_own_words(
    linker: Linker, text: str, how: str, expected: tuple[str, object]
) -> None:
    exact, linked = linker.link(text, fuzzy=False), linker.link(text)
    assert expected not in facts(exact)
    found = [link for link in linked.links if link.how == how]
    assert [("+".join(link.types), link.value) for link in found] == [expected]
    assert 0.85 <= found[0].quality < 1.0


def test_what_could_be_several_or_is_nowhere_is_not_guessed(linker: Linker) -> None:
    linked = linker.link("patients with htn on Xarelto, 40 mg")
    # of two titles of one diagnosis the one for coding it unspecified, and that with doubt
    assert facts(linked) == [("dx", "unspecified essential hypertension"), ("num", 40)]
    assert linked.links[0].how == "chosen" and linked.links[0].quality == 0.8
    assert linked.unknown == (("drug", "xarelto"),)


def test_odd_input_never_breaks_the_offsets(linker: Linker) -> None:
    question = "\u0130nsulin \x00 \u201cheparin\u201d\u202e of patient\u00a010004235\u2019s \t"
    linked = linker.link(question)
    assert linked.text == "\u0130nsulin <drug><intake>#1 of patient <pat>#2's"
    assert [question[link.start : link.end] for link in linked.links] == ["heparin", "10004235"]
    assert linker.link("").text == ""
    assert linker.link("9" * 5000).unknown == (("pat", "9" * 5000),)


def test_the_index_holds_what_occurs(connection: sqlite3.Connection) -> None:
    index = ValueIndex.build(connection)
    assert "never measured" not in index.strings["lab"]
    assert index.dictionary["intake"] == ("dextrose 50%",)
    assert ValueIndex.build(connection, dictionary=True).dictionary["lab"] == ("never measured",)
    assert index.years == (2100, 2100)
    assert index.imaging and index.studies == frozenset({50000001})


def test_an_empty_database_links_numbers_only() -> None:
    empty = sqlite3.connect(":memory:")
    linker = Linker(ValueIndex.build(empty))
    empty.close()
    assert facts(linker.link("insulin in 2100, heart rate, last cxr with atelectasis")) == [
        ("year", "2100")
    ]


def test_the_cache_is_private_and_read_back(
    connection: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    database = Plain(connection)
    built = ValueIndex.build(database, cache=True)
    assert built == ValueIndex.build(connection)
    (cached,) = tmp_path.rglob("*.json")
    assert stat.S_IMODE(cached.stat().st_mode) == 0o600
    asked = database.asked
    assert ValueIndex.build(database, cache=True) == built
    assert database.asked == asked, "the second time it is read from the cache"
    cached.write_text("{broken")
    assert ValueIndex.build(database, cache=True) == built


def test_the_vocabulary_is_the_published_one(shared_data: Path) -> None:
    published = json.loads((shared_data / "ehrxqa" / "vqa_vocabulary.json").read_text())
    assert set(cxr_vocabulary.OBJECTS) == set(published["objects"])
    assert set(cxr_vocabulary.ATTRIBUTES) == set(published["attributes"])
    assert set(cxr_vocabulary.CATEGORIES) == set(published["categories"])


def test_recall_on_ehrsql_train(shared_data: Path) -> None:
    """At least 99.5% of the answerable questions have every literal of their gold SQL linked."""
    script = Path(__file__).parents[2] / "benchmarks" / "linking_recall.py"
    spec = importlib.util.spec_from_file_location("linking_recall", script)
    assert spec is not None and spec.loader is not None
    recall = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recall)
    data = shared_data / "ehrsql-2024"
    db = sqlite3.connect(f"file:{data / 'mimic_iv.sqlite'}?mode=ro", uri=True)
    linker = Linker(ValueIndex.build(db))
    db.close()
    gold = json.loads((data / "train" / "label.json").read_text())
    questions = json.loads((data / "train" / "data.json").read_text())["data"]
    whole = answerable = 0
    for question in questions:
        sql = gold[question["id"]]
        if sql != "null":
            links = linker.link(question["question"], fuzzy=False).links
            answerable += 1
            whole += all(recall.holds(links, literal) for literal in recall.literals(sql))
    assert whole / answerable >= 0.995


@pytest.mark.parametrize("text", ["5m", "30m", "12 m"])
def test_minutes_or_months_is_not_guessed(text: str) -> None:
    found = Linker(ValueIndex({})).link(f"admissions in the last {text}?")
    assert found.unknown == (("vague_dur", text),)
    assert found.links == ()


@pytest.mark.parametrize("text", ["5 min", "30 months", "5mg", "2 mo", "5m/s"])
def test_a_unit_that_is_clear_stays(text: str) -> None:
    assert Linker(ValueIndex({})).link(f"admissions in the last {text}?").unknown == ()
