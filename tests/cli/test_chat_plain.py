"""``ehrqa chat --plain``: questions line by line, from a pipe."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.answer_options import AnswerOptions
from ehrqa_cli.cli.chat import export as chat_export
from ehrqa_cli.cli.chat.plain import plain_chat
from ehrqa_cli.contracts.errors import DatabaseError, UsageError
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.engine import Mode, Session
from ehrqa_cli.engine.chat.history import ChatHistory
from ehrqa_cli.engine.chat.values import Turn
from ehrqa_cli.notes.importing import import_notes

from .conftest import RoteModel

LAST = "what was the last creatinine value of patient 101?"
SLOW = "/run WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


class Chat:
    """Runs a plain chat over lines; ``out`` and ``err`` of the last."""

    def __init__(self, db: Path, patch: pytest.MonkeyPatch, caught: pytest.CaptureFixture[str]):
        self.db, self._patch, self._caught = db, patch, caught
        self.out = self.err = ""

    def __call__(self, *lines: str, stdin: io.TextIOBase | None = None, **changed: object) -> str:
        given = stdin or io.StringIO("".join(f"{line}\n" for line in lines))
        self._patch.setattr("sys.stdin", given)
        self._caught.readouterr()
        code = plain_chat(self.options(**changed))
        self.out, self.err = self._caught.readouterr()
        assert code == 0
        return self.out

    def options(self, **changed: object) -> AnswerOptions:
        values: dict[str, object] = {
            "db": self.db, "as_of": None, "patient": None, "scope": None, "model": "local",
            "log": True, "mode": Mode.NORMAL, "goal": None, "thresholds": None,
            "scene_graphs": None, **changed,
        }  # fmt: skip
        return AnswerOptions(**values)  # type: ignore[arg-type]


@pytest.fixture
def chat(
    ehr: Path,
    rote: type[RoteModel],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Chat:
    return Chat(ehr, monkeypatch, capsys)


def test_a_script_of_questions_gives_a_transcript(chat: Chat):
    out = chat(LAST, "", "how many patients are there?")
    assert out.startswith(f"ask> {LAST}\n")
    assert "creatinine, patient 101: 0.9." in out
    assert "ask> how many patients are there?\nNumber of patients" in out
    assert chat.err == ""
    assert "\x1b" not in out


def test_a_follow_up_says_how_it_was_completed(chat: Chat):
    out = chat(LAST, "the same for patient 102", "what about foobarine?")
    assert f"asked as: {LAST.replace('101', '102')}" in out
    assert "foobarine" in out and "whole question" in out


def test_the_patient_of_the_option_is_shown_where_it_was_assumed(chat: Chat):
    out = chat("what was the last creatinine value?", "/patient", patient=101)
    assert "asked as: what was the last creatinine value? (patient 101)" in out
    assert "patient 101, sex f" in out


def test_evidence_and_queries_of_an_answer(chat: Chat):
    out = chat(LAST, "/evidence", "/sql", "/note", "/image", "/evidence 1", "/sql 9")
    assert out.count("labevents: row_id 2, subject_id 101") == 2
    assert 'logical form: value last lab "creatinine" patient 101' in out
    assert "no note is cited" in out and "no image is cited" in out
    assert "there is no question 9" in chat.err and "choose 1 to 1" in chat.err


def test_commands_that_are_wrong_say_what_to_do(chat: Chat):
    out = chat(
        "/evidence", "/expert x", "/patient x", "/patient 999", "/suggest", "/resume 7",
        "/asof tomorrow", "/export x.md", "/run", "/image", "/\x1b[31m", "how many patients?",
    )  # fmt: skip
    assert chat.err.count("error:") == chat.err.count("hint:") == 11
    assert "did you mean /export?" in chat.err
    assert "\x1b" not in chat.err + out
    assert "Number of patients" in out


def test_now_and_the_patient_can_be_set_and_unset(chat: Chat):
    out = chat("/asof", "/asof 2099-06-01", "/patient 102", "/patient none", "/asof none")
    assert out.count("now is taken to be 2100-12-31 23:59:00") == 2
    assert "now is taken to be 2099-06-01 23:59:00" in out
    assert "as of 2099-06-01 23:59:00: 1 hospital admissions" in out
    assert "nobody in particular" in out


def test_a_query_of_ones_own_is_guarded(chat: Chat):
    out = chat(
        "/run SELECT count(*) FROM patients", "/run DROP TABLE patients",
        "/run SELECT * FROM sqlite_master",
    )  # fmt: skip
    assert "The answer: 2." in out
    assert out.count("No answer:") == 2 and out.count("next step:") == 2


def test_quit_leaves_and_the_end_of_the_lines_too(chat: Chat):
    out = chat("/quit", LAST)
    assert LAST not in out
    assert chat() == ""
    assert "/suggest NUMBER" in chat("/help")


def test_conversations_are_kept_found_and_taken_up(chat: Chat, tmp_path: Path):
    chat(LAST)
    out = chat(
        "/history", "/search creatinine", "/resume 1", "the same for patient 102", "/history"
    )
    assert "/resume 1" in out and f": {LAST}" in out
    assert f"1. {LAST}" in out
    assert f"asked as: {LAST.replace('101', '102')}" in out
    assert "2 questions" in out
    out = chat("/forget 1", "/history", "/search creatinine")
    assert "no conversation was kept" in out and "nothing was found" in out


def test_nothing_is_kept_with_no_log(chat: Chat, private_home: Path):
    chat(LAST, "/history", log=False)
    assert "not kept" in chat.err
    assert not list(private_home.rglob("*.db"))


def test_purging_the_log_purges_the_conversations(chat: Chat, cli, private_home: Path):
    chat(LAST)
    assert {path.name for path in private_home.rglob("*.db")} == {"answers.db", "chats.db"}
    ran = cli("log", "purge", "--yes")
    assert ran.code == 0 and ran.err.count("deleted") == 2
    assert not list(private_home.rglob("*.db"))


def test_a_full_disk_is_told_once_and_nothing_is_lost(chat: Chat, monkeypatch: pytest.MonkeyPatch):
    def no_space(self: ChatHistory) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ChatHistory, "make_private", no_space)
    out = chat(LAST, "the same for patient 102", LAST, log=True)
    assert out.count("Value of last") >= 2
    assert chat.err.count("history of conversations") == 1


def test_a_pasted_megabyte_is_refused_and_the_next_line_answered(chat: Chat):
    out = chat("x" * 1_000_000, "y" * 50_000, "how many patients?")
    assert "a line of 1,000,001 characters was left out" in chat.err
    assert "50,000 characters" in chat.err
    assert "Number of patients" in out
    assert len(out) < 60_000


def test_binary_input_is_text_that_cannot_be_answered(chat: Chat):
    raw = io.TextIOWrapper(io.BytesIO(bytes(range(256)) * 4 + b"\nhow many patients?\n"), "utf-8")
    out = chat(stdin=raw)
    assert "Number of patients" in out
    assert not set(out) & set(map(chr, [*range(9), *range(11, 32), 127]))


def test_a_database_that_vanishes_is_said_once(chat: Chat):
    class Vanishing(io.StringIO):
        def readline(self, size: int = -1, /) -> str:
            line = super().readline(size)
            if line.startswith("the same"):
                chat.db.unlink()
            return line

    out = chat(stdin=Vanishing(f"{LAST}\nthe same for patient 102\nhow many patients?\n"))
    assert chat.err.count("is gone") == 1
    assert "Number of patients" in out


def test_what_is_no_database_is_said_before_anything(chat: Chat, tmp_path: Path):
    (tmp_path / "x").write_text("not a database")
    with pytest.raises(DatabaseError):
        chat(LAST, db=tmp_path / "x")
    with pytest.raises(DatabaseError):
        chat(LAST, db=tmp_path / "gone")


def test_where_there_are_only_notes(chat: Chat, tmp_path: Path):
    notes, db = tmp_path / "notes.jsonl", tmp_path / "none.sqlite"
    told = {"note_id": "n1", "subject_id": 12345, "text": "Plan:\nColace 100 mg twice a day."}
    notes.write_text(json.dumps(told) + "\n", encoding="utf-8")
    import_notes(notes, db)
    out = chat("/patient 12345", "which dose of Colace does she take?", "/note", db=db)
    assert "patient 12345 (known only from notes)" in out
    assert "(patient 12345)" in out
    assert ">> Colace 100 mg twice a day." in out


class Interrupted(io.StringIO):
    """Lines; after the slow one Ctrl-C is pressed, and again when nothing runs."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.pressed = self.back = 0.0

    def readline(self, size: int = -1, /) -> str:
        if self.pressed and not self.back:
            self.back = time.monotonic()
            raise_interrupt()
        line = super().readline(size)
        if line.startswith("/run"):
            threading.Timer(0.4, self.press).start()
        return line

    def press(self) -> None:
        self.pressed = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)


