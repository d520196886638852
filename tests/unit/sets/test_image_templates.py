"""The image and image+table templates: all there, well formed, with varied wordings."""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
import tomllib
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest

from ehrqa_cli.ehr.cxr_vocabulary import CATEGORY_OF, entries
from ehrqa_cli.logical_form import parse, print_form
from ehrqa_cli.sets.pairs import cxr_vocabulary as cxr
from ehrqa_cli.sets.pairs.image_templates import image_templates
from ehrqa_cli.sets.pairs.image_wording import ImageTemplate

SLOT = re.compile(r"\$?\{[a-z_0-9]+\}|\[[a-z_0-9]+\]")
FILLING = {
    "${category}": '"disease"',
    "${category_1}": '"device"',
    "${category_2}": '"tubesandlines"',
    "${attribute}": '"pneumonia"',
    "${attribute_1}": '"pleural effusion"',
    "${attribute_2}": '"atelectasis"',
    "${object}": '"left lung"',
    "${object_1}": '"mediastinum"',
    "${object_2}": '"right lung"',
    "${comparison}": "new",
    "{patient_id}": "10000032",
    "{study_id}": "50000014",
    "{study_id1}": "50000015",
    "{study_id2}": "50000016",
    "{gender}": "female",
    "{diagnosis_name}": '"sepsis"',
    "{procedure_name}": '"thoracentesis"',
    "{drug_name}": '"heparin"',
    "[time_filter_exact1]": "last",
    "[time_filter_exact2]": "first",
    "[time_filter_global1]": "visit last this_year at 3",
    "[time_filter_global2]": 'in "2100-07"',
    "[time_filter_within]": 'within "2 month"',
    "[unit_count]": "days_since",
    "[age_group]": '"20-29"',
}
# These may be left out of the question; then the form has nothing there either.
OPTIONAL = re.compile(r"\[time_filter_(global|exact|within)\d?\]")


def forms(template: ImageTemplate) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (template.form, template.wordings),
        *((variant.form, variant.wordings) for variant in template.variants),
    ]


def filled(form: str, *, without_time: bool) -> str:
    text = OPTIONAL.sub("", form) if without_time else form
    return " ".join(SLOT.sub(lambda slot: FILLING[slot[0]], text).split())


@pytest.mark.parametrize("without_time", [False, True])
def test_every_form_parses_and_prints_back(without_time: bool) -> None:
    for template in image_templates():
        for form, _ in forms(template):
            text = filled(form, without_time=without_time)
            assert print_form(parse(text)) == text, template.text


def test_templates_are_168_and_75_all_different() -> None:
    templates = image_templates()
    assert Counter(t.modality for t in templates) == {"image": 168, "image+table": 75}
    assert len({t.text for t in templates}) == len(templates)


def test_texts_are_those_of_the_paper(shared_data: Path) -> None:
    with (shared_data / "ehrxqa" / "templates.tsv").open(encoding="utf-8") as file:
        wanted = Counter(
            (row["modality"], row["template"])
            for row in csv.DictReader(file, delimiter="\t")
            if row["modality"] != "table"
        )
    assert Counter((t.modality, t.text) for t in image_templates()) == wanted


def test_a_wording_has_the_slots_of_its_form() -> None:
    for template in image_templates():
        for form, wordings in forms(template):
            wanted = set(SLOT.findall(form))
            for wording in wordings:
                # "which disease is it, A or B" names a category that the form does not need.
                said = set(SLOT.findall(wording)) - ({"${category}"} - wanted)
                assert said == wanted, (template.text, wording)


def test_a_form_has_the_slots_of_its_template() -> None:
    for template in image_templates():
        said = set(SLOT.findall(template.text)) - {"${category}"}
        assert set(SLOT.findall(template.form)) - {"${category}"} == said


