"""The scope of a question, read off its form (EHRXQA section 3)."""

from __future__ import annotations

from ehrqa_cli.contracts.types import PatientScope, Scope
from ehrqa_cli.logical_form.form import Form, events, selects
from ehrqa_cli.logical_form.grammar import FILMS, HEADS, IMAGE


def scope_of(form: Form) -> tuple[Scope, PatientScope]:
    """Modality and patient scope: a study given by id is one patient's."""
    found = [e for s in selects(form) for e in events(s.event)]
    images = [e for e in found if e.kind in (*FILMS, *IMAGE)]
    scope = Scope.TABLE
    if images:
        # Age and gender of the people are read from tables.
        people = any(e.get("female", "male", "aged", "older", "younger") for e in images)
        only = len(images) == len(found) and not people
        scope = Scope.IMAGE if only else Scope.IMAGE_TABLE
    if any(e.get("patient") or (e.kind in FILMS and e.items) or e.numbered for e in found):
        return scope, PatientScope.SINGLE
    heads = [HEADS[s.head] for s in selects(form)]
    # Questions about what things cost, are called, or how they are given concern no patient.
    if heads and all(head.impersonal for head in heads):
        return scope, PatientScope.NONE
    return scope, PatientScope.GROUP
