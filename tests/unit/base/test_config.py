from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from ehrqa_cli import config
from ehrqa_cli.config import document, template
from ehrqa_cli.contracts.errors import UsageError

LAYERED = """\
profile = "mimic-demo"
db = "a.sqlite"
model = "big"
log = false

[chat]
theme = "nord"

[profiles.mimic-demo]   # not [profiles.other]
images = "x-rays"
db = "demo.sqlite"

[profiles."ward-7"]
thresholds = '''
ward-7.json'''
as_of = 2100-12-31
chat.theme = "solarized"
[profiles.ward-7.chat.keys]
cancel = "ctrl+x"
"""


def write(tmp_path: Path, text: str | bytes) -> dict[str, str]:
    path = tmp_path / "config.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return {"EHRQA_CONFIG": str(path)}


def refused(env: dict[str, str]) -> UsageError:
    with pytest.raises(UsageError) as raised:
        config.load(env)
    assert raised.value.hint
    return raised.value


def test_defaults_without_a_file():
    found = config.load({})
    assert (found.db, found.model, found.reader, found.log) == (None, "local", "embedded", True)
    assert found.log_path().name == "answers.db"
    assert found.models_dir().name == "models"
    assert all(value.layer == "default" for value in config.resolve({}).found.values())


def test_flags_win_over_variables_over_the_profile_over_the_file(tmp_path: Path):
    env = write(tmp_path, LAYERED)
    path = tmp_path / "config.toml"
    found = config.resolve(env).found
    assert found["model"] == config.Found("big", "file", f"{path}:3")
    assert found["db"] == config.Found(tmp_path / "demo.sqlite", "profile", f"{path}:11")
    env |= {"EHRQA_DB": "v.sqlite", "EHRQA_MODEL": "small", "EHRQA_LOG": "ON", "EHRQA_GOAL": ""}
    resolved = config.resolve(env, {"db": "f.sqlite"})
    assert resolved.found["db"] == config.Found(Path("f.sqlite"), "flag", "--db")
    assert resolved.found["model"] == config.Found("small", "variable", "EHRQA_MODEL")
    assert resolved.found["goal"].layer == "default"  # an empty variable is none
    assert resolved.settings.log is True
    assert resolved.settings.images == tmp_path / "x-rays"


def test_a_profile_is_chosen_by_flag_else_variable_else_file(tmp_path: Path):
    env = write(tmp_path, LAYERED)
    assert config.load(env).profile == "mimic-demo"
    ward = config.load(env | {"EHRQA_PROFILE": "ward-7"})
    assert (ward.profile, ward.db, ward.model) == ("ward-7", tmp_path / "a.sqlite", "big")
    assert (ward.theme, dict(ward.keys)) == ("solarized", {"cancel": "ctrl+x"})
    assert ward.as_of == "2100-12-31"  # TOML's own dates are taken too
    chosen = config.resolve(env | {"EHRQA_PROFILE": "ward-7"}, {"profile": "mimic-demo"})
    assert chosen.found["profile"] == config.Found("mimic-demo", "flag", "--profile")


def test_labels_give_way_to_images_of_a_stronger_layer(tmp_path: Path):
    env = write(tmp_path, 'scene_graphs = "l"\nimages = "i"\n[profiles.a]\nimages = "x"')
    assert config.load(env).scene_graphs == tmp_path / "l"
    ward = config.load(env | {"EHRQA_PROFILE": "a"})
    assert (ward.images, ward.scene_graphs) == (tmp_path / "x", None)


def test_places_are_right_in_tables_and_after_values_of_many_lines(tmp_path: Path):
    found = config.resolve(write(tmp_path, LAYERED) | {"EHRQA_PROFILE": "ward-7"}).found
    lines = {name: value.where.rpartition(":")[2] for name, value in found.items() if value.where}
    expected = {
        "db": 2,
        "model": 3,
        "log": 4,
        "thresholds": 14,
        "as_of": 16,
        "theme": 17,
        "keys": 18,
    }
    assert lines == {"profile": "EHRQA_PROFILE"} | {k: str(v) for k, v in expected.items()}


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path):
    found = config.resolve(write(tmp_path, b'\xef\xbb\xbflog = true\r\n\r\ndb = "a"\r\n')).found
    assert found["db"].where.endswith(":3")


