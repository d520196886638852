"""The private server: which programs it is made of, and what is said when it does not start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ehrqa_postgres import PostgresDatabase, private, programs
from ehrqa_postgres.private import PrivateServer

from ehrqa_cli.contracts.errors import DatabaseError

posix = pytest.mark.skipif(os.name != "posix", reason="the programs here are shell scripts")


def make_programs(folder: Path, script: str) -> Path:
    folder.mkdir(parents=True)
    for name in ("initdb", "postgres"):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return folder


@posix
def test_the_programs_that_are_named_go_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, on_path = (make_programs(tmp_path / name, "exit 0") for name in ("own", "path"))
    monkeypatch.setenv("PATH", str(on_path))
    monkeypatch.delenv(programs.BIN, raising=False)
    assert programs.installed() == on_path
    monkeypatch.setenv(programs.BIN, str(own))
    assert programs.installed() == own
    (own / "postgres").unlink()
    assert programs.installed() is None  # what is named and is not there is not replaced
    assert PostgresDatabase.sample(tmp_path, []) is None


@posix
def test_a_server_that_does_not_start_is_told_in_one_line(tmp_path: Path) -> None:
    broken = make_programs(tmp_path / "bin", "echo first; echo 'FATAL: no room'; exit 1")
    with pytest.raises(DatabaseError, match="does not start: FATAL: no room") as raised:
        PrivateServer(broken)
    assert programs.BIN in raised.value.hint
    assert "\n" not in str(raised.value)


@pytest.mark.backend
@posix
def test_the_server_is_gone_with_whoever_started_it(server: PrivateServer) -> None:
    """Even when that was killed, as no program can prevent."""
    script = (
        "from pathlib import Path; import sys, time\n"
        "from ehrqa_postgres.private import PrivateServer\n"
        f"made = PrivateServer(Path({str(server.programs)!r}))\n"
        "print(made.pid, made.folder, flush=True); time.sleep(60)"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=os.environ.copy()
    )
    assert started.stdout is not None
    pid, folder = started.stdout.readline().split()
    assert os.path.exists(folder)
    started.send_signal(signal.SIGKILL)
    started.wait()
    started.stdout.close()
    until = time.monotonic() + 20
    while os.path.exists(folder) or os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < until, "it lives on"
        time.sleep(0.1)


@pytest.mark.backend
def test_nobody_gets_in_without_the_password(server: PrivateServer) -> None:
    address = server.address("postgres", private.OWNER).partition("?")[0]
    with pytest.raises(DatabaseError, match="no password supplied") as raised:
        PostgresDatabase.open(address)
    assert "pgpass" in raised.value.hint
    for path in (server.folder / "pgpass", server.folder / "password"):
        assert path.stat().st_mode & 0o077 == 0
