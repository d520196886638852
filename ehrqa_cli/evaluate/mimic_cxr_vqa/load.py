"""Questions about one image: MIMIC-CXR-VQA's own JSON, and the open re-creation's JSON Lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.files import ReadFile, check_ids, find_file, learnt_from, read_objects

NAME = "MIMIC-CXR-VQA"
OPEN = "vqa_questions.jsonl"
OWN, OPEN_LAYOUT = "mimic-cxr-vqa", "ehrxqa-open"
# Of the 48 templates (Bae et al. 2023, appendix B.2.2) those that name a category.
_OF_CATEGORY = frozenset({1, 4, 7, 9, 10, 13, 14, 15, 19, 21, 25, 26, 28, 37, 38, 39, 40})
_NEEDED = ("question", "answer", "content_type", "semantic_type")
_STUDY = re.compile(r"(?:^|/)s(\d+)(?:/|$)")
_CODES = {"m": "male", "f": "female", "true": "yes", "false": "no"}


@dataclass(frozen=True)
class VqaItem:
    """One question. ``answer`` are labels as ``label`` writes them, none where nothing fits;
    ``template`` names one of the 48 (``program_5``, or its index), ``of_category`` whether that
    asks about a category."""

    id: str
    question: str
    answer: frozenset[str]
    study_id: int
    content_type: str
    semantic_type: str
    template: str
    of_category: bool


@dataclass(frozen=True)
class VqaSet:
    """A split: ``layout`` is ``mimic-cxr-vqa`` or ``ehrxqa-open``; ``training`` are (template,
    answer) of the splits that priors may be chosen on, from the files ``training_files``."""

    layout: str
    split: str
    sha256: str
    items: tuple[VqaItem, ...]
    training: tuple[tuple[str, frozenset[str]], ...] = ()
    training_files: tuple[str, ...] = ()


def label(value: Any) -> str:
    """One answer as answers are compared: lower case, single spaces, m and f as male and female."""
    text = " ".join(str(value).lower().split())
    return _CODES.get(text, text)


def load_vqa(
    data: Path,
    split: str,
    *,
    text: str = "question",
    study_of: Callable[[str], int | None] = lambda _image: None,
) -> VqaSet:
    """Read a split of either layout; the open one has only one, whatever ``split`` says.

    ``text`` is the field that is asked (``question`` or ``template_text``); ``study_of`` gives
    the study of an image id, for questions that name neither study nor path. Raises
    EvaluationError.
    """
    if (data / OPEN).is_file():
        source = read_objects(data / OPEN, ("id", "study_id", "template_index", text, *_NEEDED))
        return VqaSet(OPEN_LAYOUT, "all", source.sha256, _items(source, text, study_of))
    source = read_objects(find_file(data, [*_own_names(split), OPEN], NAME), (text, *_NEEDED))
    items = _items(source, text, study_of)
    told = learnt_from(data, split, _own_names, _NEEDED)
    training = tuple((_template(raw), _answer(raw, one)) for _, one in told for raw in one.content)
    return VqaSet(OWN, split, source.sha256, items, training, tuple(name for name, _ in told))


def _own_names(split: str) -> list[str]:
    folders = ("", "dataset/", "mimiccxrvqa/", "dataset/mimiccxrvqa/")
    return [f"{folder}{split}.json" for folder in folders]


def _items(
    source: ReadFile, text: str, study_of: Callable[[str], int | None]
) -> tuple[VqaItem, ...]:
    found = [
        VqaItem(
            id=str(raw.get("id", raw.get("idx", number))),
            question=str(raw[text]),
            answer=_answer(raw, source),
            study_id=_study(raw, number, study_of, source),
            content_type=str(raw["content_type"]),
            semantic_type=str(raw["semantic_type"]),
            template=_template(raw),
            of_category=_of_category(raw),
        )
        for number, raw in enumerate(source.content)
    ]
    check_ids([item.id for item in found], source.path)
    return tuple(found)


def _answer(raw: Mapping[str, Any], source: ReadFile) -> frozenset[str]:
    found = raw["answer"]
    if isinstance(found, list):
        return frozenset(label(value) for value in found)
    raise EvaluationError(
        f"{source.path} has an answer that is no list: {str(found)[:50]!r}",
        "make the answers first, with the script that comes with the data set",
    )


def _study(
    raw: Mapping[str, Any],
    number: int,
    study_of: Callable[[str], int | None],
    source: ReadFile,
) -> int:
    given = str(raw.get("study_id") or "").strip().lower().removeprefix("s")
    if given.isdigit():
        return int(given)
    if found := _STUDY.search(str(raw.get("image_path", ""))):
        return int(found[1])
    image = str(raw.get("image_id") or Path(str(raw.get("image_path", ""))).stem)
    study = study_of(image) if image else None
    if study is None:
        raise EvaluationError(
            f"question {number + 1} of {source.path} names no study that is known",
            "expected study_id, an image_path with .../s<study>/..., or an image_id in tb_cxr "
            "of --db",
        )
    return study


def _template(raw: Mapping[str, Any]) -> str:
    # The paraphrases of a template (``template``) differ from split to split; its program does not.
    for name in ("template_program", "template_index", "template"):
        if raw.get(name) not in (None, ""):
            return str(raw[name])
    return f"{raw['content_type']} {raw['semantic_type']}"


def _of_category(raw: Mapping[str, Any]) -> bool:
    if "template_index" in raw:
        return raw["template_index"] in _OF_CATEGORY
    arguments = raw.get("template_arguments")
    if isinstance(arguments, Mapping):
        return bool(arguments.get("category"))
    return "${category" in str(raw.get("template", ""))
