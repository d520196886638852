"""Asking, following what happens, ending it, and asking what is offered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual import events

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, UsageError
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.engine.chat import events as said
from ehrqa_cli.engine.chat.views import Evidence

from . import samples
from .harness import Chat, FakeController, chat

CANCELLED = Cancelled("cancelled", "")


class Unopened(FakeController):
    """A controller whose database takes its time."""

    def warm(self) -> int:
        self.report(0, said.Doing("loading the models"))
        return 0


def test_the_line_takes_a_question_before_anything_is_open() -> None:
    async def script(chat: Chat) -> None:
        assert chat.app.focused is chat.app.line
        assert "loading the models" in chat.text
        await chat.type("last sodium?")
        await chat.pilot.press("enter")
        assert chat.controller.named("ask") == [["last sodium?"]]
        assert chat.app.line.value == ""
        await chat.type("and then")
        assert "last sodium?" in chat.text and "› and then" in chat.text

    chat(script, controller=Unopened())


def test_what_the_model_writes_is_seen_as_it_comes() -> None:
    async def script(chat: Chat) -> None:
        ticket = await chat.ask("last sodium?")
        await chat.report(ticket, said.Doing("writing the logical form"))
        await chat.report(ticket, *(said.Wrote(f"{t} ") for t in ("value", "last")))
        await chat.pilot.pause(0.1)
        assert "writing the logical form  value last" in chat.text
        await chat.report(ticket, said.Doing("running the query"))
        await chat.pilot.pause(0.1)
        assert "running the query" in chat.text and "value last" not in chat.text

    chat(script)


def test_escape_frees_the_line_at_once_and_the_end_comes_later() -> None:
    async def script(chat: Chat) -> None:
        running, waiting = await chat.ask("one?"), await chat.ask("two?")
        await chat.report(running, said.Doing("writing the logical form"))
        await chat.pilot.press("escape")
        assert sorted(chat.controller.named("cancel")[-1]) == [running, waiting]
        assert "ending ..." in chat.text
        await chat.type("three?")
        await chat.pilot.press("enter")  # while the first has not ended yet
        assert chat.controller.named("ask")[-1] == ["three?"]
        await chat.report(running, said.Done(CANCELLED))
        await chat.report(waiting, said.Done(CANCELLED))
        assert chat.text.count("Ended by you.") == 2

    chat(script)


def test_an_answer_that_comes_after_it_was_ended_is_shown() -> None:
    async def script(chat: Chat) -> None:
        ticket = await chat.ask(samples.TABLE.typed)
        await chat.pilot.press("ctrl+c")
        await chat.report(ticket, said.Answered(samples.TABLE), said.Done())
        assert "141.5." in chat.text and "ready" in chat.text

    chat(script)


def test_answers_declined_and_failed_differ_without_colour() -> None:
    async def script(chat: Chat) -> None:
        for turn in (samples.TABLE, samples.DECLINED, samples.FAILED):
            await chat.answer(turn)
        marks = [line.strip()[0] for line in chat.text.splitlines() if "?" in line[:60]]
        assert {"█", "╏", "║"} <= set(marks)  # the bar in front of each
        for word in ("● Value of", "○ I don't know.", "✗ Failed: the database is damaged"):
            assert word in chat.text
        assert "restore it from a copy" in chat.text

    chat(script)


def test_one_key_asks_what_is_offered_but_not_in_the_middle_of_a_question() -> None:
    async def script(chat: Chat) -> None:
        await chat.answer(samples.DECLINED)
        await chat.type("x2")
        assert chat.app.line.value == "x2"
        await chat.pilot.press("ctrl+c", "2")
        assert chat.controller.named("ask")[-1] == ["When was patient 7 admitted?"]
        await chat.pilot.press("2")  # nothing is offered while it is asked
        assert chat.app.line.value == "2" and len(chat.controller.named("ask")) == 2

    chat(script)


def test_up_and_down_go_through_the_questions_and_keep_the_draft() -> None:
    controller = FakeController()
    controller.past = ("asked last week?",)

    async def script(chat: Chat) -> None:
        await chat.ask("first?")
        await chat.ask("second?")
        await chat.type("draft")
        seen = []
        for key in ("up", "up", "up", "up", "down", "down", "down", "down"):
            await chat.pilot.press(key)
            seen.append(chat.app.line.value)
        assert seen[:4] == ["second?", "first?", "asked last week?", "asked last week?"]
        assert seen[4:] == ["first?", "second?", "draft", "draft"]

    chat(script, controller=controller)


def test_tab_takes_a_completion_and_arrows_choose_one() -> None:
    async def script(chat: Chat) -> None:
        await chat.type("last sod")
        await chat.pilot.press("down", "tab")
        assert chat.app.line.value == "last sodium chloride "
        assert not chat.app.line.candidates.display
        await chat.pilot.press("ctrl+u")
        await chat.type("so")
        await chat.pilot.press("escape")
        assert not chat.app.line.candidates.display and chat.app.line.value == "so"
        await chat.pilot.press("enter")
        assert chat.controller.named("ask") == [["so"]]

    chat(script)


def test_the_rewritten_question_and_what_was_carried_over_are_shown() -> None:
    async def script(chat: Chat) -> None:
        await chat.answer(samples.TABLE)
        assert "read as: last sodium of patient 7?" in chat.text
        assert "carried over: patient 7, sodium" in chat.text
        assert "patient 7" in chat.text.splitlines()[0]

    chat(script)


def test_an_edited_query_is_run() -> None:
    async def script(chat: Chat) -> None:
        await chat.answer(samples.TABLE)
        await chat.pilot.press("f4")
        chat.app.screen.query_one("#editor").text = "SELECT 1"  # type: ignore[attr-defined]
        await chat.pilot.press("f9")
        assert chat.controller.named("run") == [["SELECT 1"]]
        assert "Query run: SELECT 1" in chat.text

    chat(script)


def test_evidence_of_another_answer_is_one_key_away() -> None:
    async def script(chat: Chat) -> None:
        await chat.answer(samples.NOTE, samples.NOTES)
        assert "▌Heart failure: Spironolactone" in chat.text
        await chat.answer(samples.TABLE, samples.ROWS)
        assert "Rests on labevents (1)" in chat.text
        await chat.pilot.press("ctrl+up")
        assert chat.controller.named("read_evidence")[-1] == [samples.NOTE]
        await chat.report(0, said.EvidenceRead(samples.TABLE, samples.ROWS))  # late, of the other
        assert "Rests on labevents" not in chat.text

    chat(script)


def test_a_narrow_terminal_shows_one_side_at_a_time() -> None:
    async def script(chat: Chat) -> None:
        await chat.answer(samples.TABLE, samples.ROWS)
        assert "Rests on labevents" not in chat.text
        await chat.pilot.press("f2")
        assert "Rests on labevents" in chat.text and "read as:" not in chat.text
        await chat.pilot.press("escape")
        assert "read as:" in chat.text and chat.app.focused is chat.app.line

    chat(script, (80, 24))


def test_a_fault_that_is_no_answer_is_said_and_the_line_goes_on() -> None:
    async def script(chat: Chat) -> None:
        ticket = await chat.ask("?")
        await chat.report(
            ticket, said.Done(UsageError("there is nothing in it", "type a question"))
        )
        assert "✗ Failed: there is nothing in it" in chat.text and "type a question" in chat.text
        ticket = await chat.ask("last sodium?")
        await chat.report(ticket, said.Said("the answer log is full; free some space", bad=True))
        assert "the answer log is full" in chat.text

    chat(script)


def test_a_database_that_cannot_be_opened_ends_the_chat_with_its_error() -> None:
    class Broken(FakeController):
        def open(self) -> int:
            ticket = self.done()
            self.report(ticket, said.Done(DatabaseError("it is damaged", "restore it")))
            return ticket

    async def script(chat: Chat) -> None:
        await chat.pilot.pause()

    app = chat(script, controller=Broken())
    assert isinstance(app.error, DatabaseError) and app.return_value == 1


def test_history_is_searched_and_a_conversation_resumed() -> None:
    from ehrqa_cli.engine.chat.history import ChatInfo

    async def script(chat: Chat) -> None:
        await chat.pilot.press("ctrl+r")
        info = ChatInfo(31, "2026-01-01 10:00:00", "last sodium?", 3, "demo.sqlite", 7, None)
        await chat.report(chat.controller.last("search"), said.Listed("", (info,)))
        late = chat.controller.last("search")
        await chat.type("sod")
        assert chat.controller.named("search")[-1] == ["sod"]
        await chat.report(late, said.Listed("so", ()))  # for words that have changed since
        assert "last sodium?" in chat.text
        await chat.report(chat.controller.last("search"), said.Listed("sod", (info,)))
        await chat.pilot.press("enter")
        assert chat.controller.named("resume") == [[31]]
        await chat.report(0, said.Resumed((samples.TABLE, samples.DECLINED), 7))
        await chat.pilot.pause()
        assert "read as: last sodium of patient 7?" in chat.text
        assert chat.app.line.offers == 2

    chat(script)


def test_purging_the_history_takes_two_presses() -> None:
    async def script(chat: Chat) -> None:
        await chat.pilot.press("ctrl+r", "f8")
        assert chat.controller.named("forget") == [] and "again deletes all" in chat.text
        await chat.pilot.press("f8")
        assert chat.controller.named("forget") == [[None]]

    chat(script)


@pytest.mark.parametrize(("typed", "wanted"), [("7", [[7]]), ("", [[None]]), ("x", [])])
def test_the_patient_is_chosen_by_number(typed: str, wanted: list[list[int]]) -> None:
    async def script(chat: Chat) -> None:
        await chat.pilot.press("ctrl+t")
        await chat.type(typed)
        await chat.pilot.press("enter")
        assert chat.controller.named("set_patient") == wanted

    chat(script)


def test_export_asks_for_a_name_and_says_where_it_is() -> None:
    async def script(chat: Chat) -> None:
        await chat.pilot.press("ctrl+s", "ctrl+u")
        await chat.type("out.md")
        await chat.pilot.press("enter")
        [[path, *_]] = chat.controller.named("export")
        await chat.report(0, said.Said(f"written to {path}"))
        assert "written to out.md" in chat.text

    chat(script)


def test_an_answer_is_copied_through_the_terminal() -> None:
    async def script(chat: Chat) -> None:
        await chat.answer(samples.TABLE)
        await chat.pilot.press("ctrl+y")
        assert chat.app.clipboard.startswith("last sodium of patient 7?\nValue of last lab test")
        assert "labevents, row row_id=12" in chat.app.clipboard

    chat(script)


def test_what_is_typed_in_a_pane_begins_a_question() -> None:
    async def script(chat: Chat) -> None:
        await chat.answer(samples.NOTE, samples.NOTES)
        await chat.pilot.press("f5")
        assert chat.app.focused is not chat.app.line
        await chat.pilot.press("n")  # a key of the pane
        assert chat.app.line.value == ""
        await chat.pilot.press("w", "h", "y", "question_mark")
        assert chat.app.line.value == "why?" and chat.app.focused is chat.app.line
        await chat.pilot.press("f5")
        chat.app.post_message(events.Paste(" not"))
        await chat.pilot.pause()
        assert chat.app.line.value == "why? not"

    chat(script)


def test_what_is_typed_before_a_dialog_has_its_line_is_not_lost() -> None:
    async def script(chat: Chat) -> None:
        chat.app.top.patient = 10000278
        await chat.pilot.press("ctrl+t")
        chat.app.screen.set_focus(None)  # as long as the dialog is being made
        await chat.pilot.press("5", "0", "1", "enter")
        assert chat.controller.named("set_patient") == [[501]]

    chat(script)


@pytest.mark.parametrize(
    ("line", "wish"),
    [
        ("/patient 501", ("set_patient", 501)),
        ("/PATIENT none", ("set_patient", None)),
        ("/asof 2100-01-01", ("now", "2100-01-01")),
        ("/evidence", ("look", "rows", None)),
        ("/sql 2", ("look", "query", 2)),
        ("/image 50018554", ("look_at_study", 50018554)),
        ("/suggest", ("suggest", 1)),
        ("/run SELECT 1", ("run", "SELECT 1")),
        ("/export out.md", ("export", Path("out.md"))),
        ("/resume 3", ("resume", 3)),
        ("/new", ("new",)),
    ],
)
def test_commands_are_typed_into_the_question_line(line: str, wish: tuple[object, ...]) -> None:
    async def script(chat: Chat) -> None:
        chat.app.line.put(line)
        await chat.pilot.press("enter")
        assert chat.controller.wished[-1] == wish and chat.app.line.value == ""

    chat(script)


def test_a_command_that_is_wrong_is_said_and_not_asked() -> None:
    async def script(chat: Chat) -> None:
        chat.app.show_tab("rows")  # in place of the transcript
        for line, why in (("/expert x", "did you mean /export?"), ("/sql x", "write a number")):
            chat.app.line.put(line)
            await chat.pilot.press("enter")
            assert why in chat.text and not chat.controller.named("ask")

    chat(script, (80, 24))


def test_what_a_command_wants_to_look_at_comes_in_sight() -> None:
    async def script(chat: Chat) -> None:
        await chat.answer(samples.NOTE, samples.NOTES)
        await chat.answer(samples.TABLE, samples.ROWS)
        chat.app.line.put("/sql 4")
        await chat.pilot.press("enter")
        await chat.report(0, said.EvidenceRead(samples.NOTE, Evidence(), "query"))
        assert chat.app.evidence.active == "query" and chat.app.evidence.turn is samples.NOTE
        assert "What an answer" not in chat.text and "In English" not in chat.text
        await chat.report(0, said.EvidenceRead(None, samples.IMAGES, "image"))
        await chat.pilot.pause()
        assert "Study 50018554" in chat.text

    chat(script, (80, 24))


def test_help_history_and_leaving_can_be_typed() -> None:
    async def script(chat: Chat) -> None:
        chat.app.line.put("/help")
        await chat.pilot.press("enter")
        await chat.pilot.pause()
        assert "Ask in your own words" in chat.text
        await chat.pilot.press("escape")
        chat.app.line.put("/search sodium")
        await chat.pilot.press("enter")
        await chat.report(chat.controller.last("search"), said.Listed("sodium", ()))
        await chat.pilot.pause()
        assert "Enter resumes" in chat.text and "sodium" in chat.text
        assert chat.controller.named("search")[-1] == ["sodium"]
        await chat.pilot.press("escape")
        chat.app.line.put("/quit")
        await chat.pilot.press("enter")
        await chat.pilot.pause()

    assert chat(script).return_value == 0


def test_a_command_is_completed_with_what_it_does() -> None:
    async def script(chat: Chat) -> None:
        await chat.type("/pa")
        assert "/patient  show the patient, or say whom questions are about" in chat.text
        await chat.pilot.press("tab")
        assert chat.app.line.value == "/patient "

    chat(script)


def test_a_question_sent_while_another_conversation_comes_stays_in_sight() -> None:
    async def script(chat: Chat) -> None:
        await chat.answer(samples.TABLE)
        await chat.pilot.press("ctrl+n")
        ticket = await chat.ask("last sodium?")
        await chat.report(0, said.Resumed((), 7))
        assert "last sodium?" in chat.text and "read as:" not in chat.text
        await chat.report(ticket, said.Answered(samples.FAILED), said.Done())
        assert "the database is damaged" in chat.text

    chat(script)


HELD = Answer(
    Question("sodium?"),
    Status.ABSTAINED,
    text="I don't know. I am not sure enough.",
    reason_kind="low_confidence",
    reason="I am not sure enough.",
    reading={"logical_form": "x", "description": "last sodium", "concepts": [], "runs": True},
)


def said_in(chat: Chat) -> str:
    """What the screen says, however its lines are broken."""
    return " ".join(word for word in chat.text.split() if word not in "╏┃▌▐█▋▎")


def test_a_key_runs_the_reading_of_a_withheld_answer_and_another_keeps_it() -> None:
    async def script(chat: Chat) -> None:
        ticket = await chat.ask("sodium?")
        await chat.report(ticket, said.Answered(samples.turn(1, "sodium?", HELD)), said.Done())
        assert "I read it as: last sodium. F8 or /run runs it, unchecked." in said_in(chat)
        await chat.pilot.press("f8")
        assert chat.controller.named("run_reading") == [[]]
        run = replace(HELD, status=Status.TENTATIVE, text="Unverified: Last sodium: 141.")
        ticket = await chat.ask("sodium?")
        await chat.report(ticket, said.Answered(samples.turn(2, "sodium?", run)), said.Done())
        assert "◐ Unverified: Last sodium: 141." in said_in(chat)
        assert "Not checked: I am not sure enough." in said_in(chat)
        assert "^G or /teach keeps it." in said_in(chat)
        await chat.pilot.press("ctrl+g")
        assert chat.controller.named("teach") == [[]]

    chat(script, (80, 24))


def test_the_keys_are_told_as_the_user_has_them() -> None:
    async def script(chat: Chat) -> None:
        ticket = await chat.ask("sodium?")
        await chat.report(ticket, said.Answered(samples.turn(1, "sodium?", HELD)), said.Done())
        assert "F12 or /run runs it" in said_in(chat)

    chat(script, (80, 24), keys={"run_reading": "f12"})
