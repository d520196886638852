"""Keeps a private server: run as a program of its own, so that the server never outlives whoever
started it, however that ends.

``python keeper.py FOLDER BIN PORT USER``: makes a cluster in FOLDER/data (the password of its
superuser is in FOLDER/password), starts it on 127.0.0.1:PORT, writes ``ready`` and the server's
process to its output, and waits; or it writes ``failed`` and why. When its input ends, it stops the
server and removes FOLDER. As root, PostgreSQL's programs run as USER: they refuse to run as root.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_SECONDS = 60.0


def main(folder: Path, programs: Path, port: int, user: str) -> int:
    """Run until the input ends; the exit status is that of the start."""
    log = folder / "log"
    server: subprocess.Popen[bytes] | None = None
    try:
        as_user = _as_user(folder, user)
        programs = _in_reach(programs, folder) if as_user.get("user") else programs
        with log.open("ab") as out:
            made = subprocess.run(
                [programs / "initdb", "-D", folder / "data", "-U", "ehrqa", "-A", "scram-sha-256",
                 "--pwfile", folder / "password", "-E", "UTF8", "--no-locale", "-N"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False, **as_user,
            )  # fmt: skip
            if made.returncode:
                return _failed(log)
            server = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", "-p", str(port), "-F",
                 "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
                 "-c", "max_connections=40", "-c", "shared_buffers=64MB", "-c", "autovacuum=off"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, **as_user,
            )  # fmt: skip
        if not _ready(server, folder / "data" / "postmaster.pid"):
            return _failed(log)
        print("ready", server.pid, flush=True)
        sys.stdin.read()
        return 0
    except (OSError, KeyError) as error:
        print("failed", error, flush=True)
        return 1
    finally:
        if server is not None:
            _stop(server)
        shutil.rmtree(folder, ignore_errors=True)


def _as_user(folder: Path, user: str) -> dict[str, Any]:
    if os.name != "posix" or os.geteuid() != 0:
        return {"cwd": folder}
    import pwd

    found = pwd.getpwnam(user)
    data = folder / "data"
    data.mkdir(mode=0o700)
    for path in (data, folder / "password"):
        os.chown(path, found.pw_uid, found.pw_gid)
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": [], "cwd": "/"}


def _in_reach(programs: Path, folder: Path) -> Path:
    """The programs themselves, or a copy where another user could not enter a folder above them:
    a checkout under /root, say."""
    initdb = (programs / "initdb").resolve()
    if all(path.stat().st_mode & 0o001 for path in (initdb, *initdb.parents)):
        return programs
    installed = programs.resolve().parent
    package = installed.parent
    made = folder / package.name / installed.name
    shutil.copytree(installed, made, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")  # where a wheel keeps them
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name)
    for path in (made.parent, folder / libraries.name):
        for inside in (path, *path.rglob("*")) if path.is_dir() else ():
            mode = inside.stat().st_mode & 0o777
            inside.chmod(mode | (mode & 0o500) >> 6)  # others may do what the owner may, but write
    return made / programs.name


def _ready(server: subprocess.Popen[bytes], status: Path) -> bool:
    """Wait until the server says in its own file, on line 8, that it takes connections."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and server.poll() is None:
        with contextlib.suppress(OSError):
            if status.read_text().split("\n")[7:8] == ["ready   "]:
                return True
        time.sleep(0.05)
    return False


def _failed(log: Path) -> int:
    lines = log.read_text(errors="replace").strip().splitlines()
    print("failed", lines[-1] if lines else "it says nothing", flush=True)
    return 1


def _stop(server: subprocess.Popen[bytes]) -> None:
    """At once: what it holds is thrown away."""
    if server.poll() is None:
        server.send_signal(getattr(signal, "SIGQUIT", signal.SIGTERM))
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started it
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