def test_wordings_are_many_different_and_plain() -> None:
    for template in image_templates():
        assert len(set(template.wordings)) == len(template.wordings) >= 12, template.text
        for _, wordings in forms(template):
            assert len(set(wordings)) == len(wordings) >= 3
            for wording in wordings:
                # Brackets and bars have a meaning in the wordings of the builder.
                assert not re.search(r"[()|<>*]|  | [,.?]", wording), wording


def test_the_same_wording_never_means_two_things() -> None:
    meaning: dict[str, str] = {}
    for template in image_templates():
        for form, wordings in forms(template):
            for wording in wordings:
                key = wording.lower().rstrip("?. ")
                assert meaning.setdefault(key, form) == form, wording


def test_the_seed_decides_the_wordings() -> None:
    assert image_templates(3, 6) == image_templates.__wrapped__(3, 6)
    assert image_templates(3, 6) != image_templates(4, 6)


def test_a_variant_says_what_its_form_fixes() -> None:
    by_form = {v.form: v for t in image_templates() for v in t.variants}
    cleared = "exists finding ${attribute} resolved of ( study {study_id1} ) than previous"
    assert all(
        re.search(r"resol|clear|go away|no longer|disappear", w) for w in by_form[cleared].wordings
    )
    women = "count_patients study showing ( ${attribute} ) female aged [age_group] "
    wordings = by_form[women + "[time_filter_global1]"].wordings
    assert wordings and all(re.search(r"women|female|ladies", w) for w in wordings)


def test_vocabulary_is_that_of_the_paper(shared_data: Path) -> None:
    path = shared_data / "ehrxqa" / "vqa_vocabulary.json"
    wanted = json.loads(path.read_text(encoding="utf-8"))
    assert sorted(cxr.OBJECTS) == wanted["objects"]
    assert sorted(CATEGORY_OF) == wanted["attributes"]
    assert sorted(cxr.CATEGORY_WORDS) == wanted["categories"]


def test_categories_have_the_sizes_of_the_paper() -> None:
    assert set(CATEGORY_OF.values()) == set(cxr.CATEGORIES) == set(cxr.CATEGORY_WORDS)
    assert Counter(CATEGORY_OF.values()) == {
        "anatomicalfinding": 41,
        "tubesandlines": 11,
        "disease": 10,
        "device": 3,
        "technicalassessment": 3,
    }


def test_categories_are_those_of_the_labels(shared_data: Path) -> None:
    path = shared_data / "ehrxqa-open" / "scene_graph.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        labelled = {
            (row["attribute"], row["category"]) for row in csv.DictReader(file, delimiter="\t")
        }
    assert set(CATEGORY_OF.items()) == labelled


@pytest.mark.parametrize("kind", ["object", "attribute", "category"])
def test_drawn_words_are_what_the_linker_knows(kind: str) -> None:
    rng = random.Random(5)
    known = {(words, name) for _, words, name in entries()}
    plurals = {(many, name) for name, (_, many) in cxr.CATEGORY_WORDS.items()}
    drawn = {cxr.draw(kind, rng)[::-1] for _ in range(2000)}
    assert drawn <= known | plurals
    assert any(words != name for words, name in drawn)


def test_unanswerable_families_use_known_slots_and_no_known_finding() -> None:
    source = resources.files("ehrqa_cli.sets.pairs").joinpath("unanswerable_images.toml")
    families = tomllib.loads(source.read_text("utf-8"))["family"]
    assert len(families) >= 15
    outside = [f for f in families if f["name"].endswith("outside the labels")]
    findings = [words for kind, words, _ in entries() if kind == "attr"]
    for family in families:
        assert len(set(family["wordings"])) == len(family["wordings"]) >= 8
        for wording in family["wordings"]:
            assert set(SLOT.findall(wording)) <= set(FILLING), wording
    for family in outside:
        for wording in family["wordings"]:
            named = [f for f in findings if re.search(rf"\b{re.escape(f)}\b", wording.lower())]
            assert not named, wording