def test_paths_of_the_file_are_relative_to_it_and_those_of_variables_are_not(tmp_path: Path):
    env = write(tmp_path, 'db = "x/a"\nimages = "/abs"\nvision = "v/card.json"\nmodels = "~/m"')
    found = config.load(env | {"EHRQA_LOG_FILE": "here.db"})
    assert (found.db, found.images) == (tmp_path / "x/a", Path("/abs"))
    assert found.vision == str(tmp_path / "v/card.json")
    assert found.models == Path("~/m").expanduser()
    assert found.log_file == Path("here.db")
    assert config.load(write(tmp_path, 'vision = "lungs-1.2"')).vision == "lungs-1.2"  # a name


def test_several_files_of_concepts_may_be_named(tmp_path: Path):
    here = tmp_path / "a.toml"
    assert config.load(write(tmp_path, 'concepts = "a.toml"')).concepts == (here,)
    env = write(tmp_path, 'concepts = ["a.toml", "/b.csv"]')
    assert config.load(env).concepts == (here, Path("/b.csv"))
    env["EHRQA_CONCEPTS"] = os.pathsep.join(("c.toml", "d.json"))
    assert config.load(env).concepts == (Path("c.toml"), Path("d.json"))
    wrong = refused(write(tmp_path, 'concepts = ["a.toml", 1]'))
    assert "concepts must be a path in quotes, or a list of them" in wrong.message


