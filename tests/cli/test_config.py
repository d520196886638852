"""`ehrqa config` and `--profile`, as a user runs them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from ehrqa_cli.engine.parts import shipped_thresholds

LAST = "last creatinine of patient 101?"
COUNT = "SELECT count(*) FROM patients"


@pytest.fixture
def file(private_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the settings file is; it is not there yet."""
    path = tmp_path / "settings" / "config.toml"
    path.parent.mkdir()
    monkeypatch.setenv("EHRQA_CONFIG", str(path))
    return path


@pytest.fixture
def wards(file: Path, ehr: Path) -> Path:
    """Settings with two profiles, of which ward-7 has a database."""
    file.write_text(
        'profile = "empty"\n'
        'goal = "penalty=5"\n'
        "[profiles.empty]\n"
        'db = "none.sqlite"\n'
        "[profiles.ward-7]\n"
        f'db = "../{ehr.name}"\n'
        'model = "local"\n'
    )
    return file


def rows(out: str) -> dict[str, tuple[str, str]]:
    split = [re.split(" {2,}", line) for line in out.splitlines()]
    return {name: (value, origin) for name, value, origin in split}


def test_the_platforms_place_is_printed_without_a_file(cli, private_home):
    ran = cli("config", "path")
    assert (ran.code, ran.err) == (0, "")
    assert Path(ran.out.strip()).is_relative_to(private_home)


def test_init_writes_a_private_file_that_shows_and_validates(cli, file):
    ran = cli("config", "init")
    assert (ran.code, ran.out) == (0, f"{file}\n")
    assert file.stat().st_mode & 0o777 == 0o600
    assert cli("config", "validate").code == 0
    assert {where for _, where in list(rows(cli("config", "show").out).values())[1:]} == {"default"}


def test_init_never_overwrites_without_force(cli, file):
    file.write_text("log = false\n")
    ran = cli("config", "init")
    assert ran.code == 2
    assert ran.err.splitlines() == [
        f"error: there is a settings file already: {file}",
        "hint: edit it, or overwrite it with --force",
    ]
    assert file.read_text() == "log = false\n"
    assert cli("config", "init", "--force").code == 0
    assert "log = false" not in file.read_text()


def test_show_says_where_each_value_comes_from(cli, wards, ehr, monkeypatch):
    monkeypatch.setenv("EHRQA_MODEL", "local")
    told = rows(cli("config", "show", "--as-of", "2100-01-01", "--no-log").out)
    assert told["profile"] == ("empty", f"{wards}:1")
    assert told["goal"] == ("penalty=5", f"{wards}:2")
    assert told["db"] == (str(wards.parent / "none.sqlite"), f"{wards}:4 (profile)")
    assert told["model"] == ("local", "EHRQA_MODEL")
    assert told["as_of"] == ("2100-01-01", "--as-of")
    assert told["log"] == ("off", "--no-log")
    assert told["reader"] == ("embedded", "default")


@pytest.mark.parametrize("place", ["before", "after"])
def test_show_json_of_a_profile_named_on_the_command_line(cli, wards, ehr, place):
    named = ("--profile", "ward-7")
    args = ["config", "show", "--json"]
    ran = cli(*named, *args) if place == "before" else cli(*args, *named)
    told = json.loads(ran.out)
    assert (told["file"], told["profiles"]) == (str(wards), ["empty", "ward-7"])
    assert told["settings"]["profile"] == {"value": "ward-7", "from": "flag", "where": "--profile"}
    db = told["settings"]["db"]
    assert (db["from"], db["where"]) == ("profile", f"{wards}:6")
    assert "EHRQA_PROFILE" not in os.environ  # it ends with the command


def test_a_password_in_a_url_is_not_printed(cli, file):
    file.write_text('db = "postgres://reader:hunter2@host/ehr"\n')
    for ran in (cli("config", "show"), cli("config", "show", "--json")):
        assert "hunter2" not in ran.out + ran.err and "reader" in ran.out


@pytest.mark.parametrize("place", ["before", "after", "variable"])
def test_a_profile_names_the_database(cli, wards, place, monkeypatch):
    if place == "variable":
        monkeypatch.setenv("EHRQA_PROFILE", "ward-7")
    named = () if place == "variable" else ("--profile", "ward-7")
    args = ["sql", COUNT]
    ran = cli(*named, *args) if place == "before" else cli(*args, *named)
    assert (ran.code, ran.out.split()[-1]) == (0, "2")
    monkeypatch.delenv("EHRQA_PROFILE", raising=False)
    assert cli("sql", COUNT).code == 1  # the file's own profile has none


def test_a_variable_that_wins_over_the_named_profile_is_told(cli, wards, ehr, monkeypatch):
    other = ehr.with_name("other.sqlite")
    other.write_bytes(ehr.read_bytes())
    monkeypatch.setenv("EHRQA_DB", str(other))
    ran = cli("config", "show", "--profile", "ward-7")
    assert rows(ran.out)["db"] == (str(other), "EHRQA_DB")
    ran = cli("sql", COUNT, "--profile", "ward-7")
    assert ran.code == 0
    assert ran.err.splitlines() == [
        f"warning: EHRQA_DB is set and wins over db of profile 'ward-7' ({wards}:6)"
    ]


@pytest.mark.parametrize("args", [("sql", COUNT), ("config", "show"), ("ask", LAST)])
def test_an_unknown_profile_is_told_with_the_near_one(cli, wards, ehr, args):
    for ran in (cli("--profile", "ward-8", *args), cli(*args, "--profile", "ward-8")):
        assert (ran.code, ran.out) == (2, "")
        error, hint = ran.err.splitlines()
        assert error.startswith("error: --profile: there is no profile 'ward-8'")
        assert hint == "hint: did you mean 'ward-7'?"


