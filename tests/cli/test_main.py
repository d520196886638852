from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from ehrqa_cli.cli import main
from ehrqa_cli.cli.commands import COMMANDS, root_help
from ehrqa_cli.contracts.errors import PluginError
from ehrqa_cli.ehr.demo.make import build_demo

from .commands_page import PAGE, all_commands, page

HEAVY = ("click", "rich", "sqlglot", "numpy", "llama_cpp", "sqlite_utils", "platformdirs", "typing")


def python(code: str, *argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *argv]
    env = {**os.environ, **environ}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.mark.parametrize("flag", ["", "--help", "-h", "--version"])
def test_the_help_page_and_version_import_nothing_heavy(flag):
    code = (
        "import sys; before = set(sys.modules); from ehrqa_cli.__main__ import main; code = main();"
        f"loaded = sorted(set({HEAVY!r}) & (set(sys.modules) - before));"
        "print(code, loaded, file=sys.stderr)"
    )
    done = python(code, *([flag] if flag else []))
    assert done.stderr.strip() == "0 []"
    assert done.stdout.startswith("ehrqa 0." if flag == "--version" else "Usage: ehrqa")


def test_only_the_first_question_imports_sqlite_utils(tmp_path):
    """It makes the answer log; a row more is no reason to."""
    db = tmp_path / "demo.sqlite"
    build_demo(db, patients=3)
    code = (
        "import sys; from ehrqa_cli.__main__ import main; code = main();"
        "print(code, 'sqlite_utils' in sys.modules)"
    )
    log = {"EHRQA_LOG_FILE": str(tmp_path / "log.db"), "EHRQA_LOG": "on"}
    for first in (True, False):
        done = python(code, "ask", "how many patients are there?", "--db", str(db), **log)
        assert done.stdout.splitlines()[-1] == f"0 {first}", done.stderr


def test_the_headless_core_imports_no_heavy_library():
    code = (
        "import sys, importlib; from ehrqa_cli.cli.commands import COMMANDS\n"
        "for module, *_ in COMMANDS.values():\n"
        "    inside = module.startswith('ehrqa_cli.')\n"
        "    importlib.import_module(module if inside else f'ehrqa_cli.cli.{module}')\n"
        "import ehrqa_cli.engine\n"
        "print(sorted({'textual', 'torch', 'faiss', 'llama_cpp'} & set(sys.modules)))"
    )
    assert python(code).stdout.strip() == "[]"


def test_click_shows_the_same_page(cli):
    assert cli("--help").out == root_help()
    assert max(map(len, root_help().splitlines())) <= 80


def test_the_page_says_what_each_command_says():
    context = click.Context(main.root)
    for name, (_, _, about) in COMMANDS.items():
        command = main.root.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(limit=100) == about
        assert name in root_help()


def test_every_command_has_help_with_examples(cli):
    for name, command in all_commands():
        ran = cli(*name.split()[1:], "--help")
        assert ran.code == 0, name
        assert "Examples:" in ran.out, name
        assert ran.out.count(name) >= 2, f"{name} has no example of itself"
        for option in command.params:
            assert not isinstance(option, click.Option) or option.help, (name, option.name)


def test_the_page_of_commands_is_theirs():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python tests/cli/commands_page.py`"


@pytest.mark.parametrize("group", ["eval", "db", "notes", "config"])
def test_a_group_without_a_command_is_one_line(cli, group):
    ran = cli(group)
    assert (ran.code, ran.out) == (2, "")
    error, hint = ran.err.splitlines()
    assert error == f"error: which command of `ehrqa {group}`?" and f"ehrqa {group} --help" in hint


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (["aks"], "did you mean 'ask'"),
        (["ask"], "QUESTION"),
        (["ask", "x", "--nonsense"], "--nonsense"),
        (["ask", "x", "--patient", "abc"], "abc"),
        (["sql", "select 1", "--rows", "0"], "--rows"),
        (["completion", "tcsh"], "tcsh"),
        (["\x1b[2J"], "\\x1b"),
    ],
)
def test_usage_errors_are_one_line_with_a_hint(cli, argv, word):
    ran = cli(*argv)
    assert (ran.code, ran.out) == (2, "")
    error, hint = ran.err.splitlines()
    assert error.startswith("error: ") and word in error
    assert hint.startswith("hint: see `ehrqa")


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def boom(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(main.root, "main", boom)


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        (PluginError("no plugin", "install it"), 2, ["error: no plugin", "hint: install it"]),
        (KeyboardInterrupt(), 130, ["interrupted"]),
        (click.Abort(), 130, ["interrupted"]),
    ],
)
def test_the_boundary_decides_exit_codes(cli, monkeypatch, error, code, lines):
    raising(monkeypatch, error)
    ran = cli("ask", "x")
    assert (ran.code, ran.out, ran.err.splitlines()) == (code, "", lines)


def test_an_unexpected_exception_is_one_line_and_debug_shows_the_traceback(cli, monkeypatch):
    raising(monkeypatch, ZeroDivisionError("division\nby zero"))
    ran = cli("ask", "x")
    assert ran.code == 1
    assert ran.err.splitlines()[0] == "error: unexpected ZeroDivisionError: division"
    assert "EHRQA_DEBUG=1" in ran.err and "Traceback" not in ran.err
    monkeypatch.setenv("EHRQA_DEBUG", "1")
    ran = cli("ask", "x")
    assert ran.code == 1
    assert "Traceback" in ran.err


def test_a_closed_pipe_is_no_error(ehr: Path):
    numbers = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 90000)"
    command = [sys.executable, "-m", "ehrqa_cli", "sql", f"{numbers} SELECT x FROM c"]
    command += ["--rows", "100000", "--db", str(ehr)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(cli, shell):
    ran = cli("completion", shell)
    assert ran.code == 0
    assert "_EHRQA_COMPLETE" in ran.out


def test_completion_offers_the_commands():
    asked = {"_EHRQA_COMPLETE": "bash_complete", "COMP_WORDS": "ehrqa mo", "COMP_CWORD": "1"}
    done = python("from ehrqa_cli.__main__ import main; main()", **asked)
    assert "plain,models" in done.stdout
