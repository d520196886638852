"""What was taught: the same wording with other values is answered, and no other wording."""

from __future__ import annotations

import json
import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Answer, LinkedQuestion, Status
from ehrqa_cli.engine import Session, taught
from ehrqa_cli.engine.taught import Entry, Taught, TaughtError, Wording
from ehrqa_cli.store import own

from .fakes import MemoryDatabase, WordLinker, form, session

DOUBTED = form("value last lab #1 patient #2", max_entropy=3.0)
ASKED = "what was the last sodium of patient 7?"
WHEN = "2026-01-02 03:04:05"
ENTRY = Entry(
    Wording("what was the last <lab>#1 of patient <pat>#2?", (("lab",), ("pat",))),
    "value last lab #1 patient #2",
    WHEN,
)


class Marking(WordLinker):
    """Puts placeholders in, as the real one does."""

    def link(self, question: str, **given: Any) -> LinkedQuestion:
        found = super().link(question, **given)
        text = found.question
        links = sorted(found.links, key=lambda link: link.start)
        for number, link in reversed([*enumerate(links, 1)]):
            if link.start < link.end:
                kinds = "".join(f"<{kind}>" for kind in link.types)
                text = f"{text[: link.start]}{kinds}#{number}{text[link.end :]}"
        return replace(found, text=text, links=tuple(links))


def opened(*entries: Entry, query: Any = DOUBTED, **parts: Any) -> Session:
    return session(query, linker=Marking(), taught=Taught(entries), **parts)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EHRQA_LOG_FILE", str(tmp_path / "state" / "answers.db"))
    return tmp_path / "state" / taught.FILE


def test_the_wording_is_answered_and_says_that_it_was_taught() -> None:
    answer = opened(ENTRY).ask(ASKED)
    assert (answer.status, answer.value, answer.confidence) == (Status.ANSWERED, 141.5, None)
    assert answer.provenance["taught"] == {"when": WHEN}
    assert answer.text.endswith("(Read as taught on 2026-01-02.)")
    assert answer.reading is None and answer.reason is None
    assert "text2sql" not in answer.provenance["models"], "no model was asked"


@pytest.mark.parametrize(
    "text", ["What was  the LAST sodium of patient 7", f"{ASKED} ", ASKED[:-1]]
)
def test_case_spaces_and_the_last_sign_say_nothing(text: str) -> None:
    text = text.replace("LAST", "Last")
    assert opened(ENTRY).ask(text).status is Status.ANSWERED


@pytest.mark.parametrize(
    "text",
    [
        "what was the first sodium of patient 7?",
        "what was not the last sodium of patient 7?",
        "what was the last of patient 7 sodium?",
        "what was the last sodium of patient 7 in 2100?",
        "what was the last 2100 of patient 7?",
        "what was the last sodium, of patient 7?",
    ],
)
def test_another_wording_is_not(text: str) -> None:
    assert opened(ENTRY).ask(text).status is Status.ABSTAINED


def test_the_types_of_links_count_though_the_text_is_the_same() -> None:
    other = replace(ENTRY, wording=replace(ENTRY.wording, links=(("drug",), ("pat",))))
    assert opened(other).ask(ASKED).status is Status.ABSTAINED
    typed = "what was the last <lab>#1 of patient <pat>#2?"
    assert opened(ENTRY).ask(typed).status is Status.ABSTAINED, "nothing is linked in it"


def test_a_restriction_that_the_text_does_not_show_counts() -> None:
    wording = replace(ENTRY.wording, restricts=(("race",),))
    assert opened(replace(ENTRY, wording=wording)).ask(ASKED).status is Status.ABSTAINED


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("what was the last sodium of patient 28?", "unknown_patient"),
        ("what was the last unobtainium of patient 7?", "unlinked_value"),
    ],
)
def test_the_checks_of_the_question_hold(text: str, kind: str) -> None:
    assert opened(ENTRY).ask(text).reason_kind == kind


def test_an_empty_result_stays_withheld() -> None:
    database = MemoryDatabase()
    database.connection.execute("DELETE FROM labevents")
    answer = opened(ENTRY, database=database).ask(ASKED)
    assert (answer.status, answer.reason_kind) == (Status.ABSTAINED, "empty_result")


def test_an_unused_value_was_seen_by_who_taught_it() -> None:
    entry = Entry(Wording("last <lab>#1 of patient <pat>#2 in <year>#3",
                          (("lab",), ("pat",), ("year",))), ENTRY.form, WHEN)  # fmt: skip
    answer = opened(entry).ask("last sodium of patient 7 in 2100")
    assert (answer.status, answer.value) == (Status.ANSWERED, 141.5)


