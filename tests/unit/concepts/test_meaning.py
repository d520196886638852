"""Phrases, their concepts, the items of a record, and the cache of all that."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from ehrqa_cli.concepts import meaning
from ehrqa_cli.concepts.meaning import Meanings, folded, open_meanings
from ehrqa_cli.concepts.own import files_for
from ehrqa_cli.contracts.concepts import Concept, Item
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase

GLUCOSE = Item("labevents", "itemid", 1, "Glucose", "blood", "chemistry", "mg/dl", 5, "a", "b")
URINE = Item("labevents", "itemid", 2, "Glucose", "urine", rows=9)
BIOPSY = Item("procedures_icd", "icd_code", "icd9|5011", "Closed biopsy of liver", rows=3)
RF = Item("diagnoses_icd", "icd_code", "icd10|j9601", "Acute respiratory failure", rows=2)
MADE = Meanings(
    [GLUCOSE, URINE, BIOPSY, RF],
    [
        Concept("lab", "glucose", ("glucose", "blood sugar"), (GLUCOSE,), alone=True),
        Concept("proc", "biopsy", ("biopsy",), (BIOPSY,)),
        Concept("dx", "respiratory failure", ("respiratory failure", "RF"), (RF,), "J96.*", "ccs"),
        Concept("dx", "rheumatic fever", ("rf", "Still's disease"), (), "I00"),
        Concept("vital", "blood pressure", ("bp",), several=True),
    ],
)


@pytest.mark.parametrize(
    ("phrase", "names"),
    [
        ("Blood-Sugar", ["glucose"]),
        ("blood sugars", ["glucose"]),
        ("biopsies", ["biopsy"]),
        ("still disease", ["rheumatic fever"]),
        ("STILL'S DISEASE", ["rheumatic fever"]),
        ("bps", []),
        ("biops", []),
        ("sugar", []),
        ("", []),
    ],
)
def test_a_phrase_is_known_in_any_case_mark_and_number(phrase: str, names: list[str]) -> None:
    assert [concept.name for concept in MADE.named(phrase)] == names
    assert MADE.knows(folded(phrase)) == bool(names)


def test_a_phrase_may_have_two_meanings_and_one_without_items() -> None:
    assert [(c.name, c.items) for c in MADE.named("rf")] == [
        ("respiratory failure", (RF,)), ("rheumatic fever", ())
    ]  # fmt: skip
    assert [c.name for c in MADE.find("RF", "dx")] == ["respiratory failure", "rheumatic fever"]
    assert MADE.find("rf", "lab") == []


def test_what_is_no_phrase_is_found_by_the_words_of_items() -> None:
    (found,) = MADE.find("liver biopsy")
    assert (found.kind, found.items, found.source) == ("proc", (BIOPSY,), "its words")
    assert MADE.find("liver transplant") == []
    assert MADE.items("glucose") == [URINE, GLUCOSE], "the commonest first"


def test_a_name_means_every_item_that_has_it() -> None:
    assert MADE.of_name("lab", "GLUCOSE").items == (GLUCOSE, URINE)
    assert MADE.of_name("drug", "glucose").items == ()
    assert (MADE.has("lab"), MADE.has("drug")) == (True, False)


def test_what_was_saved_is_the_same_and_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "meanings.json"
    MADE.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["meanings.json"]
    again = Meanings.load(path)
    for phrase in MADE.phrases():
        assert again.named(phrase) == MADE.named(phrase)
    assert again.items("glucose") == [URINE, GLUCOSE]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many items each build was made of."""
    made: list[int] = []
    build = meaning.build

    def counted(items: list[Item]) -> Meanings:
        made.append(len(items))
        return build(items)

    monkeypatch.setattr(meaning, "build", counted)
    return made


def _opened(path: Path) -> Meanings:
    database = SqliteDatabase.open(str(path))
    try:
        return open_meanings(database)
    finally:
        database.close()


def _cached() -> Path:
    from platformdirs import user_cache_path

    (path,) = (user_cache_path("ehrqa") / "concepts").iterdir()
    return path


def test_a_record_is_read_once(ehr: Path, built: list[int]) -> None:
    (first,) = [c for c in _opened(ehr).named("creatinine") if c.items]
    assert [(i.name, i.rows, i.unit) for i in first.items] == [("creatinine", 3, "mg/dl")]
    assert _opened(ehr).named("creatinine") == _opened(ehr).named("creatinine")
    assert len(built) == 1
    assert stat.S_IMODE(_cached().stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"items": []}', '{"items": 3}', "\0"])
def test_a_damaged_cache_is_made_again(ehr: Path, built: list[int], text: str) -> None:
    _opened(ehr)
    _cached().write_text(text)
    assert _opened(ehr).named("creatinine")[0].items
    assert len(built) == 2
    _opened(ehr)
    assert len(built) == 2


def test_a_changed_record_is_read_again(ehr: Path, built: list[int], tmp_path: Path) -> None:
    _opened(ehr)
    other = tmp_path / "other.sqlite"
    shutil.copy(ehr, other)
    with sqlite3.connect(other) as connection:
        connection.execute("DELETE FROM labevents WHERE row_id = 0")
    connection.close()
    assert [item.rows for item in _opened(other).items("creatinine")] == [2]
    assert len(built) == 2


def test_a_folder_that_cannot_be_written_costs_only_time(
    ehr: Path, built: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Meanings, path: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Meanings, "save", full)
    assert _opened(ehr).named("creatinine")[0].items
    assert _opened(ehr).named("creatinine")[0].items
    assert len(built) == 2


def test_a_user_s_own_stand_over_these(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[[concept]]\nname = "sugar"\nitems = [2]\n')
    own = MADE.with_own(files_for(None, [path]))
    assert own.named("sugar")[0].items == (URINE,)
    assert own.named("blood sugar") == MADE.named("blood sugar")
    assert MADE.named("sugar") == [] and MADE.with_own([]) is MADE
    path.write_text('[[concept]]\nadds = "gout"\nitems = [2]\n')
    with pytest.raises(UsageError, match="gout"):
        MADE.with_own(files_for(None, [path]))
