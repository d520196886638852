from __future__ import annotations

from pathlib import Path

import pytest

from ehrqa_cli import config
from ehrqa_cli.contracts.errors import UsageError


def write(tmp_path: Path, text: str) -> dict[str, str]:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return {"EHRQA_CONFIG": str(path)}


def test_defaults_without_a_file():
    found = config.load({})
    assert (found.db, found.model, found.log) == (None, "local", True)
    assert found.log_path().name == "answers.db"
    assert found.models_dir().name == "models"


def test_the_environment_wins_over_the_file(tmp_path: Path):
    env = write(tmp_path, 'db = "a.sqlite"\nmodel = "big"\nlog = false\n')
    assert config.load(env) == config.Settings(db=Path("a.sqlite"), model="big", log=False)
    env |= {"EHRQA_DB": "b.sqlite", "EHRQA_LOG": "ON", "EHRQA_MODELS": "/m"}
    assert config.load(env) == config.Settings(
        db=Path("b.sqlite"), model="big", log=True, models=Path("/m")
    )


def test_a_home_folder_is_expanded(tmp_path: Path):
    assert config.load(write(tmp_path, 'db = "~/x"')).db == Path("~/x").expanduser()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("db = ", "not valid TOML"),
        ("log = 1", "log must be true or false"),
        ("db = 5", "db must be a text"),
        ('model = " "', "model must be a text"),
        ('modle = "x"', "unknown setting 'modle'"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, word: str):
    env = write(tmp_path, text)
    with pytest.raises(UsageError, match=word) as raised:
        config.load(env)
    assert env["EHRQA_CONFIG"] in raised.value.message
    assert raised.value.hint


def test_a_near_name_is_suggested(tmp_path: Path):
    with pytest.raises(UsageError) as raised:
        config.load(write(tmp_path, 'modle = "x"'))
    assert "'model'" in raised.value.hint


def test_wrong_variables_and_missing_files_are_usage_errors(tmp_path: Path):
    with pytest.raises(UsageError, match="EHRQA_LOG"):
        config.load({"EHRQA_LOG": "perhaps"})
    with pytest.raises(UsageError, match="no settings file"):
        config.load({"EHRQA_CONFIG": str(tmp_path / "none.toml")})
