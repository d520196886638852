"""``ehrqa calibrate``: choose on a user's own questions how sure an answer must be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.options import FILE, database_path, db_option, json_option
from ehrqa_cli.contracts.errors import EvaluationError, UsageError

if TYPE_CHECKING:
    from ehrqa_cli.engine.risk import Thresholds
    from ehrqa_cli.evaluate.asked import GoldQuestion

FEWEST = 50


@click.command(short_help="Choose on your own questions how sure to be.")
@click.option(
    "--questions", "source", type=FILE, required=True, metavar="FILE", help="JSON Lines or CSV."
)
@db_option
@click.option(
    "--goal",
    default="penalty=10",
    show_default=True,
    help="penalty=N (of a wrong answer), penalty=n, or precision=P (0 to 1).",
)
@click.option("--model", metavar="NAME", help="The text-to-SQL model [default: local].")
@click.option("--out", type=FILE, metavar="FILE", help="Write the thresholds here instead.")
@json_option
def calibrate(source: Path, as_json: bool, **flags: Any) -> int:
    """Choose thresholds on questions whose answers you know, for one database.

    FILE has a question a line: "question", and one of "gold_sql" (a SELECT), "answer" (a value, a
    list, or rows) or "answerable": false where it should be declined; "patient_id" and "group" if
    wanted. Groups (one template, one kind of question) are held out together. At least 50
    questions are needed; 200 with a fifth unanswerable are better.

    Without --out the thresholds go to your configuration folder, readable by you only, and ask,
    batch and chat use them for this database from then on. Delete the file to undo it.

    \b
    Examples:
      ehrqa calibrate --questions mine.jsonl --db ehr.sqlite
      ehrqa calibrate --questions mine.csv --db ehr.sqlite --goal precision=0.99 --out t.json
      ehrqa ask "last sodium of patient 7?" --db ehr.sqlite --thresholds t.json
    """
    from ehrqa_cli import config
    from ehrqa_cli.engine import calibrated
    from ehrqa_cli.evaluate.asked import read_gold
    from ehrqa_cli.evaluate.thresholds import Goal

    settings = config.load()
    db = database_path(flags["db"], settings)
    goal = Goal.parse(flags["goal"])
    try:
        items = read_gold(source)
    except EvaluationError as error:
        raise UsageError(error.message, error.hint) from None
    if len(items) < FEWEST:
        raise UsageError(
            f"{source} has {len(items)} questions, too few to choose thresholds from",
            f"give at least {FEWEST}, some of which should be declined",
        )
    model = flags["model"] or settings.model
    chosen = _choose(items, db, goal.key, model, settings.concepts)
    path = flags["out"] or calibrated.path_for(db)
    calibrated.write(chosen, path)
    if as_json:
        output.json_line({"file": str(path), **chosen.as_dict()})
        return 0
    for line in summary(chosen, items, path):
        output.line(line)
    return 0


def _choose(
    items: Sequence[GoldQuestion], db: Path, goal: str, model: str, own: Sequence[Path]
) -> Thresholds:
    from ehrqa_cli.engine import open_session
    from ehrqa_cli.engine.parts import shipped_thresholds
    from ehrqa_cli.engine.risk import Thresholds
    from ehrqa_cli.evaluate.asked import ask_all
    from ehrqa_cli.evaluate.thresholds import Goal, choose_known, hashes

    off = Thresholds.off()
    with (
        open_session(db, model=model, log=False, thresholds=off, concepts=own) as session,
        diagnostics.progress() as advance,
    ):
        known = ask_all(items, session, lambda done, total: advance(done, total, "questions"))
        source = {
            "chosen": "by ehrqa calibrate",
            **hashes(session.model.provenance()),
            "database": session.database.fingerprint(),
        }
    return choose_known(known, Goal.parse(goal), source=source, base=shipped_thresholds())


def summary(chosen: Thresholds, items: Sequence[GoldQuestion], path: Path) -> list[str]:
    """What was chosen, in lines for a person; figures are of held-out questions."""
    held = chosen.source["held_out"]
    answerable = sum(item.gold is not None for item in items)
    wrong = held["wrong"]
    limit = "none: everything is answered" if chosen.limit is None else f"{chosen.limit:.3f}"
    rows = (
        ("questions", f"{len(items):,} ({answerable:,} answerable)"),
        ("goal", chosen.source["goal"]),
        ("risk limit", limit),
        ("answered right", f"{held['right']:,} ({100 * held['coverage']:.1f}% of the answerable)"),
        ("expected wrong", f"{wrong:,} of {len(items):,} questions"),
        ("Brier score", f"{chosen.source['brier']:.4f} (0 is perfect)"),
        ("written to", str(path)),
    )
    return [f"{name:<15} {value}" for name, value in rows]