def test_a_form_that_is_no_form_any_more_is_named_and_not_used() -> None:
    said: list[Any] = []
    gone = replace(ENTRY, form="valuable last lab #1")
    answer = opened(gone).ask(ASKED, on_event=lambda name, what: said.append((name, what)))
    assert answer.status is Status.ABSTAINED
    (warning,) = [what for name, what in said if name == "warning"]
    assert ENTRY.wording.question in warning and "ehrqa teach list" in warning


def test_a_tentative_answer_can_be_taught(path: Path) -> None:
    with session(DOUBTED, linker=Marking()) as asking:
        held = asking.ask(ASKED)
        entry = asking.teach(asking.run_reading(held))
        assert asking.taught is None, "this session does not want it"
    kept = path.read_text()
    assert "sodium" not in kept and "7" not in kept.replace(entry.when, "")
    assert json.loads(kept)["form"] == ENTRY.form
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with session(DOUBTED, linker=Marking()) as again:
        again._taught = True
        assert again.ask(ASKED).provenance["taught"] == {"when": entry.when}


def test_nothing_else_can_be_taught(path: Path) -> None:
    with session(DOUBTED, linker=Marking()) as asking:
        with pytest.raises(UsageError, match="only a tentative answer"):
            asking.teach(asking.ask(ASKED))
        number = asking.run_reading(asking.ask(ASKED))
        text = "what was the last sodium of patient 7, ref abc10018081?"
        longer = replace(number, question=replace(number.question, text=text))
        with pytest.raises(UsageError, match="a number that is not known here"):
            asking.teach(longer)
    assert not path.exists()


def test_a_setting_switches_it_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taught.add(path, ENTRY)
    assert taught.here() == Taught((ENTRY,))
    monkeypatch.setenv("EHRQA_TAUGHT", "off")
    assert taught.here() is None


def test_no_file_is_no_trouble(path: Path) -> None:
    assert taught.here() is None and taught.load(path) == ()


@pytest.mark.parametrize(
    "damage",
    [b"{", b"[]", b'{"question": "x"}', b"\xff\xfe", b"null", b'{"question": 1, "form": "x"}'],
)
def test_a_damaged_file_is_one_error_and_stays(path: Path, damage: bytes) -> None:
    taught.add(path, ENTRY)
    whole = path.read_bytes() + damage
    path.write_bytes(whole)
    with pytest.raises(TaughtError, match=re.escape(str(path))) as found:
        taught.load(path)
    assert "EHRQA_TAUGHT=off" in found.value.hint
    with pytest.raises(TaughtError):
        taught.add(path, ENTRY)
    assert path.read_bytes() == whole, "nothing is lost"
    asking = session(DOUBTED, linker=Marking())
    asking._taught = True
    answer = asking.ask(ASKED)
    assert answer.status is Status.FAILED and "EHRQA_TAUGHT=off" in (answer.error or {})["hint"]


def test_the_same_wording_is_kept_once_and_removed_by_its_number(path: Path) -> None:
    other = replace(ENTRY, wording=Wording("how many <lab>#1", (("lab",),)))
    for entry in (ENTRY, other, replace(ENTRY, form="time last lab #1 patient #2")):
        taught.add(path, entry)
    assert [entry.form for entry in taught.load(path)] == [
        ENTRY.form,
        "time last lab #1 patient #2",
    ]
    with pytest.raises(UsageError, match="no entry 3"):
        taught.remove(path, 3)
    assert taught.remove(path, 1) == other
    assert len(taught.load(path)) == 1


def test_two_cannot_change_it_at_once(path: Path) -> None:
    taught.add(path, ENTRY)
    with path.with_name(f".{taught.FILE}.lock").open("rb") as lock:
        assert own(lock)
        with pytest.raises(TaughtError, match="another ehrqa"):
            taught.remove(path, 1)
    assert taught.load(path) == (ENTRY,)


def test_what_cannot_be_written_leaves_what_there_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taught.add(path, ENTRY)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(TaughtError, match="No space left"):
        taught.remove(path, 1)
    monkeypatch.undo()
    assert taught.load(path) == (ENTRY,)
    assert sorted(p.name for p in path.parent.iterdir()) == [f".{path.name}.lock", path.name]


def test_a_batch_answers_it_too() -> None:
    answers: list[Answer] = list(opened(ENTRY).ask_many([ASKED, "last sodium of patient 7"]))
    assert [answer.status for answer in answers] == [Status.ANSWERED, Status.ABSTAINED]
