"""Keeps a private server: run as a program of its own, so that the server never outlives whoever
started it, however that ends.

``python keeper.py FOLDER BIN PORT USER``: makes a cluster in FOLDER/data (the password of its
superuser is in FOLDER/password), starts it on 127.0.0.1:PORT, writes ``ready`` to its output, and
waits. When its input ends, it stops the server and removes FOLDER. As root, PostgreSQL's programs
run as USER, because they refuse to run as root.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
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
        with log.open("ab") as out:
            made = subprocess.run(
                [programs / "initdb", "-D", folder / "data", "-U", "ehrqa", "-A", "scram-sha-256",
                 "--pwfile", folder / "password", "-E", "UTF8", "--no-locale", "-N"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False, **as_user,
            )  # fmt: skip
            if made.returncode:
                return 1
            server = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", "-p", str(port), "-F",
                 "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
                 "-c", "max_connections=40", "-c", "shared_buffers=64MB", "-c", "autovacuum=off"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, **as_user,
            )  # fmt: skip
        if not _answers(server, port):
            return 1
        print("ready", server.pid, flush=True)
        sys.stdin.read()
        return 0
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


def _answers(server: subprocess.Popen[bytes], port: int) -> bool:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and server.poll() is None:
        with socket.socket() as line:
            line.settimeout(1.0)
            if line.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.05)
    return False


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
