"""`ehrqa chat` in a real terminal (tmux), by script; what was on the screen is kept.

    python tests/benchmarks/chat_tmux.py --out docs/chat [--size 120x36] [--reader FILE.gguf]

Everything asked about is made up: the demo EHR, the notes of models/corpus/notes, and X-rays
drawn by chat_film.py. It asks a table, an image and a note question and a follow-up, types
commands, asks what is
offered in place of one that has no answer, edits a query, ends it and a question, exports, and
searches in the history. How long each end took is printed: from the key until the line is free, and
until what ran below has ended. It stops with an error where something expected does not appear.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
NOTES = HERE.parents[1] / "models/corpus/notes/notes.jsonl"
SLOW = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 900000000)"
    " SELECT count(*) FROM n"
)
LONGEST = 180.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/chat"))
    parser.add_argument("--size", default="120x36")
    parser.add_argument("--work", type=Path, help="keep what is made here")
    parser.add_argument("--reader", help="also end a question while this GGUF file reads notes")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        folder = (args.work or Path(made)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / "state", ignore_errors=True)  # a history of its own
        database = make(folder)
        width, height = map(int, args.size.split("x"))
        with Terminal(folder, width, height) as terminal:
            session(terminal, database, args.out)
        if args.reader:
            with Terminal(folder, width, height) as terminal:
                reading(terminal, database, args.reader)
    return 0


def session(t: Terminal, database: Path, out: Path) -> None:
    """The whole conversation."""
    t.start("chat", "--db", str(database))
    t.wait("\n ready")
    t.keep(out, "01-start")

    t.type("what was the last creatinine value of patient 10000278?", "Enter")
    t.wait("Rests on labevents")
    t.keep(out, "02-table-question")
    t.type("what about potassium?", "Enter")
    t.wait("last lab test potassium")
    t.keep(out, "03-follow-up")
    t.press("F4")
    t.wait("Executed SQL")
    t.keep(out, "04-query")
    t.press("Escape")

    t.type("what is the phone number of patient 10000278?", "Enter")
    t.wait("One key asks")
    t.keep(out, "05-declined", drawn=True)
    t.press("1")
    t.wait("gender")
    t.wait("\n ready")
    t.keep(out, "06-offer-taken")

    t.type("does study 70000001 show cardiomegaly?", "Enter")
    t.wait("carried over: patient 10000278")
    t.type("/image 70000001", "Enter")
    t.wait("Not for clinical use")
    t.keep(out, "07-image-question", drawn=True)

    t.press("Escape")
    patient(t, "501")
    t.wait("Known only from notes")
    t.press("Escape")
    t.type("Why was the mineralocorticoid antagonist not begun in 2151?", "Enter")
    t.wait("lines of notes cited", "line of notes cited")
    t.press("F5")
    t.wait("discharge summary")
    t.keep(out, "08-note-question", drawn=True)

    patient(t, "10000278")
    t.wait("Last labs")
    t.keep(out, "09-patient")
    t.press("Escape")

    ended(t, out)

    exported = database.with_name("exported.md")
    exported.unlink(missing_ok=True)
    t.type(f"/export {exported.name}", "Enter")
    t.wait("written to")
    assert "creatinine" in exported.read_text(encoding="utf-8")
    t.keep(out, "12-exported")
    t.press("C-r")
    t.wait("Enter resumes")
    t.type("creatinine")
    t.wait("Value of last lab test creatinine")
    t.keep(out, "13-history")
    t.press("Escape")
    t.press("F1")
    t.wait("Ask in your own words")
    t.keep(out, "14-help")
    t.press("Escape")
    t.press("C-q")
    t.wait("exit code 0")


def patient(t: Terminal, number: str) -> None:
    """Choose whom to talk about."""
    t.press("C-t")
    t.wait("Number of the patient")
    t.press("C-u")
    t.type(number, "Enter")


def ended(t: Terminal, out: Path) -> None:
    """End a slow query, through the editor, and a question while the model writes."""
    t.press("F4", "Tab", "C-Home")
    for _ in range(60):
        t.press("C-k")  # to the end of each line
    t.type(SLOW, "F9")
    t.wait("running the query")
    t.keep(out, "10-slow-query")
    stopped(t, "a slow query runs")
    t.keep(out, "11-ended")
    t.type("how many patients had a heparin order this year?", "Enter")
    t.wait("writing", "Number", every=0.002)
    stopped(t, "the model writes")


def reading(t: Terminal, database: Path, reader: str) -> None:
    """End a question while an instruction model, which has been loaded, reads a patient's notes."""
    t.start("chat", "--db", str(database), "--patient", "502", "--reader", reader)
    t.wait("reading the notes of patient 502")
    t.wait("\n ready")
    t.type("Which joint of patient 501 swelled up with gout?", "Enter")
    t.wait("reading the notes  (Esc")
    time.sleep(2)
    stopped(t, "a GGUF reader reads its prompt")


