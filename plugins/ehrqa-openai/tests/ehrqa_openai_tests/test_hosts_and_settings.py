"""Who may be asked, and what the settings say; the key is shown nowhere."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from ehrqa_openai import OpenAiText2Sql, settings
from ehrqa_openai.hosts import address, allow
from ehrqa_openai.settings import Secret, Settings, lacking

from ehrqa_cli.contracts.errors import UsageError

from .fake import KEY

P = "EHRQA_OPENAI_"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/v1",
        "http://localhost/v1",
        "http://LOCALHOST.:1/v1",
        "http://127.9.9.9/v1",
        "https://[::1]:8443/v1",
    ],
)
def test_this_machine_may_always_be_asked(url: str) -> None:
    allow(address(url, "URL"), ())


@pytest.mark.parametrize(
    ("url", "allowed", "good"),
    [
        ("https://api.example.com/v1", (), False),
        ("https://api.example.com/v1", ("api.example.com",), True),
        ("https://API.example.com./v1", ("api.Example.com",), True),
        ("https://api.example.com:8443/v1", ("api.example.com:8443",), True),
        ("https://api.example.com:8444/v1", ("api.example.com:8443",), False),
        ("https://evil-api.example.com/v1", ("api.example.com",), False),
        ("https://api.example.com.evil.org/v1", ("api.example.com",), False),
        ("https://example.com/v1", ("*", "*.com", ""), False),
        ("http://gpu7:8000/v1", ("gpu7", "gpu7:8000"), False),
        ("http://gpu7:8000/v1", ("http://gpu7:8000",), True),
        ("http://gpu7:8001/v1", ("http://gpu7:8000",), False),
        ("https://gpu7:8000/v1", ("http://gpu7:8000",), False),
        ("http://0.0.0.0:8080/v1", (), False),
        ("http://169.254.169.254/v1", (), False),
        ("http://127.1/v1", (), False),
        ("http://localhost.evil.org/v1", (), False),
    ],
)
def test_other_hosts_must_be_named(url: str, allowed: tuple[str, ...], good: bool) -> None:
    if good:
        allow(address(url, "URL"), allowed)
        return
    with pytest.raises(UsageError) as error:
        allow(address(url, "URL"), allowed)
    assert "EHRQA_OPENAI_HOSTS=" in error.value.hint
    # What the hint says is enough.
    allow(address(url, "URL"), (error.value.hint.rpartition("=")[2],))


@pytest.mark.parametrize(
    "url",
    [
        f"http://me:{KEY}@127.0.0.1/v1",
        f"http://127.0.0.1/v1?api_key={KEY}",
        f"http://127.0.0.1/v1#{KEY}",
        f"http://127.0.0.1:{KEY}/v1",
        f"ftp://127.0.0.1/{KEY}",
        f"127.0.0.1/{KEY}",
        "",
        "http://",
        "http://127.0.0.1\\@evil.org/v1",
        "http://127.0.0.1 .evil.org/v1",
        "http://127.0.0.1:8080:9090/v1",
        "http://[::1/v1",
        "http://ex\u0430mple.com/v1",
    ],
)
def test_an_address_is_nothing_but_an_address(url: str) -> None:
    with pytest.raises(UsageError) as error:
        address(url, "EHRQA_OPENAI_URL")
    assert KEY not in str(error.value)


def load(monkeypatch: pytest.MonkeyPatch, **values: str) -> Settings:
    given = {"URL": "http://127.0.0.1:1/v1", "MODEL": "m"} | values
    for name, value in given.items():
        monkeypatch.setenv(P + name, value)
    return Settings.load()


def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    path = tmp_path / "openai.toml"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv(f"{P}CONFIG", str(path))
    return path


def test_variables_win_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'url = "https://a.example/v1/"\nmodel = "x"\nhosts = ["a.example"]\ntimeout = 5\n'
    write(tmp_path, monkeypatch, text + "logprobs = false\nretries = 4\nconcurrency = 3\n")
    monkeypatch.setenv(f"{P}RETRIES", "1")
    monkeypatch.setenv(f"{P}TIMEOUT", "")
    found = Settings.load()
    assert (found.base, found.model, found.timeout) == ("https://a.example:443/v1", "x", 5.0)
    assert (found.retries, found.concurrency, found.logprobs) == (1, 3, False)


def test_nothing_set_is_lacking_and_not_an_error() -> None:
    assert "EHRQA_OPENAI_URL and EHRQA_OPENAI_MODEL" in lacking()
    with pytest.raises(UsageError):
        OpenAiText2Sql()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIMEOUT", "soon"), ("TIMEOUT", "0"), ("TIMEOUT", "nan"), ("RETRIES", "-1"),
        ("RETRIES", "1.5"), ("CONCURRENCY", "0"), ("CONCURRENCY", "99999"), ("MAX_TOKENS", "0"),
        ("LOGPROBS", "maybe"), ("MODEL", "a\nb"), ("PROXY", "http://proxy.example:3128"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    with pytest.raises(UsageError) as error:
        load(monkeypatch, **{name: value})
    assert error.value.hint and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [f'key = "{KEY}"', f'kee = "{KEY}"', f"key_file = {KEY}", "timeout = true", "hosts = [1]"],
)
def test_a_wrong_file_is_refused_unquoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    write(tmp_path, monkeypatch, f'url = "http://127.0.0.1/v1"\nmodel = "m"\n{text}\n')
    with pytest.raises(UsageError) as error:
        Settings.load()
    assert "openai.toml" in error.value.message and KEY not in str(error.value)
    # A wrong file is no lack: `ehrqa plugins check` has to tell of it.
    assert settings.lacking() == ""


def test_a_file_that_is_named_and_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        load(monkeypatch, CONFIG="/nowhere/openai.toml")


def test_the_key_comes_from_a_variable_or_a_private_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another-programs")
    assert not load(monkeypatch).key
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n", encoding="utf-8")
    path.chmod(0o600)
    assert load(monkeypatch, KEY_FILE=str(path)).key.reveal() == KEY
    monkeypatch.setenv("MY_KEY", "other")
    assert load(monkeypatch, KEY_ENV="MY_KEY").key.reveal() == "other"
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(UsageError, match="MY_KEY"):
        load(monkeypatch)


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such permissions")
def test_a_key_that_others_can_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    path.write_text(KEY, encoding="utf-8")
    path.chmod(0o644)
    with pytest.raises(UsageError) as error:
        load(monkeypatch, KEY_FILE=str(path))
    assert "chmod 600" in error.value.hint and KEY not in str(error.value)


@pytest.mark.parametrize("key", [f"{KEY}\r\nX-Other: 1", f"{KEY} b", f"{KEY}é", " ", f"{KEY}\x07"])
def test_a_key_that_no_header_takes_is_refused(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    with pytest.raises(UsageError) as error:
        load(monkeypatch, KEY=key)
    assert KEY not in str(error.value)


def test_the_key_is_never_sent_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="unencrypted"):
        load(monkeypatch, URL="http://gpu7/v1", HOSTS="http://gpu7", KEY=KEY)
    assert load(monkeypatch, URL="https://gpu7/v1", HOSTS="gpu7", KEY=KEY).key


def test_the_key_has_no_representation(caplog: pytest.LogCaptureFixture) -> None:
    found = Settings("http://127.0.0.1/v1", "m", key=Secret(KEY))
    with caplog.at_level(logging.DEBUG):
        logging.getLogger().warning("%s %r", found, [found.key])
    assert KEY not in f"{found} {found!r} {found.key} {vars(found)} {caplog.text}"
