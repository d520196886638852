"""Questions over an EHR with images: EHRXQA's own JSON, and the open re-creation's JSON Lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.types import Row
from ehrqa_cli.evaluate.ehrxqa.forms import form_of
from ehrqa_cli.evaluate.files import ReadFile, check_ids, find_file, learnt_from, read_objects
from ehrqa_cli.evaluate.predictions import rows_of
from ehrqa_cli.logical_form import compile_sql, parse

NAME = "EHRXQA"
OPEN = "questions.jsonl"
OWN, OPEN_LAYOUT = "ehrxqa", "ehrxqa-open"
NONE, SINGLE, GROUP = "none", "single", "group"
TABLE, IMAGE, BOTH = "table", "image", "image+table"

_PATIENT = re.compile(r"\{(?:patient|study)_id\d?\}")
# What a template of the image modality never names: an event of a table, or who the people are.
_TABLE_EVENT = re.compile(
    r"\{(?:diagnosis|procedure|drug)_name\d?\}|\[age_group\]|(?<!\$)\{gender\}"
    r"|\bany (?:diagnos[ie]s|procedure|medication|drug|prescription)"
    r"|(?:diagnosed|prescribed)(?: with)? any",
    re.I,
)
_STUDY = re.compile(r"\bchest x-?rays?\b|\bstudy\b|\bstudies\b|func_vqa", re.I)
# EHRSQL's six templates that concern no patient: costs, routes and abbreviations.
_NOBODY = re.compile(
    r"^what(?: is|'s) the (?:intake method|cost) of\b|^what does .* stand for", re.I
)


@dataclass(frozen=True)
class XqaItem:
    """One question. ``rows`` is its answer, None where there is none to give; ``query`` its gold
    NeuralSQL and ``form`` its gold logical form, where there are any; ``images`` is 1-image,
    2-image, N-image or empty."""

    id: str
    question: str
    rows: tuple[Row, ...] | None
    modality: str
    patient_scope: str
    images: str
    template: str
    query: str | None = None
    form: str | None = None


@dataclass(frozen=True)
class XqaSet:
    """A split; ``training`` are (template, answer) of the splits that baselines are chosen on."""

    layout: str
    split: str
    sha256: str
    items: tuple[XqaItem, ...]
    training: tuple[tuple[str, tuple[Row, ...]], ...] = ()
    training_files: tuple[str, ...] = ()


def load_xqa(data: Path, split: str, *, text: str = "question") -> XqaSet:
    """Read a split of either layout; the open one has only one, whatever ``split`` says.

    ``text`` is the field that is asked. The open set publishes no queries: its gold programs are
    the logical forms of its templates, filled from ``template_text``. Raises EvaluationError.
    """
    if (data / OPEN).is_file():
        needed = ("id", "modality", "patient_scope", "template", "answerable", "answer", text)
        source = read_objects(data / OPEN, needed)
        items = tuple(_open(raw, text, source) for raw in source.content)
        check_ids([item.id for item in items], source.path)
        return XqaSet(OPEN_LAYOUT, "all", source.sha256, items)
    path = find_file(data, [*_own_names(split), OPEN], NAME)
    source = read_objects(path, (text, "template", "query"))
    items = tuple(_own(raw, i, text, source) for i, raw in enumerate(source.content))
    check_ids([item.id for item in items], path)
    told = learnt_from(data, split, _own_names, ("template", "query"))
    known = (_own(raw, i, "template", one) for _, one in told for i, raw in enumerate(one.content))
    training = tuple((item.template, item.rows) for item in known if item.rows is not None)
    return XqaSet(OWN, split, source.sha256, items, training, tuple(name for name, _ in told))


def scopes_of(template: str, query: str = "") -> tuple[str, str, str]:
    """Modality, patient scope and number of images of a template (EHRXQA, section 4.1.2); the
    data set's own files do not say them."""
    shown = "${" in template or "func_vqa" in query.lower() or _STUDY.search(template) is not None
    single = _PATIENT.search(template) is not None
    if not shown:
        scope = SINGLE if single else NONE if _NOBODY.search(template) else GROUP
        return TABLE, scope, ""
    scope = SINGLE if single else GROUP
    if _TABLE_EVENT.search(template):
        return BOTH, scope, ""
    if re.search(r"compared to\b|\$?[{\[]comparison", template):
        return IMAGE, scope, "2-image"
    return IMAGE, scope, "1-image" if re.match(r"given the\b", template, re.I) else "N-image"


def training_file(data: Path) -> Path | None:
    """``train.json`` of the data set's own layout; None without one."""
    return next((data / n for n in _own_names("train") if (data / n).is_file()), None)


def _own_names(split: str) -> list[str]:
    folders = ("", "dataset/", "mimic_iv_cxr/", "dataset/mimic_iv_cxr/")
    return [f"{folder}{split}.json" for folder in folders]


def _open(raw: Mapping[str, Any], text: str, source: ReadFile) -> XqaItem:
    form = form_of(raw["template"], raw.get("template_text", "")) if raw["answerable"] else None
    return XqaItem(
        id=str(raw["id"]),
        question=str(raw[text]),
        rows=_rows(raw["answer"], source) if raw["answerable"] else None,
        modality=str(raw["modality"]),
        patient_scope=str(raw["patient_scope"]),
        images=str(raw.get("images", "")),
        template=str(raw["template"]),
        query=compile_sql(parse(form)) if form else None,
        form=form,
    )


def _own(raw: Mapping[str, Any], number: int, text: str, source: ReadFile) -> XqaItem:
    impossible = bool(raw.get("is_impossible"))
    # The tag names the template where ``template`` holds a paraphrase of it.
    template = str(raw.get("q_tag") or raw["template"])
    query = str(raw["query"])
    modality, scope, images = scopes_of(template, query)
    return XqaItem(
        id=str(raw.get("id", number)),
        question=str(raw[text]),
        rows=None if impossible else _rows(raw.get("answer"), source),
        modality=modality,
        patient_scope=scope,
        images=images,
        template=template,
        query=None if impossible else query,
    )


def _rows(answer: Any, source: ReadFile) -> tuple[Row, ...]:
    if answer is None or (isinstance(answer, str) and "generate" in answer.lower()):
        raise EvaluationError(
            f"{source.path} has questions without an answer",
            "make the answers first, with the script that comes with the data set "
            "(generate_answer.py)",
        )
    try:
        return rows_of(answer)
    except ValueError as error:
        raise EvaluationError(
            f"{source.path} has an answer that is no list of values: {error}", "fetch it again"
        ) from None
