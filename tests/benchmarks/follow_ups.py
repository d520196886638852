"""Follow-up questions: is the rewritten question the one that was meant?

    python tests/benchmarks/follow_ups.py --db mimic_iv.sqlite [--pairs FILE] [--valid DIR]

Each line of the pairs holds the question before, the follow-up, and the whole question that it
stands for (or ``none``: it must not be completed). Judged by the logical form that the text-to-SQL
model writes for either, values put in: the wording may differ, the meaning may not.
``--valid`` is EHRSQL's folder of a split: its questions are asked in turn, each after the one
before, in the file's order and then shuffled, and none may change.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.engine import open_session
from ehrqa_cli.engine.chat.conversation import Conversation
from ehrqa_cli.engine.chat.values import Rewrite, Turn
from ehrqa_cli.engine.session import Session
from ehrqa_cli.logical_form import bind, parse, print_form

PAIRS = Path(__file__).with_suffix(".jsonl")


def form_of(session: Session, text: str, patient_id: int | None = None) -> str | None:
    """The logical form of ``text`` with its values, as the model reads it."""
    linked = session.linker.link(text, patient_id=patient_id)
    queries = session.model.generate(linked)
    if not queries or not queries[0].logical_form:
        return None
    return print_form(bind(parse(queries[0].logical_form), linked.links))


def asked_before(conversation: Conversation, text: str) -> None:
    """Make ``text`` the last turn, without running its query."""
    rewrite = conversation.rewrite(text)
    asked = rewrite.asked or text
    linked = conversation.session.linker.link(asked, patient_id=rewrite.patient_id)
    question = Question(asked, patient_id=rewrite.patient_id)
    provenance = {"linked": linked.text}
    answer = Answer(question, Status.ABSTAINED, logical_form="-", provenance=provenance)
    conversation._note_patient(answer)
    turn = Turn(1, text, asked, answer, conversation.patient_id)
    conversation.turns = [turn]


def judged(session: Session, pair: dict[str, str]) -> tuple[str, Rewrite]:
    """right, wrong, or as typed: not completed, which asks for the whole question."""
    conversation = Conversation(session)
    asked_before(conversation, pair["before"])
    rewrite = conversation.rewrite(pair["follow"])
    if pair.get("none"):
        return ("wrong" if rewrite.changed else "right"), rewrite
    if rewrite.asked is None:
        return "as typed", rewrite
    wanted = form_of(session, pair["whole"])
    if wanted is not None and form_of(session, rewrite.asked, rewrite.patient_id) == wanted:
        return "right", rewrite
    return ("wrong" if rewrite.changed else "as typed"), rewrite


def pairs_report(session: Session, path: Path) -> None:
    """Judge every pair; print those that are not right."""
    counts: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        verdict, rewrite = judged(session, pair)
        counts[verdict] += 1
        if verdict != "right":
            print(f"{verdict}: {pair['before']} | {pair['follow']}")
            print(f"    asked {rewrite.asked!r} {rewrite.message} {rewrite.carried}")
            if "whole" in pair:
                print(f"    meant {pair['whole']!r} {form_of(session, pair['whole'])}")
    print(f"{sum(counts.values())} follow-ups of {path.name}: {dict(counts)}")


def standing_report(session: Session, folder: Path, shuffled: bool) -> None:
    """Ask all questions of a split in turn; print those that changed."""
    data = json.loads((folder / "data.json").read_text(encoding="utf-8"))["data"]
    if shuffled:
        random.Random(7).shuffle(data)
    conversation = Conversation(session)
    changed = same = 0
    for item in data:
        text = item["question"]
        rewrite = conversation.rewrite(text)
        if rewrite.asked is None or rewrite.changed or rewrite.carried:
            changed += 1
            told = replace(rewrite, typed="")
            alone = form_of(session, text)
            if rewrite.asked and form_of(session, rewrite.asked, rewrite.patient_id) == alone:
                same += 1
                print(f"same form: {text}\n    {told}")
            else:
                print(f"changed: {text}\n    {told} {alone}")
        asked_before(conversation, text)
    how = "shuffled" if shuffled else "in turn"
    print(f"{len(data)} questions asked {how}: {changed} changed, {same} to the same form")


def main() -> None:
    """Print both reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, action="append")
    parser.add_argument("--valid", type=Path)
    options = parser.parse_args()
    with open_session(options.db, log=False) as session:
        for path in options.pairs or [PAIRS]:
            pairs_report(session, path)
        if options.valid:
            for shuffled in (False, True):
                standing_report(session, options.valid, shuffled)


if __name__ == "__main__":
    main()
