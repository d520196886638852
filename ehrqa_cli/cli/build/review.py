"""``ehrqa build review``: a clinician goes through a set of questions over notes."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import output
from ehrqa_cli.cli.options import FILE, json_option
from ehrqa_cli.contracts.errors import UsageError

if TYPE_CHECKING:
    from ehrqa_cli.sets.notes.review import Decision, Review, ReviewSet

# Columns of the tables by length and by category, and their heads.
_PARTS = {
    "items": "items",
    "accepted": "accepted",
    "edited": "edited",
    "dropped": "dropped",
    "undecided": "undecided",
    "kept": "kept",
    "questions": "questions revised",
    "right_answers": "right answers",
    "wrong_choices": "wrong choices",
}
_SCREEN = "ehrqa_cli.tui.review"  # by name: the screen stands above the commands


@click.command()
@click.argument("data", type=FILE, metavar="DIR")
@click.option(
    "--reviewer",
    "names",
    multiple=True,
    metavar="NAME",
    help="Who reviews [default: your login name]; with --stats and --export several, or all.",
)
@click.option("--stats", is_flag=True, help="Print the figures of the review, without a screen.")
@click.option(
    "--export",
    "out",
    type=FILE,
    metavar="OUT",
    help="Write what was accepted or edited to this new folder, without a screen.",
)
@click.option("--theme", metavar="NAME", help="The colours [default: theme under [chat]].")
@json_option
def review(data: Path, names: tuple[str, ...], stats: bool, **flags: Any) -> int:
    """Accept, edit or drop each question of a set over notes, the note beside it with the evidence
    marked. Each decision is on the disk (DIR/review/NAME.jsonl) before the next item is shown;
    leave whenever you like. --stats prints what the EHRNoteQA paper reports of its review, and how
    far two reviewers agree; --export writes the reviewed set.

    \b
    Examples:
      ehrqa build review mine --reviewer j.doe
      ehrqa build review mine --stats
      ehrqa build review mine --export reviewed
    """
    from ehrqa_cli.sets.notes.review import load_set

    found = load_set(data)
    if stats or flags["out"]:
        return _without_screen(found, names, flags["out"], flags["as_json"])
    if len(names) > 1:
        raise UsageError("one reviewer at a time", "give --reviewer once")
    if not all(s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError(
            "a review needs a terminal", "or print its figures with --stats, write it with --export"
        )
    from ehrqa_cli.sets.notes.review import Review

    opened = Review(found, names[0] if names else _login())
    try:
        code: int = import_module(_SCREEN).run(opened, flags["theme"])
    finally:
        opened.close()
    return code


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise UsageError("your login name is not known", "give one with --reviewer NAME") from None


def _without_screen(
    data: ReviewSet, names: tuple[str, ...], out: Path | None, as_json: bool
) -> int:
    from ehrqa_cli.sets.notes.review import Review, reviewers
    from ehrqa_cli.sets.notes.review.export import export

    known = reviewers(data.folder)
    missing = [name for name in names if name not in known]
    if missing or not known:
        who = f"{missing[0]} has" if missing else "nobody has"
        hint = f"there are: {', '.join(known)}" if known else f"ehrqa build review {data.folder}"
        raise UsageError(f"{who} not reviewed {data.folder}" if missing else
                         f"{who} reviewed {data.folder} yet", hint)  # fmt: skip
    reviews = [Review(data, name, writable=False) for name in names or known]
    decisions = {r.reviewer: r.decisions for r in reviews}
    card = export(data, decisions, out) if out is not None else None
    found = _figures(data, reviews)
    if as_json:
        output.json_line(card or found)
        return 0
    _tell(found)
    if card is not None:
        output.line(f"written  {out} ({card['figures']['kept']:,} questions)")
    return 0


def _figures(data: ReviewSet, reviews: list[Review]) -> dict[str, Any]:
    from ehrqa_cli.sets.notes.review.figures import agreement, figures, times, together

    by_name: dict[str, dict[str, Decision]] = {r.reviewer: r.decisions for r in reviews}
    names = sorted(by_name)
    found: dict[str, Any] = {
        "reviewers": {
            r.reviewer: figures(data, r.decisions) | {"seconds": times(r)} for r in reviews
        },
        "agreement": {
            f"{a}, {b}": agreement(by_name[a], by_name[b])
            for k, a in enumerate(names)
            for b in names[k + 1 :]
        },
    }
    if len(names) > 1:
        found["together"] = figures(data, together([by_name[name] for name in names]))
    return found


def _tell(found: dict[str, Any]) -> None:
    from ehrqa_cli.sets.notes.review.export import rows

    columns = {**found["reviewers"]}
    if "together" in found:
        columns["together"] = found["together"]
    heads = ["", *columns]
    told = [dict(rows(figures)) for figures in columns.values()]
    body = [[name, *(one[name] for one in told)] for name in told[0]]
    taken = [one.get("seconds") for one in columns.values()]
    body.append(["seconds for an item", *(f"{t['median']:g}" if t else "" for t in taken)])
    output.table(heads, body, range(1, len(heads)))
    last = list(columns.values())[-1]
    for field, head in (("by_level", "length"), ("by_category", "category")):
        table = [[name, *(row[part] for part in _PARTS)] for name, row in last[field].items()]
        output.line()
        output.table([head, *_PARTS.values()], table, range(1, len(_PARTS) + 1))
    for names, row in found["agreement"].items():
        output.line()
        output.line(
            f"{names}: {row['items']:,} items decided by both, same decision "
            f"{_share(row['same_decision'])}, kappa {_number(row['kappa'])}; kept or dropped alike "
            f"{_share(row['same_kept_or_dropped'])}, kappa {_number(row['kappa_kept_or_dropped'])};"
            f" edited alike {row['edited_alike']:,} of {row['edited_by_both']:,}"
        )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