def test_settings_stand_in_for_flags_of_ask(cli, wards, ehr, rote, monkeypatch):
    shipped = shipped_thresholds()
    assert shipped is not None
    made_with = {"model": "rote", "sha256": shipped.source["model_sha256"]}
    monkeypatch.setattr(rote, "provenance", lambda _: made_with)
    with wards.open("a") as file:
        file.write('as_of = "2100-02-03 12:00:00"\nlog = false\n')
    told = json.loads(cli("ask", LAST, "--json", "--profile", "ward-7").out)
    assert told["provenance"]["as_of"] == "2100-02-03 12:00:00"
    assert "penalty=5" in json.dumps(told["provenance"]["thresholds"])
    given = cli("ask", LAST, "--json", "--profile", "ward-7", "--as-of", "2100-12-31")
    assert json.loads(given.out)["provenance"]["as_of"] == "2100-12-31 23:59:00"
    now = cli("sql", "SELECT current_time", "--profile", "ward-7")
    assert "2100-02-03 12:00:00" in now.out


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('as_of = "tomorrow"', "'tomorrow' is not a time"),
        ('goal = "luck"', "'luck' is not a goal"),
        ('thresholds = "none.json"', "cannot read thresholds"),
    ],
)
def test_a_value_that_ask_cannot_use_is_told_with_its_line(cli, file, ehr, rote, line, word):
    file.write_text(f'db = "{ehr}"\n{line}\n')
    ran = cli("ask", LAST)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {file}:2: ") and word in ran.err


def test_a_flag_wins_over_a_wrong_setting(cli, file, ehr, rote):
    file.write_text(f'db = "{ehr}"\nas_of = "tomorrow"\n')
    assert cli("ask", LAST, "--as-of", "2100-12-31").code == 0


def test_validate_tells_all_problems_at_once(cli, file, ehr, monkeypatch):
    (file.parent / "t.json").write_text("{}")
    file.write_text(
        "modle = 'x'\n"
        f"db = '{ehr}'\n"
        "images = 'none'\n"
        "[profiles.a]\n"
        "db = 'none.sqlite'\n"
        "model = 'locla'\n"
        "reader = 'embeded'\n"
        "vision = 'eyes'\n"
        "as_of = 'tomorrow'\n"
        "goal = 'luck'\n"
        "thresholds = 't.json'\n"
        "scene_graphs = 'none'\n"
        "models = 'none/none'\n"
        "log_file = '/'\n"
        "notes = 'none'\n"
        "[profiles.b]\n"
        "log = 'perhaps'\n"
        "db = 'config.toml'\n"
    )
    monkeypatch.setenv("EHRQA_LOG", "perhaps")
    ran = cli("config", "validate")
    assert (ran.code, ran.err) == (1, "")
    lines = ran.out.splitlines()
    told = {line.split(": ")[0].removeprefix(f"{file}:") for line in lines}
    wrong = {1, 3, *range(5, 16), 17, 18}
    assert told == {"EHRQA_LOG", *map(str, wrong)}
    assert len(lines) == len(told)  # one line each
    by_line = {line.split(": ")[0].rpartition(":")[2]: line for line in lines}
    assert "did you mean 'model'?" in by_line["1"]
    assert "did you mean 'local'?" in by_line["6"]
    assert "did you mean 'embedded'?" in by_line["7"]
    found = json.loads(cli("config", "validate", "--json").out)
    assert len(found) == len(lines)
    assert set(found[0]) == {"where", "message", "hint"}


def test_validate_tells_a_goal_that_the_thresholds_lack(cli, file):
    plain = {"weights": {}, "intercept": 0, "limit": 1, "calibration": [], "source": {}}
    (file.parent / "t.json").write_text(json.dumps(plain))
    file.write_text("thresholds = 't.json'\n[profiles.a]\ngoal = 'penalty=5'\n[profiles.b]\n")
    ran = cli("config", "validate")
    assert ran.code == 1
    assert ran.out.startswith(f"{file}:3: goal: ") and ran.out.count("\n") == 1
    assert "no limit for penalty=5" in ran.out


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b"db = \n", ":1: not valid TOML"),
        (b"log = true\n\xff\xfe\n", ":2: not UTF-8"),
        (b"[profiles]\nx = 1\n", ":2: profiles.x must be a table"),
    ],
)
def test_a_broken_file_is_one_problem_and_path_and_init_still_work(cli, file, raw, word):
    file.write_bytes(raw)
    ran = cli("config", "validate")
    assert (ran.code, ran.out.count("\n")) == (1, 1)
    assert ran.out.startswith(f"{file}{word}")
    for args in (("config", "show"), ("sql", COUNT), ("log", "path"), ("--profile", "x", "demo")):
        shown = cli(*args)
        assert shown.code == 2 and f"{file}{word}" in shown.err
    assert cli("config", "path").out == f"{file}\n"
    assert cli("--profile", "x", "config", "path").out == f"{file}\n"
    assert cli("config", "init", "--force").code == 0
    assert cli("config", "validate").code == 0


def test_validate_without_a_file_is_content(cli, private_home):
    ran = cli("config", "validate")
    assert (ran.code, ran.out) == (0, "")
    assert "ehrqa config init" in ran.err


def test_doctor_names_the_file_the_profile_and_the_variables(cli, wards, monkeypatch):
    from ehrqa_cli.cli import checks

    monkeypatch.setenv("EHRQA_LOG", "off")
    monkeypatch.setenv("EHRQA_PROFILE", "ward-7")
    (finding,) = checks.settings()
    assert finding.detail == f"{wards}, profile ward-7, EHRQA_PROFILE, EHRQA_LOG"
