"""What a query asks of: tables, images or notes; nobody, one patient or a group."""

from __future__ import annotations

from dataclasses import dataclass

from ehrqa_cli.contracts.types import PatientScope, Scope
from ehrqa_cli.logical_form import Form, scope_of


@dataclass(frozen=True)
class Route:
    """The scope of a question and why."""

    scope: Scope
    patient_scope: PatientScope
    reason: str


def route_form(form: Form, forced: Scope | None = None) -> Route:
    """The scope that a logical form asks for; ``forced`` (--scope) goes before it."""
    scope, patient_scope = scope_of(form)
    if forced is not None:
        return Route(forced, patient_scope, "the scope was given")
    return Route(scope, patient_scope, f"its logical form reads {scope.value} data")


def route_sql(sql: str, patients: int, forced: Scope | None = None) -> Route:
    """The scope of a query written without a logical form; ``patients`` are those it names."""
    image = "func_vqa" in sql.lower()
    scope = forced or (Scope.IMAGE_TABLE if image else Scope.TABLE)
    patient_scope = PatientScope.SINGLE if patients == 1 else PatientScope.GROUP
    why = "the scope was given" if forced else "it calls FUNC_VQA" if image else "its SQL"
    return Route(scope, patient_scope, why)
