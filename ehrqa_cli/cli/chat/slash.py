"""The commands of a plain chat: lines that begin with a slash."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.chat import show as chat_show
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.engine import chat as below

if TYPE_CHECKING:
    from ehrqa_cli.cli.chat.plain import PlainChat
    from ehrqa_cli.engine.chat import ChatHistory, Turn

# name -> (what it takes, what it does), in the order of /help
COMMANDS: dict[str, tuple[str, str]] = {
    "/patient": ("[ID|none]", "show the patient, or say whom questions are about"),
    "/asof": ("[TIME|none]", "what now is taken to be"),
    "/evidence": ("[N]", "the rows, notes and findings that answer N rests on"),
    "/sql": ("[N]", "how question N was read, and its queries"),
    "/note": ("[N]", "the notes that answer N cites, whole, cited lines marked"),
    "/image": ("[STUDY]", "what the image of a study shows, as text"),
    "/suggest": ("NUMBER", "ask a question that was offered"),
    "/run": ("NEURALSQL", "run a query of your own, guarded"),
    "/export": ("FILE", "write the conversation to FILE.md, .html or .json"),
    "/history": ("", "the conversations that were kept"),
    "/search": ("WORDS", "search in them"),
    "/resume": ("NUMBER", "go on with one of them"),
    "/forget": ("NUMBER", "delete one of them"),
    "/new": ("", "begin a new conversation"),
    "/help": ("", "these commands"),
    "/quit": ("", "leave, as Ctrl-D does"),
}


class Commands:
    """Runs the commands of one chat."""

    def __init__(self, chat: PlainChat) -> None:
        self.chat = chat
        self.conversation = chat.conversation
        self._all: dict[str, Callable[[str], None]] = {
            name: getattr(self, f"_{name[1:]}") for name in COMMANDS if name != "/quit"
        }

    def run(self, line: str) -> bool:
        """Do what ``line`` says; False for /quit. Raises EhrqaError."""
        name, _, rest = line.partition(" ")
        name = name.lower()
        if name in ("/quit", "/exit", "/q"):
            return False
        command = self._all.get(name)
        if command is None:
            near = get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean {near[0]}?" if near else "see /help"
            raise UsageError(f"there is no command {name[:40]}", hint)
        command(rest.strip())
        return True

    def _help(self, _rest: str) -> None:
        for name, (takes, told) in COMMANDS.items():
            output.line(f"{f'{name} {takes}'.strip():<22}{told}")
        output.line("Anything else is a question. A follow-up is completed: what about potassium?")

    def _patient(self, rest: str) -> None:
        talk = self.conversation
        if rest.lower() == "none":
            talk.patient_id = None
            output.line("questions are about nobody in particular")
            return
        number = _number(rest, "a patient's id") if rest else talk.patient_id
        if number is None:
            output.line("no patient: say whom with /patient ID")
            return
        session = talk.session

        def summary() -> tuple[below.PatientSummary | None, str]:
            if session.only_notes:
                return below.patient_summary(None, number, "", session.db), ""
            now = talk.as_of or session.as_of
            return below.patient_summary(session.database, number, now, session.db), now

        found, now = self.chat.do(summary)
        if found is None:
            raise UsageError(f"nobody here has the id {number}", "check it, or /patient none")
        if rest:
            talk.patient_id = number
        self.chat.write(chat_show.patient_lines(found, now))

    def _asof(self, rest: str) -> None:
        talk = self.conversation
        if rest:
            talk.as_of = None if rest.lower() == "none" else rest
        now = talk.as_of or self.chat.do(lambda: talk.session.as_of)
        output.line(f"now is taken to be {now}")

    def _evidence(self, rest: str) -> None:
        answer, session = self._turn(rest).answer, self.conversation.session
        db = session.db
        rows = self.chat.do(lambda: below.evidence_rows(session, answer))
        notes = self.chat.do(lambda: below.note_views(db, answer) if db else ())
        self.chat.write(chat_show.table_lines(rows))
        for note in notes:
            self.chat.write(chat_show.note_lines(note))
        self.chat.write(chat_show.finding_lines(answer))
        if not answer.evidence:
            output.line("nothing is cited for it")

    def _sql(self, rest: str) -> None:
        self.chat.write(chat_show.query_lines(self._turn(rest).answer))

    def _note(self, rest: str) -> None:
        answer, db = self._turn(rest).answer, self.conversation.session.db
        notes = self.chat.do(lambda: below.note_views(db, answer) if db else ())
        for note in notes:
            self.chat.write(chat_show.note_lines(note, whole=True))
        if not notes:
            output.line("no note is cited for it")

    def _image(self, rest: str) -> None:
        studies = (
            (_number(rest, "a study's id"),) if rest else below.image_studies(self._turn("").answer)
        )
        for study in studies:
            self._show_image(study)
        if not studies:
            output.line("no image is cited for it: name a study with /image STUDY")

    def _show_image(self, study: int) -> None:
        session = self.conversation.session
        self.chat.write(
            chat_show.image_lines(self.chat.do(lambda: below.image_view(session, study)))
        )

    def _suggest(self, rest: str) -> None:
        self.chat.ask(self.conversation.suggestion(_number(rest or "1", "a suggestion's number")))

    def _run(self, rest: str) -> None:
        self.chat.run_neuralsql(rest)

    def _export(self, rest: str) -> None:
        from ehrqa_cli.cli.chat.export import export_chat

        if not rest:
            raise UsageError("no file was named", "write /export chat.md, chat.html or chat.json")
        talk = self.conversation
        output.line(f"written to {export_chat(Path(rest), talk.turns, title=talk.title)}")

    def _history(self, _rest: str) -> None:
        chats = self._kept().chats()
        self.chat.write(chat_show.history_lines(chats))
        if not chats:
            output.line("no conversation was kept yet")

    def _search(self, rest: str) -> None:
        found = self._kept().search(rest)
        self.chat.write(chat_show.found_lines(found))
        if not found:
            output.line("nothing was found")

    def _resume(self, rest: str) -> None:
        number = _number(rest, "a conversation's number (see /history)")
        talk = self.conversation
        self.chat.do(lambda: talk.resume(number))
        for turn in talk.turns:
            output.line(f"{turn.number}. {turn.typed}")
            self.chat.show(turn)

    def _forget(self, rest: str) -> None:
        number = _number(rest, "a conversation's number (see /history)")
        self._kept().forget(number)
        if number == self.conversation.chat_id:
            self.conversation.new()
        output.line(f"conversation {number} is deleted")

    def _new(self, _rest: str) -> None:
        self.conversation.new()
        diagnostics.note("a new conversation")

    def _turn(self, rest: str) -> Turn:
        """Turn ``rest``, or the last. Raises UsageError."""
        turns = self.conversation.turns
        if not turns:
            raise UsageError("nothing was asked yet", "ask a question")
        number = _number(rest, "a question's number") if rest else turns[-1].number
        found = [turn for turn in turns if turn.number == number]
        if not found:
            raise UsageError(f"there is no question {number}", f"choose 1 to {turns[-1].number}")
        return found[-1]

    def _kept(self) -> ChatHistory:
        if self.chat.history is None:
            raise UsageError("conversations are not kept", "start without --no-log")
        return self.chat.history


def _number(text: str, what: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise UsageError(f"'{text[:40]}' is not {what}", "write a number")
    return int(text)
