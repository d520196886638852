"""To which reader do questions go? Table, image, image+table or note, on the development sets.

    python tests/benchmarks/routing.py --data DATA --out routing.jsonl [--limit N]

DATA holds ehrsql-2024, tableqa, ehrxqa-open and noteqa. Each question is taken through the engine
up to its scope and kept in OUT, so that a second run goes on where the
first one ended; the table is printed from OUT. Three settings:

- words: only the score of the question's words (`note_route.NoteRouter`) tells notes from the rest;
- today: patients of noteqa have notes only, all others tables only;
- both: every patient named has notes and tables. The numbers of patients unknown to the EHR are
  replaced by known ones, and noteqa is asked of patients of the EHR. A question that the tables
  decline may go to the notes (`note_route.choose`); one that goes to the notes first stays there.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from shared import rows_of

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import Question, Scope, Status
from ehrqa_cli.engine import one_study, query_path
from ehrqa_cli.engine.ask import ask
from ehrqa_cli.engine.ask import choose as choose_way
from ehrqa_cli.engine.note_route import MIDDLING, NOTE, NoteRouter, choose
from ehrqa_cli.engine.one_study import OneStudy
from ehrqa_cli.engine.opening import open_session
from ehrqa_cli.engine.parts import shipped_model
from ehrqa_cli.engine.question_run import Run, Withheld
from ehrqa_cli.engine.risk import probability
from ehrqa_cli.engine.session import Session
from ehrqa_cli.engine.whose import whose
from ehrqa_cli.text2sql.local import LocalModel
from ehrqa_cli.vqa import Vqa
from ehrqa_cli.vqa.oracle import OracleGraphs

SETS = ("tableqa", "noteqa", "ehrxqa-open", "ehrsql valid")


@dataclass(frozen=True)
class Item:
    """A question of a set and the scope that it has. ``kind`` groups it in the report."""

    name: str
    id: str
    text: str
    gold: str
    kind: str


def items(data: Path) -> dict[str, list[Item]]:
    """The questions of each set."""
    labels = json.loads((data / "ehrsql-2024/valid/label.json").read_text())
    ehrsql = json.loads((data / "ehrsql-2024/valid/data.json").read_text())["data"]
    none = (None, "null")
    return {
        "tableqa": [
            Item("tableqa", j["id"], j["question"], "table", _tier(j["tier"]))
            for j in rows_of(data / "tableqa/questions.jsonl")
        ],
        "noteqa": [
            Item("noteqa", j["id"], j["question"], "note", _may(j["answerable"]))
            for j in rows_of(data / "noteqa/questions.jsonl")
        ],
        "ehrxqa-open": [
            Item("ehrxqa-open", j["id"], j["question"], j["modality"], j["modality"])
            for j in rows_of(data / "ehrxqa-open/questions.jsonl")
        ],
        "ehrsql valid": [
            Item("ehrsql valid", j["id"], j["question"], "table", _may(labels[j["id"]] not in none))
            for j in ehrsql
        ],
    }


def _tier(tier: object) -> str:
    return "to be declined" if tier == "abstain" else f"tier {tier}"


def _may(answerable: bool) -> str:
    return "answerable" if answerable else "unanswerable"


class Engine:
    """Sessions without notes over both databases, and the router."""

    def __init__(self, data: Path) -> None:
        tables = data / "ehrsql-2024/mimic_iv.sqlite"
        images = data / "ehrxqa-open/mimic_iv_cxr.sqlite"
        graphs = Vqa(OracleGraphs.open(data / "ehrxqa-open"))
        model = LocalModel(shipped_model(), threads=1)
        # Scopes are those of the form, which a second opinion does not change.
        self.tables = open_session(tables, model=model, log=False)
        self.images = open_session(images, model=model, log=False, graphs=graphs)
        self.router = NoteRouter.load()
        rows = self.tables.database.execute("SELECT subject_id FROM patients ORDER BY 1").rows
        self.patients = [int(str(row[0])) for row in rows]
        self._next = 0

    def close(self) -> None:
        """Close the sessions."""
        self.tables.close()
        self.images.close()

    def look(self, item: Item) -> dict[str, Any]:
        """What the path by logical form makes of a question, up to its scope."""
        found: dict[str, Any] = {"set": item.name, "id": item.id, "gold": item.gold}
        found |= {"kind": item.kind, "text": item.text}
        if item.name == "noteqa":  # its patient is given with it
            return found | {"named": True, "both": self.whole(item.text, self.some_patient())}
        session = self.images if item.name == "ehrxqa-open" else self.tables
        linked = session.linker.link(item.text)
        patient = whose(Question(item.text), linked, lambda _: True, lambda _: True)
        unknown = [said for kind, said in linked.unknown if kind == "pat"]
        return found | {
            "named": patient is not None,
            "unknown": unknown,
            **self.scope(item.text, session),
        }

    def told_both(self, row: dict[str, Any]) -> dict[str, Any]:
        """How the path ends for a question whose words are undecided, its patient made known."""
        text = row["text"]
        for said in row["unknown"]:
            text = text.replace(said, str(self.some_patient()))
        session = self.images if row["set"] == "ehrxqa-open" else self.tables
        return {"set": row["set"], "id": row["id"], "both": self.whole(text, None, session)}

    def some_patient(self) -> int:
        """The patients of the EHR in turn."""
        self._next += 1
        return self.patients[self._next % len(self.patients)]

    def scope(self, text: str, session: Session) -> dict[str, Any]:
        """The scope by logical form; ``declined`` where the question came to none."""
        run, declined = Run(Question(text), session), None
        try:
            way = choose_way(run)
            if isinstance(way, OneStudy):
                one_study.take(run, way)
            else:
                linked = query_path.link(run)
                query = query_path.write(run, linked)[0]
                query_path.route(run, query_path.understand(run, linked, query))
        except Withheld as held:
            declined = held.reason.kind
        except EhrqaError:
            pass  # a fault has no scope, which is then "table"
        scope = run.known.route.scope if run.known.route else Scope.TABLE
        return {"scope": scope.value, "declined": declined}

    def whole(self, text: str, patient: int | None, session: Session | None = None) -> Any:
        """How the path by logical form ends: its reason and risk if it declines."""
        session = session or self.tables
        answer = ask(Question(text, patient_id=patient), session)
        sure = probability(answer.scores, session.thresholds)
        risk = None if sure is None else round(1.0 - sure, 4)
        declined = answer.reason_kind if answer.status is Status.ABSTAINED else None
        return {"scope": answer.scope.value, "declined": declined, "risk": risk}


def final(row: dict[str, Any], setting: str) -> str:
    """The scope that a question ends with in a setting."""
    by_form = row.get("scope") or row["both"]["scope"]
    if setting == "words":
        return "note" if row["score"] >= NOTE else by_form
    noted = row["set"] == "noteqa"
    if setting == "today":
        here, known = (True, False) if noted else (False, True)
        chosen = choose(row["score"], has_notes=here, in_tables=known)
        return "note" if chosen.scope is Scope.NOTE else by_form
    chosen = choose(row["score"], has_notes=row["named"], in_tables=True)
    if chosen.scope is Scope.NOTE:
        return "note"
    tables = row.get("both")
    if chosen.other and tables is not None and tables["declined"]:
        again = choose(
            row["score"],
            has_notes=True,
            in_tables=True,
            table_reason=tables["declined"],
            table_risk=tables["risk"],
        )
        if again.scope is Scope.NOTE:
            return "note"
    return by_form


SETTINGS = ("words", "today", "both")


def report(rows: list[dict[str, Any]]) -> str:
    """The table: right of all in each setting, each set and all together."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["set"], []).append(row)
        groups.setdefault(f"  {row['set']}: {row['kind']}", []).append(row)
    ordered = {k: v for name in SETS for k, v in sorted(groups.items()) if name in k}
    names = [*(n for name in SETS for n in (name, *ordered) if _of(n, name)), "together"]
    ordered["together"] = rows
    lines = [f"{'':42}{'n':>6}  words         today         both          no form"]
    for name in dict.fromkeys(names):
        if name not in ordered:
            continue
        some = ordered[name]
        cells = []
        for setting in SETTINGS:
            right = sum(final(row, setting) == row["gold"] for row in some)
            cells.append(f"{right:5} {100 * right / len(some):5.1f} %")
        early = sum(row.get("declined") in EARLY for row in some)
        lines.append(f"{name:42}{len(some):6}  {'  '.join(cells)}  {early:5}")
    return "\n".join(lines)


