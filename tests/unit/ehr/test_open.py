"""The door: which backend opens what."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import ClassVar

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contracts.dialect import Dialect
from ehrqa_cli.contracts.errors import DatabaseError, PluginError, UsageError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result
from ehrqa_cli.ehr import schema
from ehrqa_cli.ehr.backend.now import now_in
from ehrqa_cli.ehr.backend.translated import Translated
from ehrqa_cli.ehr.open import backend_of, open_database, path_of

# A dialect of which only LIKE is ever written here.
Words: type[Dialect] = type(
    "Words",
    (Dialect,),
    {name: lambda *parts: "?" for name in Dialect.__abstractmethods__}
    | {"name": "elsewhere", "like": lambda _, text, pattern, escape: f"{text} ILIKE {pattern}"},
)


class Elsewhere(Database):
    """A database that does not speak SQLite's SQL, as a third party's may be."""

    dialect: ClassVar[str] = "elsewhere"
    words: ClassVar[type[Dialect] | None] = Words
    tables: ClassVar[dict[str, tuple[str, ...]]] = {
        t.name: tuple(c.name for c in t.columns) for t in schema.TABLES
    }
    told: ClassVar[str | None] = None

    def __init__(self, target: str) -> None:
        self.target = target
        self.asked: list[tuple[str, Limits | None]] = []

    @classmethod
    def open(cls, target: str) -> Elsewhere:
        return cls(target)

    def schema(self) -> Mapping[str, Sequence[str]]:
        return self.tables

    def types(self) -> Mapping[str, Mapping[str, str]]:
        return {t: dict.fromkeys(columns, "text") for t, columns in self.tables.items()}

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        self.asked.append((sql, limits))
        return Result(("x",), (("2099-05-06 07:08:09",),))

    def cancel(self) -> None:
        return

    def fingerprint(self) -> str:
        return "elsewhere:1"

    def default_as_of(self) -> str | None:
        return self.told

    def close(self) -> None:
        return


class Nowhere(Elsewhere):
    tables: ClassVar[dict[str, tuple[str, ...]]] = {"patients": ("row_id",)}
    told: ClassVar[str | None] = None


def _does_not_load(path: Path) -> bool:
    raise PluginError("the plugin 'elsewhere' does not load", "mend it")


@pytest.fixture
def only_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite and two made-up plugins are installed, and no other."""
    points = (
        ("sqlite", "ehrqa_cli.ehr.backend.sqlite:SqliteDatabase"),
        ("elsewhere", f"{__name__}:Elsewhere"),
        ("nowhere", f"{__name__}:Nowhere"),
    )
    made = EntryPoints(EntryPoint(name, value, registry.DATABASE) for name, value in points)
    monkeypatch.setattr(importlib.metadata, "entry_points", made.select)
    classes = {"elsewhere": Elsewhere, "nowhere": Nowhere}
    real = registry.load
    monkeypatch.setattr(
        registry,
        "load",
        lambda group, name, contract: classes.get(name) or real(group, name, contract),
    )


def test_what_opens_what(tmp_path: Path, demo_file: Path) -> None:
    duck = tmp_path / "x.db"
    duck.write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 100)
    folder = tmp_path / "tables"
    (folder / "hosp").mkdir(parents=True)
    assert backend_of(folder)[0] == "sqlite"  # nothing in it: SQLite's error says what it is
    (folder / "hosp" / "patients.csv.gz").write_bytes(b"")
    assert backend_of(demo_file) == ("sqlite", str(demo_file))
    assert backend_of(duck) == ("duckdb", str(duck))
    assert backend_of(folder) == ("duckdb", str(folder))
    assert backend_of(f"duckdb:{duck}") == ("duckdb", str(duck))
    assert backend_of("postgresql://host/name") == ("postgres", "postgresql://host/name")
    assert backend_of(tmp_path / "missing")[0] == "sqlite"


def test_where_things_are_kept(tmp_path: Path, demo_file: Path) -> None:
    assert path_of("duckdb:/there/is/none.duckdb") == Path("/there/is/none.duckdb")
    assert path_of(str(demo_file)) == demo_file
    assert path_of(f"sqlite:{demo_file}") == demo_file
    with pytest.raises(DatabaseError, match="not a duckdb database"):
        path_of(f"duckdb:{demo_file}")


@pytest.mark.usefixtures("only_ours")
@pytest.mark.parametrize("target", ["duckdb:x.duckdb", "postgresql://host/name", "no-such:x"])
def test_a_backend_that_is_not_installed_is_named(target: str) -> None:
    with pytest.raises(PluginError) as raised:
        open_database(target)
    assert "not installed" in raised.value.message
    assert "ehrqa-" in raised.value.hint


@pytest.mark.usefixtures("only_ours")
def test_a_third_party_opens_its_scheme_and_gets_its_own_dialect() -> None:
    database = open_database("elsewhere:ward-7")
    assert isinstance(database, Translated)
    inner = database.backend
    assert isinstance(inner, Elsewhere)
    assert inner.target == "elsewhere:ward-7"
    sql = "SELECT row_id FROM patients WHERE gender LIKE 'f'"
    database.execute(sql, Limits(seconds=2, rows=3))
    asked, limits = inner.asked[-1]
    assert asked == database.spelled(sql)
    assert "ILIKE" in asked
    assert limits is not None
    assert 0 < limits.seconds < 2, "the time that writing it anew took is over"
    assert limits.rows == 3
    assert database.dialect == "elsewhere"
    assert database.fingerprint() == "elsewhere:1"


@pytest.mark.usefixtures("only_ours")
def test_another_dialect_without_words_is_a_plugin_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Elsewhere, "words", None)
    with pytest.raises(PluginError, match="how SQL is written in elsewhere"):
        open_database("elsewhere:ward-7")


@pytest.mark.usefixtures("only_ours")
def test_a_file_is_opened_by_the_plugin_that_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo_file: Path
) -> None:
    odd = tmp_path / "odd.ehr"
    odd.write_text("mine")
    assert backend_of(odd)[0] == "sqlite"  # nobody's: SQLite's error says what it is not
    with monkeypatch.context() as patched, pytest.raises(PluginError, match="does not load"):
        patched.setattr(Elsewhere, "knows", _does_not_load)
        backend_of(odd)  # it might have been that one's
    monkeypatch.setattr(Nowhere, "in_files", True)
    monkeypatch.setattr(Nowhere, "knows", lambda path: path.suffix == ".ehr")
    assert backend_of(odd) == ("nowhere", str(odd))
    assert backend_of(f"nowhere:{odd}") == ("nowhere", str(odd))
    assert path_of(f"nowhere:{odd}") == odd
    assert backend_of(demo_file)[0] == "sqlite"
    with pytest.raises(DatabaseError, match="not a nowhere database"):
        path_of(f"nowhere:{demo_file}")


@pytest.mark.usefixtures("only_ours")
def test_now_is_what_the_data_say_else_the_end_of_the_last_year(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert now_in(open_database("elsewhere:x")) == "2099-12-31 23:59:00"
    monkeypatch.setattr(Elsewhere, "told", "2100-01-02 03:04:05")
    assert now_in(open_database("elsewhere:x")) == "2100-01-02 03:04:05"
    with pytest.raises(UsageError, match="does not say"):
        now_in(Nowhere("x"))


@pytest.mark.usefixtures("only_ours")
def test_what_is_no_ehr_is_said() -> None:
    with pytest.raises(DatabaseError, match="is not an EHR: it lacks"):
        open_database("nowhere:x")
