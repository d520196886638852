"""The Java process that runs Spark, or that speaks to a cluster: one for all databases here.

It is started when the first question needs it (some seconds) and ends with this program, whose
end it sees by the pipe to it. It may also end by itself, or be ended because a query in it would
not stop; then the next question starts another.
"""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import shutil
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_spark import settings
from ehrqa_spark.told import told

_JAVA = "install a Java 17 runtime (Debian: openjdk-17-jre-headless), or set JAVA_HOME to one"
_SETTLE = 1.5  # seconds in which a cancelled query's tasks must have ended
_END = 5.0  # seconds in which the process must have ended


class _Told:
    """Settings in the shape that pyspark's launcher reads them."""

    def __init__(self, settings_: Mapping[str, str]) -> None:
        self._settings = settings_

    def getAll(self) -> list[tuple[str, str]]:
        """Every setting and its value."""
        return list(self._settings.items())


class _Py4jLog:
    """What py4j takes for the module ``logging``: it tells the root of all loggers, which prints,
    of a lost process, of which whoever asked is told anyway."""

    def __getattr__(self, name: str) -> Any:
        if name in ("info", "exception"):
            return logging.getLogger("py4j").debug
        return getattr(logging, name)


class Engine:
    """A running Spark. ``jvm`` gives its Java classes, to any thread."""

    def __init__(self, where: str, folder: Path, log: IO[bytes]) -> None:
        """Start it. Raises DatabaseError."""
        self.where = where
        self._folder = folder
        self._log = log
        self.working: set[str] = set()  # the queries that somebody waits for
        self._suspect = False  # something was cancelled in it, and may go on
        self._killed = False
        self._gateway = self._launched()
        self._process: subprocess.Popen[bytes] | None = self._gateway.proc
        self.jvm: Any = self._gateway.jvm
        try:
            self._session = self._begun()
            self._context = self._session.sparkContext()
        except Exception as error:
            why = self._cannot(error, self.gone())
            self.end()
            raise why from error
        except BaseException:
            self.end()
            raise

    @property
    def alive(self) -> bool:
        """Is the process still there?"""
        return not self._killed and (self._process is None or self._process.poll() is None)

    @property
    def out_of_memory(self) -> bool:
        """Did it end because its heap was full? (Java's -XX:+ExitOnOutOfMemoryError gives 3.)"""
        return self._process is not None and self._process.poll() == 3

    @property
    def no_commands(self) -> Any:
        """Spark's word for analyzing a plan without running any command in it."""
        mode = getattr(self.jvm.org.apache.spark.sql.execution, "CommandExecutionMode$")
        return getattr(mode, "MODULE$").SKIP()

    def hadoop(self) -> Any:
        """The configuration of file systems."""
        return self._context.hadoopConfiguration()

    def gone(self) -> bool:
        """Has the process ended? It is given a moment: its connections close a little before."""
        deadline = time.monotonic() + 0.3
        while self.alive and time.monotonic() < deadline:
            time.sleep(0.02)
        return not self.alive

    def kill(self) -> None:
        """End the process at once, with whatever runs in it."""
        self._suspect = self._killed = True
        if self._process is not None:
            self._process.kill()

    def new_session(self) -> Any:
        """A session of its own, with no tables yet (org.apache.spark.sql.classic.SparkSession)."""
        return self._session.newSession()

    def sequence(self, items: list[str]) -> Any:
        """A Scala Seq of texts."""
        return self.jvm.scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq()

    def version(self) -> str:
        """Spark's."""
        return str(self._context.version())

    def group(self, name: str) -> None:
        """What this thread runs from now on can be cancelled by ``name``."""
        self._context.setJobGroup(name, "ehrqa", True)

    def cancel(self, name: str) -> None:
        """End what runs, or will, under ``name``."""
        self._suspect = True
        with suppress(Exception):  # it may be gone
            self._context.cancelJobGroupAndFutureJobs(name)

    def settle(self, suspect: bool = False) -> None:
        """After a cancel: end the process if a task of it goes on, as loops in it can, for it would
        take a core for good. On a cluster Spark itself ends the task's executor."""
        with _lock:
            self._suspect = self._suspect or suspect
            if not self._suspect or self.working or not settings.in_one_process(self.where):
                return
            deadline = time.monotonic() + _SETTLE
            with suppress(Exception):
                while self._running():
                    if time.monotonic() > deadline:
                        self.end()
                        return
                    time.sleep(0.05)
            self._suspect = False

    def _running(self) -> int:
        found = self._context.statusTracker().getExecutorInfos()
        return sum(int(one.numRunningTasks()) for one in found)

    def end(self) -> None:
        """End the process, at once if it will not by itself; a second call does nothing."""
        process = self._process
        if process is None or self._log.closed:
            return
        if process.poll() is None:
            process.kill() if self._suspect else _hang_up(process)
        with suppress(Exception):
            self._gateway.shutdown()
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END)
        if process.poll() is None:
            process.kill()
            process.wait()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    # --- starting

    def _launched(self) -> Any:
        try:
            launcher = importlib.import_module("pyspark.java_gateway")
            importlib.import_module("py4j.java_gateway").logging = _Py4jLog()  # type: ignore[attr-defined]
        except ImportError as error:
            raise DatabaseError(
                f"pyspark cannot be loaded: {error}", "pip install pyspark"
            ) from error
        _java()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what pyspark does in Python's newer versions
            try:
                return launcher.launch_gateway(
                    _Told(settings.starting(self._folder)),
                    {"stdout": self._log, "stderr": self._log},
                )
            except Exception as error:
                raise self._cannot(error, gone=True) from error

    def _begun(self) -> Any:
        # If this program is killed, the process takes its folder away by itself.
        folder = self.jvm.java.io.File(str(self._folder))
        self.jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(folder)
        conf = self.jvm.org.apache.spark.SparkConf()
        for name, value in settings.fixed(self.where, self._folder).items():
            conf.set(name, value)
        for name, value in settings.unless_set().items():
            conf.setIfMissing(name, value)
        return (
            self.jvm.org.apache.spark.sql.classic.SparkSession.builder().config(conf).getOrCreate()
        )

    def _cannot(self, error: Exception, gone: bool) -> DatabaseError:
        said = self._said() if gone else ""
        if "UnsupportedClassVersionError" in said:
            return DatabaseError("Spark cannot run on this Java, which is too old", _JAVA)
        why = said or told(error)
        hint = f"check {settings.MASTER}, {settings.MEMORY} and Spark's own configuration"
        return DatabaseError(f"Spark cannot be started on {self.where}: {why}", hint)

    def _said(self) -> str:
        """The line of what the process said that tells most."""
        if self._log.closed:
            return ""
        self._log.seek(0)
        lines = self._log.read(100_000).decode(errors="replace").splitlines()
        bad = [line.strip() for line in lines if "error" in line.lower()]
        return (bad or lines or [""])[0][:200]


