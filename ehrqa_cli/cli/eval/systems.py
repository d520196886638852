"""What is measured by ``ehrqa eval``: --system, and what its variants and few-shot systems need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli.eval.report import Command, together
from ehrqa_cli.cli.image_options import image_folders, read_graphs
from ehrqa_cli.cli.options import FILE
from ehrqa_cli.contracts.errors import UsageError

if TYPE_CHECKING:
    from ehrqa_cli.engine import Session
    from ehrqa_cli.engine.parts import Mode
    from ehrqa_cli.engine.risk import Thresholds
    from ehrqa_cli.evaluate.fewshot import Example, QueryWriter
    from ehrqa_cli.evaluate.systems import Chosen

split_option = click.option("--split", default="valid", show_default=True, help="Its split.")
judge_option = click.option(
    "--judge", metavar="NAME", help="Asked five times: exact, f1, local[:MODEL], plugin."
)
run_options = together(
    [
        click.option("--predictions", type=FILE, metavar="FILE", help="The same as --system FILE."),
        click.option(
            "--out", type=FILE, metavar="DIR", help="Write records and report here; resumes."
        ),
        click.option(
            "--limit",
            type=click.IntRange(min=1),
            help="Take only about N questions, spread evenly.",
        ),
    ]
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Answer with N processes; the result is the same [default: one a processor, where that "
    "pays].",
)
seed_option = click.option(
    "--seed", default=0, show_default=True, help="Of intervals and of what is drawn."
)


def data_option(
    metavar: str = "DIR", told: str = "The benchmark's folder."
) -> Callable[[Command], Command]:
    """``--data`` for a benchmark's files."""
    return click.option("--data", type=FILE, required=True, metavar=metavar, help=told)


def system_option(known: Mapping[str, str], default: str = "ours") -> Callable[[Command], Command]:
    """``--system NAME|FILE`` for the systems of a benchmark."""
    return click.option(
        "--system",
        metavar="NAME|FILE",
        help=f"What is measured: {', '.join(known)}; or a file of predictions "
        f"[default: {default}].",
    )


fewshot_options = together(
    [
        click.option(
            "--shots",
            type=click.IntRange(min=1),
            default=10,
            show_default=True,
            help="Examples that a few-shot system is shown.",
        ),
        click.option(
            "--examples",
            type=FILE,
            metavar="FILE",
            help="Where they are from: questions with queries [default: train in --data].",
        ),
        click.option(
            "--threads",
            type=click.IntRange(min=1),
            default=2,
            show_default=True,
            help="Of a few-shot system's model.",
        ),
    ]
)


def open_writer(
    flags: Mapping[str, Any],
    chosen: Chosen,
    examples: Callable[[], Sequence[Example]],
    instruction: str,
) -> Callable[[Mapping[str, Sequence[str]]], QueryWriter] | None:
    """What opens the few-shot system that is wanted, once the tables are known; None for another
    system. Raises UsageError without a model."""
    from ehrqa_cli.evaluate.fewshot import FewShot, Nearest
    from ehrqa_cli.evaluate.systems import FEW_SHOT, NEAREST

    if chosen.name == NEAREST:
        return lambda _schema: Nearest(examples())
    if chosen.name not in FEW_SHOT:
        return None
    name, model = str(chosen.name), flags["model"]
    if not model:
        raise UsageError(
            f"{name} needs a language model",
            "name a pulled instruction model, or a GGUF file: --model FILE.gguf",
        )

    def opened(schema: Mapping[str, Sequence[str]]) -> QueryWriter:
        return FewShot.open(
            Path(model),
            examples(),
            threads=flags["threads"],
            choose=name,
            shots=flags["shots"],
            seed=flags["seed"],
            schema=schema,
            instruction=instruction,
        )

    return opened


def open_measured(db: Path, flags: Mapping[str, Any], chosen: Chosen, model: str) -> Session:
    """The session of a variant of this program with the reader of images that is wanted, which
    other processes can open too. Raises what opening it raises."""
    from ehrqa_cli.engine.times import check_time
    from ehrqa_cli.evaluate.systems import FEW_SHOT

    # The wall clock, where it is wanted, is read once for all processes.
    as_of = check_time(flags["as_of"]) if flags["as_of"] else None
    named = model if chosen.name in FEW_SHOT else flags["model"] or model
    labels, graphs = flags["scene_graphs"], None
    if labels is None:
        graphs = read_graphs(None, db=db, images=flags["images"], vision=flags["vision"])
    opener = partial(_open, db, named, as_of, chosen.name, labels)
    if graphs is not None:  # one model for images uses all processors by itself
        session = opener(graphs)
        session.image_folders = image_folders(db, flags["images"])
        return session
    session = opener()
    session.reopen = opener
    return session


def _open(
    db: Path,
    model: str,
    as_of: str | None,
    variant: str | None,
    labels: Path | None,
    graphs: Any = None,
) -> Session:
    from ehrqa_cli.engine import open_session

    mode, thresholds = variant_of(variant)
    return open_session(
        db,
        model=model,
        as_of=as_of,
        log=False,
        mode=mode,
        thresholds=thresholds,
        graphs=graphs if labels is None else read_graphs(labels),
    )


def variant_of(name: str | None) -> tuple[Mode, Thresholds | None]:
    """The mode of a variant of this program, and thresholds where they are not the usual ones."""
    from ehrqa_cli.engine import Mode
    from ehrqa_cli.evaluate import systems

    modes = {systems.CAREFUL: Mode.CAREFUL}
    if name != systems.UNCHECKED:
        return modes.get(name or "", Mode.NORMAL), None
    from ehrqa_cli.evaluate.variants import CHECKS_OFF

    return Mode.NORMAL, CHECKS_OFF
