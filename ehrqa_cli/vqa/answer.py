"""One question about one study or image as an Answer, the same object that ``ehrqa ask`` gives."""

from __future__ import annotations

from typing import Any

from ehrqa_cli.contracts.images import NO_STUDY, ImageAnswer, VqaReason
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Answer, PatientScope, Question, Scope, Status
from ehrqa_cli.vqa.reader import Vqa

# What each reason means to a person (docs/declining.md). All others: the reader cannot tell, or was
# not trained to see it.
_PUBLIC = {
    "general": "outside_knowledge",
    "not_understood": "not_sure",
    "ambiguous": "ambiguous",
    "no_image": "no_data",
    "unreadable": "no_data",
    "unknown_study": "unknown_value",
}
_NOT_SEEN = "not_seen"


def study_answer(
    question: Question, study_id: int, vqa: Vqa, database: Database | None = None
) -> Answer:
    """Answer ``question`` about one study. A study that the database lacks is an abstention."""
    unknown = _unknown_study(study_id, database)
    found = (
        ImageAnswer(study_id, reason=unknown) if unknown else vqa.detail(question.text, study_id)
    )
    more = {
        "neuralsql": f"SELECT FUNC_VQA({_quote(question.text)}, {study_id})",
        "provenance": {
            "question": question.text,
            "study_id": study_id,
            "models": {"vqa": dict(vqa.source.provenance())},
            "database": database.fingerprint() if database else None,
            "thresholds": vqa.thresholds.as_dict(),
        },
    }
    return _answer(question, vqa, found, f"Study {study_id}", more)


def image_answer(question: Question, name: str, sha256: str, vqa: Vqa) -> Answer:
    """Answer ``question`` about one image of no study, from a reader that has only its graph."""
    provenance = {
        "question": question.text,
        "image": name,
        "image_sha256": sha256,
        "models": {"vqa": dict(vqa.source.provenance())},
        "database": None,
        "thresholds": vqa.thresholds.as_dict(),
    }
    found = vqa.detail(question.text, NO_STUDY)
    return _answer(question, vqa, found, name, {"provenance": provenance})


def _answer(
    question: Question, vqa: Vqa, found: ImageAnswer, subject: str, more: dict[str, Any]
) -> Answer:
    asked = vqa.ask(question.text)
    common: dict[str, Any] = {
        "scope": Scope.IMAGE,
        "patient_scope": PatientScope.SINGLE,
        "description": asked.program or None,
        **more,
    }
    if found.reason:
        return Answer(
            question,
            Status.ABSTAINED,
            text=f"I don't know. {found.reason.sentence}",
            reason_kind=found.reason.kind,
            reason=found.reason.sentence,
            reason_public=_PUBLIC.get(found.reason.kind, _NOT_SEEN),
            **common,
        )
    return Answer(
        question,
        Status.ANSWERED,
        text=_sentence(found, asked.verify, subject),
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
            "study_id": None if found.study_id == NO_STUDY else found.study_id,
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


def _sentence(found: ImageAnswer, verify: bool, subject: str) -> str:
    if verify:
        said = "yes" if found.values[0] else "no"
    else:
        said = ", ".join(map(str, found.values)) or "none"
    return f"{subject}: {said}."


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
