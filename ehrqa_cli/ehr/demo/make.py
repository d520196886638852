"""The embedded demo EHR: imaginary patients from a seed, in the schema of EHRSQL-2024.

The same seed gives the same content on every machine. ``people`` tells who they are and why they
came, so that chest X-rays and notes can be made to fit; they go into their own tables and draw
from their own streams of chance. ``folder`` writes the same patients, and more, as Parquet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.backend import bulk
from ehrqa_cli.ehr.demo import events as demo_events
from ehrqa_cli.ehr.demo.people import AS_OF, Dice, Person, Visit, people
from ehrqa_cli.ehr.demo.vocabulary import Vocabulary, vocabulary
from ehrqa_cli.ehr.mimic.costs import add_costs
from ehrqa_cli.ehr.schema import BY_NAME, TABLES

Row = tuple[object, ...]
_FORMAT = "1"
_OURS = {  # columns that EHRSQL-2024 lacks and the demo has
    *("ref_range_lower", "ref_range_upper", "flag", "fluid", "category", "amount", "amountuom"),
    *("encounter", "hospital_expire_flag"),
}
# Tables with the columns that the demo has of them.
DEMO_TABLES = {
    name: table.only(_OURS - {"category"} if name == "d_items" else _OURS)
    for name, table in BY_NAME.items()
}
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
        made = [DEMO_TABLES[table.name] for table in TABLES]
        for table in made:
            connection.execute(table.ddl())
        for name, rows in (*dictionaries(words).items(), *rows_of(seed, who, words)):
            bulk.insert(connection, DEMO_TABLES[name], rows)
        add_costs(connection, seed)
        bulk.index(connection, made)
        bulk.write_meta(connection, meta(seed, patients))


def meta(seed: int, patients: int) -> dict[str, str]:
    """What is written down about the demo."""
    as_of = demo_events.text(AS_OF) or ""
    about = {"as_of": as_of, "source": "demo", "seed": str(seed), "format": _FORMAT}
    return {**about, "patients": str(patients)}


def rows_of(seed: int, who: list[Person], words: Vocabulary) -> Iterator[tuple[str, Iterator[Row]]]:
    """The rows of the tables of people and of what happens to them, without ``row_id``; in each
    table those of one patient follow each other."""
    yield from _people(who)
    for name, make in _DRAWN.items():
        yield name, _events(seed, name, make, who, words)
    for name, spell in _SPELLS.items():
        yield name, _spells(spell, who)


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


def _spells(spell: Callable[[Person, Visit], Iterator[Row]], who: list[Person]) -> Iterator[Row]:
    for person in who:
        for visit in person.visits:
            yield from spell(person, visit)


def dictionaries(words: Vocabulary) -> dict[str, list[Row]]:
    """The rows of the tables that name codes, without ``row_id``."""
    items: list[Row] = [(v.itemid, v.label, v.short, "chartevents") for v in words.vitals]
    items += [(f.itemid, f.label, f.short, "inputevents") for f in words.intake]
    items += [(f.itemid, f.label, f.short, "outputevents") for f in words.output]
    return {
        "d_icd_diagnoses": list(words.diagnoses.items()),
        "d_icd_procedures": list(words.procedures.items()),
        "d_labitems": [
            (lab.itemid, lab.label, "urine" if lab.panel == "urine" else "blood", lab.panel)
            for lab in words.labs.values()
        ],
        "d_items": items,
    }


def _people(who: list[Person]) -> Iterator[tuple[str, Iterator[Row]]]:
    text = demo_events.text
    yield "patients", ((p.subject_id, p.gender, text(p.born), _day(p.died)) for p in who)
    columns = DEMO_TABLES["admissions"].names()[5:]
    yield (
        "admissions",
        (
            (
                *(p.subject_id, v.hadm_id, text(v.start), text(v.end)),
                *(_facts(p, v)[column] for column in columns),
            )
            for p in who
            for v in p.visits
        ),
    )


def _facts(person: Person, visit: Visit) -> dict[str, object]:
    died = int(visit.died and visit.end is not None)
    more = {"age": person.age(visit.start), "encounter": "inpatient", "hospital_expire_flag": died}
    return {**visit.facts, **more}


def _day(when: datetime | None) -> str | None:
    return None if when is None else f"{when:%Y-%m-%d} 00:00:00"
