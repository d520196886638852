"""Linking where there are notes and no tables: patients only, by their ids."""

from __future__ import annotations

import re

from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.engine.parts import Linker
from ehrqa_cli.engine.session import Session
from ehrqa_cli.text2sql.linking.namesakes import Namesakes

_ID = re.compile(r"(?<![\w.,/:-])#?(\d{5,18})(?![\w%]|[./:-]\d|,\d{3}\b)")


class NotesLinker:
    """Links a number of at least five digits as a patient, as engine.whose reads them."""

    def link(
        self, question: str, *, patient_id: int | None = None, study_id: int | None = None
    ) -> LinkedQuestion:
        """The question with its patients."""
        links = [
            Link(m.start(1), m.end(1), ("pat",), int(m[1]), "id") for m in _ID.finditer(question)
        ]
        text = _ID.sub("<pat>", question)
        if patient_id is not None and not links:
            links.append(Link(len(question), len(question), ("pat",), patient_id, "option"))
        return LinkedQuestion(question, text, tuple(links))

    def namesakes(self, mention: str, kind: str, value: str) -> Namesakes:
        """Nothing: there are no tables."""
        return Namesakes()

    def shared(self, kind: str, value: str) -> int:
        """One: there are no tables."""
        return 1


def linker_of(session: Session) -> Linker:
    """The session's linker; without a database, one for patients. Raises what opening raises."""
    return NotesLinker() if session.only_notes else session.linker
