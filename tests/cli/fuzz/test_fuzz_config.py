"""Whatever a settings file or a variable holds, it is taken or told on one line with its place."""

from __future__ import annotations

import random
import time
from pathlib import Path

from ehrqa_cli import config
from ehrqa_cli.config.fields import FIELDS
from ehrqa_cli.config.template import text as template_text
from ehrqa_cli.contracts.errors import UsageError

from .odd import INPUTS, harmed, text

VALUES = (
    *('"x"', "true", "0", "-1", "9" * 5000, "1e999", "nan", "2100-01-01", "2100-01-01T25:00:00"),
    *("[]", "{}", "[[1]]", '"\\ud800"', '"\\u0000"', "'''", '"""a', '"' + "y" * 5000 + '"'),
    *("{a = {b = 1}}", "[" * 500, "'/no/such'", '"duckdb:x"', '"postgresql://u:p@h/d"', "0x_1"),
)
NAMES = [of.name for of in FIELDS] + ["profile", "profiles", "chat", "unknown", '""', "a.b", "é"]


def setting(rng: random.Random) -> str:
    how = rng.randrange(8)
    if how == 0:
        return rng.choice(("[chat]", "[profiles.a]", "[profiles.a.chat]", "[[x]]", "[", "[a.b.c]"))
    if how == 1:
        return "# " + text(rng).replace("\n", " ")
    value = rng.choice(VALUES) if how < 6 else repr(text(rng))
    return f"{rng.choice(NAMES)} = {value}"


def settings(rng: random.Random) -> bytes:
    lines = [setting(rng) for _ in range(rng.randrange(6))]
    raw = "\n".join(lines).encode("utf-8", "backslashreplace")
    if rng.random() < 0.3:
        raw = template_text().encode()
    return harmed(rng, raw) if rng.random() < 0.4 else raw


def test_odd_settings_files(cli, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("EHRQA_CONFIG", str(path))
    wrong = 0
    for number in range(INPUTS):
        path.write_bytes(settings(random.Random(f"file {number}")))
        started = time.monotonic()
        try:
            config.load()
        except UsageError as error:
            wrong += 1
            assert error.hint is not None and str(path) in str(error), number
        assert config.problems() is not None
        assert time.monotonic() - started < 5, number
        if number % 20 == 0:
            for args in (("config", "validate"), ("config", "show"), ("log", "path")):
                ran = cli(*args)
                assert ran.code in (0, 1, 2) and "unexpected" not in ran.err, (number, ran)
    assert 0 < wrong < INPUTS


def test_odd_variables() -> None:
    variables = [of.variable for of in FIELDS if of.variable] + ["EHRQA_PROFILE", "EHRQA_LOGG"]
    for number in range(INPUTS):
        rng = random.Random(f"variable {number}")
        env = {rng.choice(variables): rng.choice((text(rng), rng.choice(VALUES)))}
        try:
            config.load(env)
        except UsageError as error:
            assert error.message and error.hint, env
        assert config.problems(env) is not None