def _of(name: str, group: str) -> bool:
    return name == group or name.startswith(f"  {group}:")


# Declined before a logical form could tell the scope, which is then "table".
EARLY = ("unknown_patient", "unlinked_value", "model_declined", "no_form")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="only so many of each set")
    flags = parser.parse_args()
    wanted = [item for some in items(flags.data).values() for item in some[: flags.limit]]
    wanted_ids = {(item.name, item.id) for item in wanted}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows_of(flags.out):
        rows.setdefault((row["set"], row["id"]), {}).update(row)
    rows = {key: row for key, row in rows.items() if key in wanted_ids}
    engine = Engine(flags.data)
    with flags.out.open("a", encoding="utf-8") as file:
        for item in wanted:
            key = (item.name, item.id)
            if key not in rows:
                rows[key] = _kept(engine.look(item), file)
            row = rows[key]
            row["score"] = engine.router.note_score(item.text)
            if row["named"] and MIDDLING <= row["score"] < NOTE and "both" not in row:
                row.update(_kept(engine.told_both(row), file))
    engine.close()
    print(report(list(rows.values())))


def _kept(row: dict[str, Any], file: TextIO) -> dict[str, Any]:
    file.write(json.dumps(row) + "\n")
    file.flush()
    return row


if __name__ == "__main__":
    main()
