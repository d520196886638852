"""The table of commands, and the top-level help made from it.

``ehrqa --help`` must be quick, and importing click alone takes longer than starting Python, so
this module imports nothing: the top-level help is rendered here, whoever asks for it, and a
command's module is imported only when that command runs.
"""

from __future__ import annotations

# name -> (module, attribute, what it does). In the order of the help page.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "ask": ("ask", "ask", "Answer one question about the EHR."),
    "chat": ("ehrqa_cli.tui.command", "chat", "Talk with the EHR in the terminal."),
    "batch": ("batch.command", "batch", "Answer a file of questions."),
    "calibrate": ("calibrate", "calibrate", "Choose on your own questions how sure to be."),
    "teach": ("teach", "teach", "Keep what you meant by a question that was withheld."),
    "sql": ("sql", "sql", "Run a SELECT of your own, under the same guard and limits."),
    "neuralsql": ("neuralsql", "neuralsql", "Run a NeuralSQL query of your own."),
    "vqa": ("vqa", "vqa", "Ask one question about one chest X-ray."),
    "images": ("images.command", "images", "Register chest X-rays and read them."),
    "concepts": ("concepts", "concepts", "Show what a clinical word means in this record."),
    "find": ("find", "find", "Find what occurs in this record by the words of its name."),
    "notes": ("notes.command", "notes", "Import clinical notes and find lines in them."),
    "db": ("db.command", "db", "Import MIMIC-IV files, build the demo EHR, describe a database."),
    "models": ("models", "models", "List, pull and verify model files."),
    "plugins": ("plugins", "plugins", "List plugins and check that they keep their contracts."),
    "eval": ("eval.command", "evaluation", "Measure ehrqa on a benchmark."),
    "build": ("build.command", "build", "Build question sets from your own EHR."),
    "doctor": ("doctor", "doctor", "Check the installation and say how to mend it."),
    "config": ("config", "config", "Show, write and check the settings and their profiles."),
    "log": ("log", "log", "Find or purge the answer log."),
    "demo": ("demo", "demo", "Ask the demo EHR a handful of questions."),
    "completion": ("completion", "completion", "Print a shell completion script."),
}

_HEAD = """\
Usage: ehrqa COMMAND [ARGS]...

  Answer questions about a local copy of an EHR, on this machine, and show why.
  ehrqa says "I don't know" when it should. Nothing leaves this computer.

Commands:
"""

_TAIL = """
Options:
  --profile NAME  Use this profile of the settings file.
  --version       Show the version.
  -h, --help      Show this help; `ehrqa COMMAND --help` shows a command's.

Examples:
  ehrqa db demo --out demo.sqlite
  ehrqa ask "how many patients are currently admitted?" --db demo.sqlite
  ehrqa ask "last creatinine of patient 10018081?" --db ehr.sqlite --explain
  ehrqa batch questions.jsonl answers.jsonl --db ehr.sqlite
  ehrqa doctor --db ehr.sqlite

Exit codes: 0 answered, 1 failed, 2 usage or configuration, 3 abstained,
130 interrupted.
"""


def root_help() -> str:
    """The text of ``ehrqa --help``: at most 80 columns wide, ending in a newline."""
    width = max(map(len, COMMANDS))
    rows = (f"  {name:<{width}}  {entry[2]}\n" for name, entry in COMMANDS.items())
    return _HEAD + "".join(rows) + _TAIL
