"""The embedded demo EHR: imaginary patients from a seed, in the schema of EHRSQL-2024.

The same seed gives the same content on every machine. ``people`` (demo_people) tells who they are
and why they came, so that chest X-rays and notes can be made to fit; they go into their own
tables and draw from their own streams of chance.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.backend import bulk
from ehrqa_cli.ehr.demo import events as demo_events
from ehrqa_cli.ehr.demo.costs import add_costs
from ehrqa_cli.ehr.demo.people import AS_OF, Dice, Person, Visit, people
from ehrqa_cli.ehr.demo.vocabulary import Vocabulary, vocabulary
from ehrqa_cli.ehr.schema import BY_NAME, TABLES

Row = tuple[object, ...]
_FORMAT = "1"
_DRAWN: dict[str, Callable[[Dice, Vocabulary, Person, Visit], Iterator[Row]]] = {
    "diagnoses_icd": demo_events.diagnoses,
    "procedures_icd": demo_events.procedures,
    "labevents": demo_events.labs,
    "prescriptions": demo_events.prescriptions,
    "chartevents": demo_events.chart,
    "inputevents": demo_events.intake,
    "outputevents": demo_events.output,
    "microbiologyevents": demo_events.microbiology,
}

_SPELLS: dict[str, Callable[[Person, Visit], Iterator[Row]]] = {
    "icustays": demo_events.icustays,
    "transfers": demo_events.transfers,
}


def build_demo(out: Path, seed: int = 7, patients: int = 300, force: bool = False) -> None:
    """Write the demo EHR with this many patients to ``out``.

    Raises ImportFailed when ``out`` exists (unless ``force``) or cannot be written.
    """
    if not 1 <= patients <= 100_000:
        raise ImportFailed(f"cannot make {patients} patients", "ask for 1 to 100,000")
    who = people(seed, patients)
    words = vocabulary()
    with bulk.new_database(out, force) as connection:
        for table in TABLES:
            connection.execute(table.ddl())
        for name, rows in dictionaries(words).items():
            bulk.insert(connection, BY_NAME[name], rows)
        _write_people(connection, who)
        for name, make in _DRAWN.items():
            rows_of = _events(seed, name, make, who, words)
            bulk.insert(connection, BY_NAME[name], rows_of)
        for name, spell in _SPELLS.items():
            spells = (row for p in who for v in p.visits for row in spell(p, v))
            bulk.insert(connection, BY_NAME[name], spells)
        add_costs(connection, seed)
        bulk.index(connection, TABLES, lambda done, of: None)
        as_of = demo_events.text(AS_OF) or ""
        meta = {"as_of": as_of, "source": "demo", "seed": str(seed), "format": _FORMAT}
        bulk.write_meta(connection, {**meta, "patients": str(patients)})


def _events(
    seed: int,
    name: str,
    make: Callable[[Dice, Vocabulary, Person, Visit], Iterator[Row]],
    who: list[Person],
    words: Vocabulary,
) -> Iterator[Row]:
    """Each kind of event of each visit has its own stream of chance."""
    for person in who:
        for visit in person.visits:
            dice = Dice(seed, f"{name} {visit.hadm_id}")
            yield from make(dice, words, person, visit)


def dictionaries(words: Vocabulary) -> dict[str, list[Row]]:
    """The rows of the tables that name codes, without ``row_id``."""
    items: list[Row] = [(v.itemid, v.label, v.short, "chartevents") for v in words.vitals]
    items += [(f.itemid, f.label, f.short, "inputevents") for f in words.intake]
    items += [(f.itemid, f.label, f.short, "outputevents") for f in words.output]
    return {
        "d_icd_diagnoses": list(words.diagnoses.items()),
        "d_icd_procedures": list(words.procedures.items()),
        "d_labitems": [(lab.itemid, lab.label) for lab in words.labs.values()],
        "d_items": items,
    }


def _write_people(connection: sqlite3.Connection, who: list[Person]) -> None:
    text = demo_events.text
    patients = ((p.subject_id, p.gender, text(p.born), _day(p.died)) for p in who)
    bulk.insert(connection, BY_NAME["patients"], patients)
    columns = BY_NAME["admissions"].names()[5:-1]
    visits = [(p, v) for p in who for v in p.visits]
    rows = (
        (
            *(p.subject_id, v.hadm_id, text(v.start), text(v.end)),
            *(v.facts[column] for column in columns),
            p.age(v.start),
        )
        for p, v in visits
    )
    bulk.insert(connection, BY_NAME["admissions"], rows)


def _day(when: datetime | None) -> str | None:
    return None if when is None else f"{when:%Y-%m-%d} 00:00:00"
