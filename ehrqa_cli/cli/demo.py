"""``ehrqa demo``: a handful of questions of different kinds, answered in front of the user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.answer_options import answer_options, read_answer_options
from ehrqa_cli.cli.ask import warnings
from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Question, Scalar, Status

# (kind, question): filled with what this database holds, so that any EHR can be shown.
QUESTIONS: tuple[tuple[str, str], ...] = (
    ("a count over all patients", "how many patients are currently admitted?"),
    ("one patient's last value", "what was the last {lab} value of patient {patient}?"),
    ("when something happened", "when was the first hospital admission of patient {patient}?"),
    ("a ranking", "what are the three most frequently prescribed drugs?"),
    ("patients with a finding", "how many patients were diagnosed with {dx}?"),
    ("nothing the record can know", "what is the phone number of patient {patient}?"),
)

_COMMON_LAB = """
SELECT l.subject_id, d.label FROM labevents l JOIN d_labitems d ON d.itemid = l.itemid
WHERE l.valuenum IS NOT NULL GROUP BY l.subject_id, d.label
ORDER BY d.label = 'creatinine' DESC, count(*) DESC, l.subject_id, d.label LIMIT 1
"""
_COMMON_DX = """
SELECT d.long_title FROM diagnoses_icd i JOIN d_icd_diagnoses d ON d.icd_code = i.icd_code
GROUP BY d.long_title ORDER BY count(DISTINCT i.subject_id) DESC, d.long_title LIMIT 1
"""


@click.command(short_help="Ask the demo EHR a handful of questions.")
@answer_options
def demo(**flags: Any) -> int:
    """Ask an EHR questions of different kinds; one of them it cannot know and declines.

    \b
    Examples:
      ehrqa db demo --out demo.sqlite
      ehrqa demo --db demo.sqlite

    \b
    Exit codes: 0 no question failed, 1 one failed, 2 usage or configuration.
    """
    from ehrqa_cli.cli.render import answer_lines
    from ehrqa_cli.engine import ask

    options = read_answer_options(flags)
    failed = 0
    with options.session() as session:
        diagnostics.note(f"asking {options.db}; each answer names the rows it rests on")
        session.warm()
        words = values(session.database, options.db)
        for kind, text in QUESTIONS:
            question = text.format(**words)
            output.line(f'\n# {kind}\n$ ehrqa ask "{question}" --db {options.db}')
            answer = ask(Question(text=question, patient_id=options.patient), session, warnings)
            for line in answer_lines(answer):
                output.line(line)
            output.line(f"  {'took':<12}{answer.timings.get('total', 0.0):.2f} s")
            failed += answer.status is Status.FAILED
    return int(failed > 0)


def values(database: Database, path: Path) -> dict[str, Scalar]:
    """A patient, a lab of theirs, and a common diagnosis. Raises DatabaseError without them."""
    lab, dx = database.execute(_COMMON_LAB).rows, database.execute(_COMMON_DX).rows
    if not lab or not dx:
        hint = "build the demo EHR with `ehrqa db demo --out demo.sqlite`"
        raise DatabaseError(f"{path} has no labs or no diagnoses to ask about", hint)
    return {"patient": lab[0][0], "lab": lab[0][1], "dx": dx[0][0]}
