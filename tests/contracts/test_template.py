"""The template plugin, copied and installed by the very commands of its README."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ehrqa_cli.contract_suite.database import sample_tables

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "plugins" / "template"


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a machine on which the copy is installed."""
    pytest.importorskip("hatchling")
    if shutil.which("sed") is None:
        pytest.skip("the README's commands need sed")
    place = tmp_path_factory.mktemp("newcomer")
    shutil.copytree(
        TEMPLATE, place / "plugins" / "template", ignore=shutil.ignore_patterns("__pycache__")
    )
    (place / "checkout").mkdir()
    (place / "plugins").rename(place / "checkout" / "plugins")
    block = re.search(r"```sh\n(cp -r .*?)pip install", (TEMPLATE / "README.md").read_text(), re.S)
    assert block is not None
    made = subprocess.run(
        ["sh", "-ec", block[1]], cwd=place / "checkout", capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    site = place / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--no-index", "--target", site, place / "ehrqa-mine"], check=True)
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    made_of = {"PYTHONPATH": os.pathsep.join(paths), "COPY": str(place / "ehrqa-mine")}
    return {**os.environ, **made_of}


def _ehrqa(env: dict[str, str], *args: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ehrqa_cli", *map(str, args)]
    return subprocess.run(command, env=env, capture_output=True, text=True)


def test_nothing_of_the_template_s_name_is_left(mine: dict[str, str]) -> None:
    copy = Path(mine["COPY"])
    files = [p for p in copy.rglob("*") if p.suffix in (".py", ".toml")]
    assert len(files) >= 6
    assert not [p.name for p in files if re.search(r"ehrqa.template|\"template\"", p.read_text())]


def test_a_copy_passes_the_contract_suite(mine: dict[str, str]) -> None:
    ran = _ehrqa(mine, "plugins", "check", "mine", "--json")
    records = json.loads(ran.stdout)
    assert [(r["group"], r["state"]) for r in records] == [
        ("ehrqa.database", "passed"),
        ("ehrqa.judge", "passed"),
        ("ehrqa.note_reader", "passed"),
        ("ehrqa.text2sql", "passed"),
    ]
    assert ran.returncode == 0


def test_a_copy_answers(mine: dict[str, str], ehr: Path) -> None:
    for question, value in (("how many patients are there?", 2), ("how old is the youngest?", 50)):
        ran = _ehrqa(mine, "ask", question, "--db", ehr, "--model", "mine", "--json")
        told = json.loads(ran.stdout)
        assert (told["status"], told["value"]) == ("answered", value), ran.stdout
    declined = _ehrqa(mine, "ask", "who is the oldest?", "--db", ehr, "--model", "mine")
    assert declined.returncode == 3


def test_a_copy_s_database_is_asked_by_its_name(
    mine: dict[str, str], ehr: Path, tmp_path: Path
) -> None:
    """A new backend is its own folder and nothing else: dialect, scheme and all come with it."""
    env = mine | {"XDG_DATA_HOME": str(tmp_path / "home")}  # of the file that stands for it
    folder = tmp_path / "tables"
    folder.mkdir()
    for table in sample_tables(ehr):
        with (folder / f"{table.name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(f"{name}:{kind}" for name, kind in table.columns)
            writer.writerows(table.rows)
    for question, value in (("how many patients are there?", 2), ("how old is the youngest?", 50)):
        ran = _ehrqa(env, "ask", question, "--db", f"mine:{folder}", "--model", "mine", "--json")
        told = json.loads(ran.stdout)
        assert (told["status"], told["value"]) == ("answered", value), ran.stdout
    info = json.loads(_ehrqa(env, "db", "info", f"mine:{folder}", "--json").stdout)
    assert info["dialect"] == "mine"
    sql = "SELECT strftime('%Y', MIN(charttime)), MAX(valuenum) FROM labevents"
    rows = json.loads(_ehrqa(env, "sql", sql, "--db", f"mine:{folder}", "--json").stdout)["rows"]
    assert rows == [["2100", 2.75]]
    refused = _ehrqa(env, "sql", "DROP TABLE patients", "--db", f"mine:{folder}")
    assert (refused.returncode, "not a SELECT" in refused.stderr) == (1, True)
