"""One question about one study as an Answer, the same object that ``ehrqa ask`` gives."""

from __future__ import annotations

from typing import Any

from ehrqa_cli.contracts.images import ImageAnswer, VqaReason
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Answer, PatientScope, Question, Scope, Status
from ehrqa_cli.vqa.reader import Vqa

# What each reason means to a person, in the kinds of engine.reasons.
_PUBLIC = {
    "not_understood": "not_sure",
    "ambiguous": "ambiguous",
    "no_image": "no_data",
    "unknown_study": "unknown_value",
}
_NOWHERE = "not_in_database"


def study_answer(
    question: Question, study_id: int, vqa: Vqa, database: Database | None = None
) -> Answer:
    """Answer ``question`` about one study. A study that the database lacks is an abstention."""
    neuralsql = f"SELECT FUNC_VQA({_quote(question.text)}, {study_id})"
    asked = vqa.ask(question.text)
    common: dict[str, Any] = {
        "scope": Scope.IMAGE,
        "patient_scope": PatientScope.SINGLE,
        "description": asked.program or None,
        "neuralsql": neuralsql,
        "provenance": _provenance(question, study_id, vqa, database),
    }
    unknown = _unknown_study(study_id, database)
    found = (
        ImageAnswer(study_id, reason=unknown) if unknown else vqa.detail(question.text, study_id)
    )
    if found.reason:
        return Answer(
            question,
            Status.ABSTAINED,
            text=f"I don't know. {found.reason.sentence}",
            reason_kind=found.reason.kind,
            reason=found.reason.sentence,
            reason_public=_PUBLIC.get(found.reason.kind, _NOWHERE),
            **common,
        )
    return Answer(
        question,
        Status.ANSWERED,
        text=_sentence(found, asked.verify, study_id),
        value=found.values[0] if len(found.values) == 1 else list(found.values),
        columns=("answer",),
        rows=tuple((value,) for value in found.values),
        confidence=found.probability,
        evidence=evidence(found),
        **common,
    )


def evidence(found: ImageAnswer) -> tuple[dict[str, Any], ...]:
    """The relations an answer rests on, in the fields of the interface."""
    return tuple(
        {
            "kind": "image",
            "study_id": found.study_id,
            "finding": used.attribute,
            "location": used.object or None,
            "probability": used.probability,
        }
        for used in found.relations
    )


def _unknown_study(study_id: int, database: Database | None) -> VqaReason | None:
    if database is None or "tb_cxr" not in {name.lower() for name in database.schema()}:
        return None
    if database.execute(f"SELECT 1 FROM tb_cxr WHERE study_id = {study_id:d} LIMIT 1").rows:
        return None
    return VqaReason("unknown_study", f"There is no study {study_id} in this database.")


def _sentence(found: ImageAnswer, verify: bool, study_id: int) -> str:
    if verify:
        said = "yes" if found.values[0] else "no"
    else:
        said = ", ".join(map(str, found.values)) or "none"
    return f"Study {study_id}: {said}."


def _provenance(
    question: Question, study_id: int, vqa: Vqa, database: Database | None
) -> dict[str, Any]:
    return {
        "question": question.text,
        "study_id": study_id,
        "models": {"vqa": dict(vqa.source.provenance())},
        "database": database.fingerprint() if database else None,
        "thresholds": vqa.thresholds.as_dict(),
    }


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
