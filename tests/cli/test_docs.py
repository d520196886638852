"""What the pages name is there: commands with their options, files, modules, variables, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from ehrqa_cli.cli import main

from .commands_page import all_commands

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for pattern in ("README.md", "docs/*.md", "*/*/README.md", "tests/benchmarks/*/README.md")
    for page in ROOT.glob(pattern)
)
_FOLDERS = ("docs", "ehrqa_cli", "models", "plugins", "tests")
_PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(_FOLDERS)})/[\w./*{{}},-]*[\w*}}/]")
_SPAN = re.compile(r"`([^`\n]+)`")
_OPTION = r"(?<![\w-])--[a-z][a-z-]*"
_VARIABLE = r"\bEHRQA_[A-Z_]*[A-Z]\b"
_MISSPELT = "EHRQA_MODLE"  # the page of settings shows what `config validate` says of it
_SPLIT = re.compile(r"^(?:&&|\|+|;|>+|<|&)$")


@cache
def _text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@cache
def _files() -> frozenset[str]:
    """Every file of the tree, as a path from its root."""
    files = (path for folder in _FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file())
    return frozenset("/" + path.relative_to(ROOT).as_posix() for path in files)


@cache
def _named(pattern: str) -> frozenset[str]:
    """What the pattern finds in all Python of the tree."""
    code = (ROOT / name[1:] for name in _files() if name.endswith(".py"))
    return frozenset(one for file in code for one in re.findall(pattern, file.read_text("utf-8")))


@cache
def _options() -> frozenset[str]:
    """Every option of a command, or that Python in the tree names."""
    commands = (option for _, command in all_commands() for option in command.params)
    known = (name for option in commands for name in (*option.opts, *option.secondary_opts))
    return _named(_OPTION) | frozenset(known)


def _lines(page: str) -> Iterator[str]:
    """Lines of code blocks (joined after a backslash or an open quote) and spans of code."""
    text = _text(page).replace("\\\n", " ")
    fenced, begun = False, ""
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            begun = f"{begun} {line.strip().removeprefix('$ ')}".strip()
            if begun.count('"') % 2 == 0:
                yield begun
                begun = ""
        else:
            begun = ""
            yield from _SPAN.findall(line)


def _commands(page: str) -> Iterator[list[str]]:
    """Each simple command of those lines, as words; notation (`[--force]`, `...`) is taken off."""
    for line in _lines(page):
        if "ehrqa " not in line and "python " not in line:
            continue
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;<>")
        lexer.whitespace_split = True
        try:
            words = [word.strip("[]") for word in lexer]
        except ValueError:
            continue  # prose with an apostrophe, no command
        start = 0
        ends = [i for i, word in enumerate(words) if _SPLIT.match(word)]
        for end in [*ends, len(words)]:
            one = [word for word in words[start:end] if word not in ("", "...", "…")]
            while one and re.match(r"^[A-Z_]+=", one[0]):
                del one[0]
            if one:
                yield one
            start = end + 1


def _wrong(words: list[str]) -> str | None:
    """What is wrong with a command line of `ehrqa`; values are not looked at."""
    command: click.Command = main.root
    context = click.Context(command, info_name="ehrqa")
    left = words[1:]
    try:
        while True:
            _, left, _ = command.make_parser(context).parse_args(left)
            if not isinstance(command, click.Group) or not left or left[0].isupper():
                break
            sub = command.get_command(context, left[0])
            if sub is None:
                return f"no command {left[0]}"
            command, context, left = sub, click.Context(sub, context, left[0]), left[1:]
    except click.BadOptionUsage:
        return None  # `ehrqa db import --to`: prose may leave the value out
    except click.UsageError as error:
        return error.format_message()
    return f"not an argument: {left[0]}" if left and not left[0].isupper() else None


@pytest.mark.parametrize("page", PAGES)
def test_commands_parse(page: str) -> None:
    commands = [words for words in _commands(page) if words[0] == "ehrqa"]
    wrong = [f"{shlex.join(words)}: {_wrong(words)}" for words in commands if _wrong(words)]
    assert not wrong, "\n".join(wrong)


def test_a_wrong_command_is_seen() -> None:
    assert _wrong(["ehrqa", "asked", "x"])
    assert _wrong(["ehrqa", "ask", "x", "--nonesuch"])
    assert _wrong(["ehrqa", "db", "import"]) is None


@pytest.mark.parametrize("page", PAGES)
def test_scripts_know_their_options(page: str) -> None:
    """`python FILE --option`: the file is there and names the option."""
    wrong = []
    for words in _commands(page):
        if not words[0].startswith("python") or len(words) < 2 or not words[1].endswith(".py"):
            continue
        script = ROOT / words[1]
        beside = "".join(p.read_text(encoding="utf-8") for p in script.parent.glob("*.py"))
        if not script.is_file():
            wrong.append(f"{words[1]} is not there")
        else:
            options = (word.split("=")[0] for word in words[2:] if word.startswith("--"))
            wrong += [f"{words[1]} has no {word}" for word in options if f'"{word}"' not in beside]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES)
def test_options_exist(page: str) -> None:
    """Each `--option` in a span of code is one of a command or script here (or of pip)."""
    spans = [span for span in _SPAN.findall(_text(page)) if not span.startswith("pip ")]
    named = {option for span in spans for option in re.findall(_OPTION, span)}
    assert not sorted(named - _options())


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page: str) -> None:
    wrong = sorted(path for path in set(_PATH.findall(_text(page))) if not _there(path))
    assert not wrong


def _there(path: str) -> bool:
    """Whether a path, of which `*` and `{a,b}` may be part, is in the tree."""
    found = re.search(r"\{([^{}]*)\}", path)
    if found:
        return all(_there(path.replace(found[0], one, 1)) for one in found[1].split(","))
    return any(ROOT.glob(path)) if "*" in path else (ROOT / path).exists()


@pytest.mark.parametrize("page", PAGES)
def test_python_files_exist(page: str) -> None:
    """`room/file.py` and `file.py` in a span of code are the end of a path of the tree."""
    named = {
        name for span in _SPAN.findall(_text(page)) for name in re.findall(r"[\w./-]+\.py\b", span)
    }
    missing = sorted(n for n in named if not any(f.endswith("/" + n.strip("./")) for f in _files()))
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_modules_exist(page: str) -> None:
    """`ehrqa_cli.room.Name` is a module, or a name that its module has."""
    missing = []
    for dotted in sorted(set(re.findall(r"\behrqa_cli(?:\.[A-Za-z_]\w*)+", _text(page)))):
        folder, rest = ROOT, dotted.split(".")
        while rest and (folder / rest[0]).is_dir():
            folder, rest = folder / rest[0], rest[1:]
        file = folder / "__init__.py"
        if rest and (folder / f"{rest[0]}.py").is_file():
            file, rest = folder / f"{rest[0]}.py", rest[1:]
        if rest and not re.search(rf"\b{rest[0]}\b", file.read_text(encoding="utf-8")):
            missing.append(dotted)
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_variables_and_targets_exist(page: str) -> None:
    """`EHRQA_NAME` is read somewhere; `make TARGET` is in the Makefile."""
    named = set(re.findall(_VARIABLE, _text(page))) - _named(_VARIABLE) - _variables()
    targets = set(re.findall(r"(?:`|^    )make ([a-z-]+)", _text(page), re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert not named - {_MISSPELT}
    assert not targets - set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


@cache
def _variables() -> frozenset[str]:
    """Variables whose names are made of the settings' names."""
    made = set()
    for prefix, room in (
        ("", "ehrqa_cli/config"),
        ("OPENAI_", "plugins/ehrqa-openai/ehrqa_openai"),
    ):
        for file in (ROOT / room).glob("*.py"):
            words = re.findall(r"[a-z_]+", file.read_text(encoding="utf-8"))
            made |= {f"EHRQA_{prefix}{word.upper()}" for word in words}
    return frozenset(made)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?![a-z]+:)([^)#\s]+)", _text(page))
    assert not [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
