"""A conversation as a file: Markdown, HTML or JSON, each answer with evidence and provenance.

Everything a database or a note says is escaped for the format it goes into. The HTML is one file
that loads nothing, and forbids itself to.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

from ehrqa_cli.cli.output import safe, to_json
from ehrqa_cli.cli.render import evidence_text, headline
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Answer
from ehrqa_cli.engine.chat.values import Turn
from ehrqa_cli.store import answer_record

TITLE = "A conversation with ehrqa"
SHOWN_ROWS = 100
_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>&~$^=:\"'])")
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { font-size: 1.1rem; margin: 2rem 0 .3rem } .asked, .at { color: #555 }
.answer { border-left: 4px solid #2a7; padding-left: .8rem }
.abstained { border-left: 4px double #b80 } .tentative { border-left: 4px dashed #b80 }
.failed { border-left: 4px dotted #b22 }
table { border-collapse: collapse } td, th { border: 1px solid #bbb; padding: .1rem .5rem }
pre { background: #f4f4f4; padding: .5rem; white-space: pre-wrap; overflow-wrap: anywhere }
"""


def export_chat(path: Path, turns: Sequence[Turn], *, title: str = "", force: bool = False) -> Path:
    """Write the turns to ``path``, in the format of its ending; only its owner can read the file.

    Raises UsageError for another ending, nothing to write, a file that is there already (unless
    ``force``) and a place that cannot be written; then nothing is left behind.
    """
    path = path.expanduser()
    made = _FORMATS.get(path.suffix.lower())
    if made is None:
        raise UsageError(
            f"cannot export to {path.name or path}", f"end its name in {', '.join(_FORMATS)}"
        )
    if not turns:
        raise UsageError("there is nothing to export yet", "ask something first")
    if path.exists() and not force:
        raise UsageError(f"{path} is there already", "name another file")
    text = made(turns, title).encode("utf-8", "backslashreplace")
    try:
        # mkstemp gives mode 0600; a disk that fills up leaves what was there before.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".ehrqa-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        hint = "name a file in a folder that you can write to"
        raise UsageError(f"cannot write {path}: {error.strerror or error}", hint) from error
    return path


def as_json(turns: Sequence[Turn], title: str = "") -> str:
    """One object: ``title`` and ``turns``; a turn's ``answer`` has the fields of `ask --json`."""
    listed = [
        {
            "number": turn.number,
            "at": turn.at,
            "kind": turn.kind,
            "typed": turn.typed,
            "asked": turn.asked,
            "carried": list(turn.carried),
            "patient_id": turn.patient_id,
            "answer": answer_record(turn.answer),
        }
        for turn in turns
    ]
    return to_json({"title": title or TITLE, "turns": listed}, indent=2) + "\n"


def as_markdown(turns: Sequence[Turn], title: str = "") -> str:
    """Markdown: a heading a question, its answer, rows, evidence, queries and provenance."""
    lines = [f"# {_md(title or TITLE)}", ""]
    for turn in turns:
        answer = turn.answer
        lines += [f"## {turn.number}. {_md(turn.typed)}", ""]
        if turn.read_as:
            lines += [f"Asked as: {_md(turn.read_as)}", ""]
        lines += [f"**{_md(headline(answer))}**", ""]
        lines += [f"- {name}: {_md(text)}" for name, text in _facts(turn)]
        lines += ["", *_md_rows(answer)]
        lines += [f"- evidence: {_md(evidence_text(item))}" for item in answer.evidence]
        for name, text in _texts(answer):
            lines += ["", f"{name}:", "", _fenced(text)]
        lines.append("")
    return "\n".join(lines)


def as_html(turns: Sequence[Turn], title: str = "") -> str:
    """One HTML page without scripts, links or anything to load."""
    head = _html(title or TITLE)
    body = "\n".join(part for turn in turns for part in _html_turn(turn))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">\n"
        f"<title>{head}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{head}</h1>\n{body}\n</body></html>\n"
    )


_FORMATS: dict[str, Callable[[Sequence[Turn], str], str]] = {
    ".md": as_markdown,
    ".html": as_html,
    ".json": as_json,
}


def _facts(turn: Turn) -> Iterator[tuple[str, str]]:
    answer = turn.answer
    yield "status", answer.status.value
    if answer.error and answer.error.get("hint"):
        yield "hint", answer.error["hint"]
    for text in answer.suggestions:
        yield "could ask", text
    if answer.description:
        yield "read as", answer.description
    if answer.choice:
        yield "choice", answer.choice
    if answer.confidence is not None:
        yield "confidence", f"{answer.confidence:.3f}"
    if turn.patient_id is not None:
        yield "patient of the conversation", str(turn.patient_id)
    if turn.at:
        yield "time (UTC)", turn.at


def _texts(answer: Answer) -> Iterator[tuple[str, str]]:
    for name, text in (
        ("Logical form", answer.logical_form),
        ("NeuralSQL", answer.neuralsql),
        ("Executed SQL", answer.executed_sql),
    ):
        if text:
            yield name, text
    if answer.provenance:
        yield "Provenance", json.dumps(answer.provenance, indent=2, default=str)


def _md(text: str) -> str:
    return _MARKS.sub(r"\\\1", " ".join(safe(text).split()))


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{safe(text)}\n{fence}"


def _cells(answer: Answer) -> Iterator[list[str]]:
    for row in answer.rows[:SHOWN_ROWS]:
        yield ["NULL" if cell is None else str(cell) for cell in row]


def _more(answer: Answer) -> str:
    left = len(answer.rows) - SHOWN_ROWS
    return f"... and {left:,} more rows (all of them are in the JSON)" if left > 0 else ""


def _md_rows(answer: Answer) -> list[str]:
    if not answer.rows:
        return []
    lines = [[*map(_md, answer.columns)], ["---"] * len(answer.columns)]
    lines += [[_md(cell) for cell in row] for row in _cells(answer)]
    more = _more(answer)
    return [*(f"| {' | '.join(line)} |" for line in lines), "", *([more, ""] if more else [])]


def _html(text: str) -> str:
    return escape(safe(text))


def _html_turn(turn: Turn) -> Iterator[str]:
    answer = turn.answer
    yield f"<h2>{turn.number}. {_html(turn.typed)}</h2>"
    if turn.read_as:
        yield f'<p class="asked">asked as: {_html(turn.read_as)}</p>'
    yield f'<p class="answer {answer.status.value}"><b>{_html(headline(answer))}</b></p><ul>'
    yield from (f"<li>{name}: {_html(text)}</li>" for name, text in _facts(turn))
    yield from (f"<li>evidence: {_html(evidence_text(item))}</li>" for item in answer.evidence)
    yield "</ul>"
    if answer.rows:
        heads = "".join(f"<th>{_html(name)}</th>" for name in answer.columns)
        yield f"<table><tr>{heads}</tr>"
        for row in _cells(answer):
            yield f"<tr>{''.join(f'<td>{_html(cell)}</td>' for cell in row)}</tr>"
        yield f"</table><p>{_more(answer)}</p>"
    for name, text in _texts(answer):
        yield f"<details><summary>{name}</summary><pre>{_html(text)}</pre></details>"
