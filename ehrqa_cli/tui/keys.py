"""The keys of the chat. A binding's id is its name under ``[chat.keys]`` in the settings file."""

from __future__ import annotations

from collections.abc import Mapping

from textual.binding import Binding

from ehrqa_cli.contracts.errors import UsageError

APP_KEYS = [
    Binding("f1", "help", "Help", id="help"),
    Binding("f2", "evidence", "Evidence", id="evidence"),
    Binding("escape", "stop", "Stop", id="cancel"),
    Binding("ctrl+r", "history", "History", id="history"),
    Binding("ctrl+s", "export", "Export", id="export"),
    Binding("ctrl+q", "quit", "Quit", id="quit"),
    Binding("ctrl+c", "interrupt", "Copy, stop, or clear the line", show=False, id="interrupt"),
    Binding("f3", "tab('rows')", "Rows", show=False, id="rows"),
    Binding("f4", "tab('query')", "Query", show=False, id="query"),
    Binding("f5", "tab('note')", "Note", show=False, id="note"),
    Binding("f6", "tab('image')", "Image", show=False, id="image"),
    Binding("f7", "tab('patient')", "Patient", show=False, id="patient"),
    Binding("f8", "run_reading", "Run the withheld reading", show=False, id="run_reading"),
    Binding("ctrl+g", "teach", "Keep an unverified reading", show=False, id="teach"),
    Binding("ctrl+up", "choose(-1)", "Answer before this one", show=False, id="answer_before"),
    Binding("ctrl+down", "choose(1)", "Answer after this one", show=False, id="answer_after"),
    Binding("ctrl+t", "patient", "Choose the patient", show=False, id="choose_patient"),
    Binding("ctrl+y", "copy", "Copy the answer", show=False, id="copy"),
    Binding("ctrl+n", "new", "New conversation", show=False, id="new"),
    Binding("f10", "about", "What is open", show=False, id="about"),
]


def every() -> list[Binding]:
    """All keys that have a name."""
    from ehrqa_cli.tui.panes.note import NotePane
    from ehrqa_cli.tui.panes.query import QueryPane
    from ehrqa_cli.tui.question_line import QuestionLine

    listed = [*APP_KEYS, *QuestionLine.BINDINGS, *QueryPane.BINDINGS, *NotePane.BINDINGS]
    return [key for key in listed if isinstance(key, Binding) and key.id]


def explained(wanted: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(key, what it does, its name) of each, with the settings' keys in place of ours."""
    return [(wanted.get(k.id or "", k.key), k.description, k.id or "") for k in every()]


def check_keys(wanted: Mapping[str, str]) -> dict[str, str]:
    """The keymap of the settings. Raises UsageError for a name or a key that there is not."""
    from textual.keys import Keys

    names = sorted(key.id or "" for key in every())
    known = {str(key.value) for key in Keys}
    for name, keys in wanted.items():
        if name not in names:
            hint = f"the names are: {', '.join(names)}"
            raise UsageError(f"[chat.keys] in the settings: there is no action {name!r}", hint)
        for key in keys.split(","):
            last = key.strip().rpartition("+")[2]
            # A character may also stand under its Unicode name, such as question_mark.
            if len(last) != 1 and last not in known and "_" not in last:
                raise UsageError(
                    f"[chat.keys] in the settings: {name} has no key {key.strip()!r}",
                    'write it as "f2", "ctrl+o" or "alt+x"; several with commas between',
                )
    return dict(wanted)