def stopped(t: Terminal, what: str) -> None:
    """Press Ctrl-C, and see how long the line and what runs below it take."""
    begun = time.perf_counter()
    t.press("C-c")
    t.wait("ending ...", "\n ready", every=0.005)
    free = time.perf_counter() - begun
    t.wait("\n ready", every=0.005)
    ended = time.perf_counter() - begun
    print(f"Ctrl-C while {what}: line free after {free:.3f} s, ended after {ended:.3f} s")


class Terminal:
    """One tmux session; every text is looked for on its screen."""

    def __init__(self, home: Path, width: int, height: int) -> None:
        self.home, self.size = home, (width, height)
        self.socket = f"ehrqa-{os.getpid()}"

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server", check=False)

    def start(self, *args: str) -> None:
        """Run `ehrqa ARGS` in a new session, with a state of its own."""
        ehrqa = Path(sys.executable).with_name("ehrqa")
        command = " ".join(f"'{part}'" for part in (str(ehrqa), *args))
        state = f"XDG_STATE_HOME='{self.home / 'state'}'"
        width, height = map(str, self.size)
        shell = f"cd '{self.home}'; {state} {command}; echo exit code $?; sleep 600"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, shell)

    def type(self, text: str, *then: str) -> None:
        """Type ``text`` as it is, then press keys."""
        self._tmux("send-keys", "-l", text)
        self.press(*then)

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names, at the pace of a quick hand for those that edit: Textual
        runs a key's command after the characters that came with it."""
        if keys:
            self._tmux("send-keys", *keys)
        if keys and keys[0] not in ("Enter", "F9", "C-c"):
            time.sleep(0.3)

    def text(self) -> str:
        """The screen."""
        return self._tmux("capture-pane", "-p").stdout

    def wait(self, *any_of: str, every: float = 0.1) -> None:
        """Wait until one of these is on the screen."""
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            if any(wanted in self.text() for wanted in any_of):
                return
            time.sleep(every)
        raise SystemExit(f"{' or '.join(any_of)!r} did not appear:\n{self.text()}")

    def keep(self, out: Path, name: str, drawn: bool = False) -> None:
        """Keep the screen as characters, and ``drawn`` with its colours too."""
        time.sleep(0.3)
        lines = [line.rstrip() for line in self.text().splitlines()]
        (out / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        if drawn:
            from rich.console import Console
            from rich.text import Text

            console = Console(record=True, width=self.size[0], file=io.StringIO())
            coloured = self._tmux("capture-pane", "-p", "-e").stdout
            console.print(Text.from_ansi(coloured), soft_wrap=True)
            console.save_svg(str(out / f"{name}.svg"), title="ehrqa chat", unique_id=name)

    def _tmux(self, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = ["tmux", "-L", self.socket, *args]
        return subprocess.run(command, check=check, capture_output=True, text=True)


def make(folder: Path) -> Path:
    """The demo EHR with notes and films, made once."""
    database = folder / "demo.sqlite"
    if not database.exists():
        ehrqa("db", "demo", "--out", database)
        ehrqa("notes", "import", NOTES, "--db", database)
        films = folder / "films"
        films.mkdir(exist_ok=True)
        from chat_film import film

        film(seed=1).save(films / "1.png")
        film(seed=2).save(films / "2.png")
        (films / "list.csv").write_text(
            "image,patient_id,study_id,time,view\n"
            "1.png,10000278,70000001,2100-06-01 10:00:00,PA\n"
            "2.png,10000268,70000002,2100-12-31 18:00:00,PA\n"
        )
        ehrqa("images", "add", films, "--db", database)
    return database


def ehrqa(*args: object) -> None:
    """Run a command of the program."""
    program = Path(sys.executable).with_name("ehrqa")
    subprocess.run([str(program), *map(str, args)], check=True)


if __name__ == "__main__":
    raise SystemExit(main())
