"""Whatever is asked, `ehrqa ask` answers or declines, and a session does so in a moment."""

from __future__ import annotations

import json
import random
import time

from ehrqa_cli.cli.questions import check_text
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Status
from ehrqa_cli.engine import open_session
from ehrqa_cli.notes.importing import import_notes
from ehrqa_cli.store import answer_record

from .odd import INPUTS, text


def test_odd_questions_on_the_command_line(cli, ehr, rote) -> None:
    rng = random.Random("command line")
    for _ in range(min(INPUTS // 5, 500)):
        asked = text(rng)
        ran = cli("ask", "--json", "--db", ehr, "--", asked)
        assert ran.code in (0, 2, 3), (asked, ran)
        lines = ran.err.splitlines()
        if ran.code == 2:
            assert ran.out == "" and [x.split(":")[0] for x in lines] == ["error", "hint"], asked
        else:
            assert json.loads(ran.out)["status"] == ("abstained" if ran.code else "answered")
            assert not lines, (asked, ran.err)


def test_odd_questions_in_a_session(ehr, rote, tmp_path) -> None:
    lines = tmp_path / "notes.jsonl"
    lines.write_text('{"note_id": "1", "patient_id": 101, "text": "Allergies: penicillin."}')
    import_notes(lines, ehr)
    with open_session(ehr) as session:
        for number in range(INPUTS):
            rng = random.Random(f"session {number}")
            asked = text(rng) if rng.random() < 0.8 else f"allergies of patient {text(rng)}?"
            started = time.monotonic()
            try:
                answer = session.ask(check_text(asked), patient_id=rng.choice((None, 101, 9)))
            except UsageError as error:
                assert error.hint and "\n" not in error.message, asked
                continue
            assert time.monotonic() - started < 5, asked
            assert answer.status in (Status.ANSWERED, Status.ABSTAINED), (asked, answer.error)
            assert answer_record(answer)["question"], asked