def _java() -> None:
    """Raise DatabaseError without a Java."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if found is None:
        where = f"in JAVA_HOME ({home})" if home else "on this machine"
        raise DatabaseError(f"Spark needs Java, and there is none {where}", _JAVA)


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    """It ends, and takes its files away, when nobody is at the other end of its pipe."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


_lock = threading.RLock()
_current: Engine | None = None


def current() -> Engine:
    """The engine that runs, started if there is none. Raises DatabaseError."""
    global _current
    with _lock:
        if _current is not None:
            _current.settle()
        where = settings.master()
        if _current is not None and (not _current.alive or _current.where != where):
            _current.end()
            _current = None
        if _current is None:
            folder = Path(tempfile.mkdtemp(prefix="ehrqa-spark-"))
            log = tempfile.TemporaryFile()  # noqa: SIM115 - the engine closes it
            try:
                _current = Engine(where, folder, log)
            except BaseException:
                log.close()
                shutil.rmtree(folder, ignore_errors=True)
                raise
        return _current


@contextmanager
def using(name: str) -> Iterator[Engine]:
    """The engine that runs, as ``current``; nobody ends it for what went before as long as
    ``name`` is among those it works for."""
    with _lock:
        engine = current()
        engine.working.add(name)
    try:
        yield engine
    finally:
        engine.working.discard(name)


def stop() -> None:
    """End the engine, if one runs; the next question starts another."""
    global _current
    with _lock:
        if _current is not None:
            _current.end()
            _current = None


atexit.register(stop)