def test_a_database_may_be_an_address(tmp_path: Path):
    address = "postgresql://reader@host/ehr"
    assert config.load(write(tmp_path, f'db = "{address}"')).db == address
    assert config.load({"EHRQA_DB": address}).db == address
    named = config.load(write(tmp_path, 'db = "duckdb:x/a.duckdb"')).db
    assert named == f"duckdb:{tmp_path / 'x/a.duckdb'}"


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ('db = "a"\nmodel = ', 2, "not valid TOML"),
        ('db = "a"\n\ndb = "b"', 3, "not valid TOML"),
        ('\ngoal = """a\nb', 3, "not valid TOML"),
        ("\nlog = 1", 2, "log must be true or false, not a number"),
        ("# one\ndb = 5", 2, "db must be a path"),
        ('model = " "', 1, "model is empty"),
        ('db = "a\\u0000b"', 1, "control characters"),
        ('db = "~nobody-of-this-name/x"', 1, "home folder"),
        ('as_of = "2100"\nmodle = "x"', 2, "unknown setting 'modle'"),
        ("profile = 3", 1, "profile must be text"),
        ("\nprofiles = 3", 2, "profiles must be a table, not a number"),
        ('[profiles]\na = "x"', 2, "profiles.a must be a table, not text"),
        ("[profiles.a]\ndb = []", 2, "db must be a path or an address in quotes, not a list"),
        ("[profiles.a]\n\n[profiles.b]\nprofile = 'a'", 4, "unknown setting 'profiles.b.profile'"),
        ("[chat]\ntheem = 'x'", 2, "unknown setting 'chat.theem'"),
        ("[chat.keys]\nquit = 3", 1, "chat.keys.quit must be text"),
        ("chat = true", 1, "chat must be a table"),
        ("[[profiles]]\ndb = 'x'", 1, "profiles must be a table, not a list"),
        ("\n\nprofile = 'a'\n[profiles.b]", 3, "there is no profile 'a'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, line: int, word: str):
    env = write(tmp_path, text)
    error = refused(env)
    assert error.message.startswith(f"{env['EHRQA_CONFIG']}:{line}: ")
    assert word in error.message
    assert "\n" not in error.message + error.hint


def test_near_names_are_suggested(tmp_path: Path):
    assert "'model'" in refused(write(tmp_path, 'modle = "x"')).hint
    assert "'theme'" in refused(write(tmp_path, "[chat]\ntheem = 'x'")).hint
    assert "known: db," in refused(write(tmp_path, "zzz = 1")).hint
    env = write(tmp_path, LAYERED) | {"EHRQA_PROFILE": "ward7"}
    error = refused(env)
    assert error.message.startswith("EHRQA_PROFILE: ") and "'ward-7'" in error.hint


def test_a_wrong_value_is_not_printed(tmp_path: Path):
    error = refused(write(tmp_path, 'password = "hunter2"'))
    assert "hunter2" not in str(error)
    assert "hunter2" not in str(refused(write(tmp_path, 'db = ["hunter2"]')))


def test_a_file_that_is_no_text_is_told(tmp_path: Path):
    latin = write(tmp_path, "log = true\n# Zürich\n".encode("latin-1"))
    assert refused(latin).message == f"{latin['EHRQA_CONFIG']}:2: not UTF-8"
    assert "too large" in refused(write(tmp_path, b"#" * (document.MOST + 1))).message
    assert "nested too deeply" in refused(write(tmp_path, "a = " + "[" * 100_000)).message


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    env = write(tmp_path, "log = true")

    def forbidden(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    assert "cannot read" in refused({"EHRQA_CONFIG": str(tmp_path)}).message  # a folder
    monkeypatch.setattr(Path, "open", forbidden)
    assert refused(env).message == f"cannot read {env['EHRQA_CONFIG']}: Permission denied"
    assert "cannot read" in refused({}).message  # not: as if there were no file


def test_wrong_variables_and_missing_files_are_usage_errors(tmp_path: Path):
    assert refused({"EHRQA_LOG": "perhaps"}).message.startswith("EHRQA_LOG: ")
    assert "no settings file" in refused({"EHRQA_CONFIG": str(tmp_path / "none.toml")}).message
    assert "no settings file" in refused({"EHRQA_PROFILE": "ward-7"}).message


def test_all_problems_are_told_at_once(tmp_path: Path):
    env = write(tmp_path, "modle = 'x'\nlog = 1\n[profiles.a]\ndb = 3\n")
    assert "2 more" in refused(env).hint
    env |= {"EHRQA_LOG": "maybe", "EHRQA_PROFILE": "b", "EHRQA_MODLES": "/m", "EHRQA_OTHERS": "x"}
    found = config.problems(env)
    path = env["EHRQA_CONFIG"]
    assert [problem.where for problem in found[:4]] == [
        f"{path}:1",
        f"{path}:2",
        f"{path}:4",
        "EHRQA_MODLES",
    ]
    assert [problem.error().message.split(":")[0] for problem in found[4:]] == [
        "EHRQA_LOG",
        "EHRQA_PROFILE",
    ]
    assert config.problems(write(tmp_path, LAYERED)) == []


def test_blame_names_the_place_of_a_value(tmp_path: Path):
    resolved = config.resolve(write(tmp_path, "\ngoal = 'x'"))
    blamed = resolved.blame("goal", UsageError("'x' is not a goal", "write penalty=10"))
    assert blamed.message == f"{tmp_path / 'config.toml'}:2: 'x' is not a goal"


def test_the_written_file_holds_every_setting_and_sets_nothing(tmp_path: Path):
    text = template.text()
    assert tomllib.loads(text) == {}
    assert max(map(len, text.splitlines())) <= 100
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    whole = "\n".join(line for line in lines if "=" in line.split("#")[0] or line[:1] == "[")
    whole = "\n".join(line for line in whole.splitlines() if not line.endswith("."))
    resolved = config.resolve(write(tmp_path, whole))  # as if every example were taken
    assert resolved.settings.profile == "mimic-demo"
    assert resolved.written.profiles == ["mimic-demo", "ward-7"]
    given = {name for name, found in resolved.found.items() if found.layer != "default"}
    assert given == {"profile", *(of.name for of in config.FIELDS)}


def test_writing_is_private_whole_and_never_over_another_file(tmp_path: Path):
    path = tmp_path / "new" / "config.toml"
    template.write(path, force=False)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("log = false")
    with pytest.raises(UsageError, match="already"):
        template.write(path, force=False)
    assert path.read_text() == "log = false"
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    template.write(link, force=True)
    assert link.is_symlink() and path.read_text() == template.text()
    assert os.listdir(path.parent) == ["config.toml"]
    with pytest.raises(UsageError, match="cannot write"):
        template.write(path / "below-a-file", force=False)


def test_every_field_of_the_settings_is_listed():
    named = {"profile", *(of.name for of in config.FIELDS)}
    assert named == set(vars(config.Settings()))


def test_every_setting_and_variable_is_documented():
    page = (Path(__file__).resolve().parents[3] / "docs" / "configuration.md").read_text()
    for of in config.FIELDS:
        assert f"| `{of.key} = {of.example}` |" in page
        assert of.variable is None or f"`{of.variable}`" in page