def raise_interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_the_query_and_not_the_chat(chat: Chat):
    stdin = Interrupted(f"{SLOW}\nhow many patients?\n")
    before = signal.getsignal(signal.SIGINT)
    out = chat(stdin=stdin)
    assert "cancelled" in chat.err
    assert "Number of patients" in out
    assert 0 < stdin.back - stdin.pressed < 2.0  # 0.01 s on a machine at rest
    assert signal.getsignal(signal.SIGINT) is before


def test_what_does_not_end_at_once_ends_behind_the_prompt(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
):
    cancel, note, told = Session.cancel, diagnostics.note, threading.Event()

    def deaf(self: Session) -> None:
        if told.is_set():
            cancel(self)

    def noted(text: str) -> None:
        note(text)
        if "still ending" in text:
            told.set()

    monkeypatch.setattr(Session, "cancel", deaf)
    monkeypatch.setattr(diagnostics, "note", noted)
    out = chat(stdin=Interrupted(f"{SLOW}\nhow many patients?\nhow many patients?\n"))
    assert chat.err.count("it ends behind the prompt") == 1
    assert chat.err.count("the last one is still ending") == 1
    assert out.count("Number of patients") == 2


def test_an_answer_cannot_move_the_cursor(chat: Chat, monkeypatch: pytest.MonkeyPatch):
    out = chat("/run SELECT char(27) || '[2J' || char(8238) AS x, '[bold]b' AS y")
    assert "\\x1b[2J" in out and "\\u202e" in out and "[bold]b" in out
    assert "\x1b" not in out


