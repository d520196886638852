"""The keys of the chat. A binding's id is its name under ``[chat.keys]`` in the settings file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.binding import Binding

from ehrqa_cli.contracts.errors import UsageError

APP_KEYS = [
    Binding("f1", "help", "Help", id="help"),
    Binding("f2", "evidence", "Evidence", id="evidence"),
    Binding("escape", "stop", "End it", id="cancel"),
    Binding("ctrl+c", "interrupt", "Copy, end the question, or clear", show=False, id="interrupt"),
    Binding("f3", "tab('rows')", "Rows", show=False, id="rows"),
    Binding("f4", "tab('query')", "Query", show=False, id="query"),
    Binding("f5", "tab('note')", "Note", show=False, id="note"),
    Binding("f6", "tab('image')", "Image", show=False, id="image"),
    Binding("f7", "tab('patient')", "Patient", show=False, id="patient"),
    Binding("ctrl+up", "choose(-1)", "Answer before this one", show=False, id="answer_before"),
    Binding("ctrl+down", "choose(1)", "Answer after this one", show=False, id="answer_after"),
    Binding("ctrl+t", "patient", "Choose the patient", show=False, id="choose_patient"),
    Binding("ctrl+r", "history", "History", id="history"),
    Binding("ctrl+s", "export", "Export", id="export"),
    Binding("ctrl+y", "copy", "Copy", id="copy"),
    Binding("ctrl+n", "new", "New conversation", show=False, id="new"),
    Binding("ctrl+q", "quit", "Quit", id="quit", priority=True),
]


def check_keys(wanted: Mapping[str, str], known: Iterable[str]) -> dict[str, str]:
    """The keymap of the settings. Raises UsageError for a name or a key that there is not."""
    from textual.keys import Keys

    names = sorted(known)
    for name, keys in wanted.items():
        if name not in names:
            hint = f"the names are: {', '.join(names)}"
            raise UsageError(f"[chat.keys] in the settings: there is no action {name!r}", hint)
        for key in keys.split(","):
            last = key.strip().rpartition("+")[2]
            if len(last) != 1 and last not in {known_key.value for known_key in Keys}:
                if last.replace("_", "").isalpha() and "_" in last:
                    continue  # a character by its Unicode name, such as question_mark
                raise UsageError(
                    f"[chat.keys] in the settings: {name} has no key {key.strip()!r}",
                    'write it as "f2", "ctrl+o" or "alt+x"; several with commas between',
                )
    return dict(wanted)