@pytest.fixture
def turns() -> Iterator[list[Turn]]:
    hostile = "<script>alert(1)</script> | `x` [a](http://b) \x1b[31m *b* ``` & 'q'"
    answer = Answer(
        Question(hostile),
        Status.ANSWERED,
        text=hostile,
        columns=("a|b", "<i>"),
        rows=((hostile, None), (1.5, "x\ny")),
        executed_sql="SELECT '```\n# no' AS x",
        confidence=0.5,
        evidence=({"kind": "note", "note_id": "n", "start": 0, "end": 1, "excerpt": hostile},),
        provenance={"database": "sqlite:1", "odd": hostile},
    )
    failed = Answer(Question("x"), Status.FAILED, error={"message": "m", "hint": "h"})
    yield [Turn(1, hostile, hostile + "?", answer, 7), Turn(2, "x", "x", failed, None)]


def test_exports_are_escaped_and_private(turns: list[Turn], tmp_path: Path):
    for suffix in ("md", "html", "json", "HTML"):
        path = chat_export.export_chat(tmp_path / f"chat.{suffix}", turns, title="<b>t</b>")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        text = path.read_text(encoding="utf-8")
        assert "\x1b" not in text
        if suffix != "json":
            assert "<script>" not in text.split("```")[0] if suffix == "md" else True
    page = (tmp_path / "chat.html").read_text(encoding="utf-8")
    assert "<script" not in page and "<i>" not in page and "default-src 'none'" in page
    assert "&lt;script&gt;" in page and "src=" not in page and "href=" not in page
    told = json.loads((tmp_path / "chat.json").read_text(encoding="utf-8"))
    assert told["turns"][0]["answer"]["evidence"] and told["turns"][0]["answer"]["provenance"]
    assert told["turns"][1]["answer"]["error"] == {"message": "m", "hint": "h"}


def test_markdown_cannot_break_out_of_a_cell_or_a_fence(turns: list[Turn]):
    text = chat_export.as_markdown(turns)
    (row,) = [line for line in text.splitlines() if line.startswith("| ") and "alert" in line]
    assert row.count(" | ") == 1  # two cells
    assert "````\nSELECT '```\n# no' AS x\n````" in text
    assert "\n# no" not in text.replace("````\nSELECT '```\n# no", "")


@pytest.mark.parametrize(
    ("name", "what"),
    [("chat.pdf", "cannot export"), ("chat", "cannot export"), ("no/chat.md", "cannot write")],
)
def test_an_export_that_cannot_be_says_why(turns: list[Turn], tmp_path: Path, name: str, what: str):
    with pytest.raises(UsageError, match=what) as raised:
        chat_export.export_chat(tmp_path / name, turns)
    assert raised.value.hint


def test_an_export_replaces_nothing_unless_told_to(turns: list[Turn], tmp_path: Path):
    path = tmp_path / "chat.md"
    path.write_text("mine")
    with pytest.raises(UsageError, match="there already"):
        chat_export.export_chat(path, turns)
    assert path.read_text() == "mine"
    chat_export.export_chat(path, turns, force=True)
    assert path.read_text() != "mine" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(UsageError, match="nothing to export"):
        chat_export.export_chat(tmp_path / "x.md", [])


def test_a_disk_that_fills_up_leaves_what_was_there(
    turns: list[Turn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "chat.md"
    path.write_text("mine")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UsageError, match="No space left"):
        chat_export.export_chat(path, turns, force=True)
    assert path.read_text() == "mine" and list(tmp_path.iterdir()) == [path]


def test_the_reader_of_the_pipe_may_leave(chat: Chat, monkeypatch: pytest.MonkeyPatch):
    def gone(text: str) -> None:
        raise output.ReaderGone

    monkeypatch.setattr(output, "write", gone)
    with pytest.raises(output.ReaderGone):  # which the command line takes for a good end
        chat(LAST)
    assert not [t for t in threading.enumerate() if t.name == "chat"]


def test_purging_the_log_purges_what_a_reader_kept_of_notes(cli):
    from ehrqa_cli.notes.read.instruct.states import States

    states = States()
    assert states.save(States.key("model", [1, 2]), b"a record")
    ran = cli("log", "purge", "--yes")
    assert (ran.code, states.count()) == (0, 0)
    assert "1 notes as read" in ran.err
    assert "no answer log" in cli("log", "purge", "--yes").err
