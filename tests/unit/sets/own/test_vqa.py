"""Which films are chosen, and questions about them."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import BuildError, UsageError
from ehrqa_cli.sets.own.films import Pool, select
from ehrqa_cli.sets.own.vqa import VqaQuestions, canonical_text, entropies
from ehrqa_cli.sets.own.vqa_templates import TEMPLATES, vqa_templates

Plain = dict[str, Any]
SIZE = 480


def write(folder: Path, studies: list[str], present: dict[int, int] | None = None) -> Path:
    folder.mkdir()
    head = "study_id\timage_id\tview\tgender\tctr\tmtr\tsubject_id\tstudydatetime"
    (folder / "studies.tsv").write_text("\n".join([head, *studies]) + "\n")
    ids = {int(line.split("\t")[0]) for line in studies}
    rows = [
        f"{study}\tleft lower lung zone\tpneumonia\tdisease\t{(present or {}).get(study, 1)}"
        for study in sorted(ids)
    ]
    head = "study_id\tobject\tattribute\tcategory\tpresent"
    (folder / "scene_graph.tsv").write_text("\n".join([head, *rows]) + "\n")
    return folder


def test_one_frontal_film_of_each_study_the_earliest_then_the_first_by_id(tmp_path: Path) -> None:
    studies = [
        "1\tb\tPA\tmale\t0.5\t0.3\t7\t2100-01-01 09:00:00",
        "1\tc\tAP\tmale\t0.5\t0.3\t7\t2100-01-01 08:00:00",
        "1\ta\tPA\tmale\t0.5\t0.3\t7\t2100-01-01 08:00:00",
        "2\td\tLATERAL\tmale\t0.5\t0.3\t7\t2100-01-02 08:00:00",
    ]
    pool = select(write(tmp_path / "l", studies), {}, 1)
    assert [(f.study, f.image, f.view) for f in pool.films] == [(1, "a", "PA")]
    assert pool.steps["not frontal"] == 1 and pool.steps["not the first of its study"] == 2
    assert pool.matrix.graph(1).pa == 1.0


def test_twenty_studies_of_a_patient_the_earliest(tmp_path: Path) -> None:
    studies = [
        f"{n}\ti{n}\tPA\tmale\t0.5\t0.3\t7\t2100-01-{31 - n:02d} 08:00:00" for n in range(1, 26)
    ]
    pool = select(write(tmp_path / "l", studies), {}, 1)
    assert [f.study for f in pool.films] == list(range(6, 26))


def test_widths_that_are_outliers_or_were_not_measured(tmp_path: Path) -> None:
    studies = [f"{n}\ti{n}\tPA\tmale\t{0.5 + n % 3 / 100}\t\t{n}\t" for n in range(1, 40)]
    studies += ["40\tx\tPA\tmale\t0.95\t\t40\t", "41\ty\tPA\tmale\t\t\t41\t"]
    pool = select(write(tmp_path / "l", studies), {}, 1)
    assert pool.steps["a width is an outlier"] == 1
    assert pool.steps["a width was not measured"] == 1
    assert {f.study for f in pool.films} == set(range(1, 40))


def test_labels_are_carried_to_parents(tmp_path: Path) -> None:
    pool = select(write(tmp_path / "l", ["1\ta\tPA\tmale\t0.5\t0.3\t7\t"]), {}, 1)
    cells = {("left lung", "airspace opacity"), ("left lung", "lung opacity")}
    assert all(pool.matrix.cell(cell).yes[0] for cell in cells)


def test_normal_patients_are_in_every_split(tmp_path: Path) -> None:
    studies = [f"{n}\ti{n}\tPA\tmale\t0.5\t0.3\t{n}\t" for n in range(1, 41)]
    normal = dict.fromkeys(range(1, 11), 0)
    pool = select(write(tmp_path / "l", studies, normal), {}, 1)
    assert {pool.splits[n] for n in normal} == {"train", "valid", "test"}


def test_no_film_left_is_said(tmp_path: Path) -> None:
    folder = write(tmp_path / "l", ["1\ta\tLL\tmale\t0.5\t0.3\t7\t"])
    with pytest.raises(BuildError, match="no image of"):
        select(folder, {}, 1)


def test_a_width_that_is_no_number_is_said(tmp_path: Path) -> None:
    folder = write(tmp_path / "l", ["1\ta\tPA\tmale\twide\t0.3\t7\t"])
    with pytest.raises(UsageError, match="no number"):
        select(folder, {}, 1)


@pytest.fixture(scope="module")
def pool(pictured) -> Pool:
    return select(pictured.labels, {}, 1)


@pytest.fixture(scope="module")
def made(pool: Pool) -> list[Plain]:
    maker = VqaQuestions(pool, SIZE, seed=1)
    found: list[Plain] = []
    while (line := maker.attempt(None)) is not None:
        found.append(line)
    return found


def test_all_48_templates_equally_often(made: list[Plain]) -> None:
    counts = Counter(line["template_index"] for line in made if "failed" not in line)
    assert sorted(counts) == list(range(1, 49)) and set(counts.values()) == {SIZE // 48}


def test_a_template_asks_about_an_image_once_and_images_are_asked_evenly(
    made: list[Plain], pool: Pool
) -> None:
    pairs = [(line["template_index"], line["study_id"]) for line in made]
    assert len(set(pairs)) == len(pairs)
    counts = Counter(line["study_id"] for line in made)
    assert max(counts.values()) <= SIZE // len(pool.films) + 3


def test_the_reader_gives_the_gold_answer_to_every_question(made: list[Plain], pictured) -> None:
    for line in made[::3]:
        found = pictured.vqa.detail(line["question"], line["study_id"])
        words = {1: "yes", 0: "no"}
        said = {words.get(v, v) if line["semantic_type"] == "verify" else v for v in found.values}
        assert said == set(line["answer"]), line["question"]


def test_no_answer_is_empty_and_yes_and_no_are_even(made: list[Plain]) -> None:
    assert all(line["answer"] for line in made)
    keys = Counter(line["key"] for line in made if line["semantic_type"] == "verify")
    assert abs(keys["yes"] - keys["no"]) <= 0.1 * sum(keys.values())


def test_wordings_and_images_of_a_split_are_in_no_other(made: list[Plain], pool: Pool) -> None:
    for template in vqa_templates(1):
        train, valid = set(template.wordings["train"]), set(template.wordings["valid"])
        assert train and valid and not train & valid
        assert len(train) > 4, template.text
    splits: defaultdict[int, set[str]] = defaultdict(set)
    for line in made:
        splits[line["study_id"]].add(line["split"])
    assert all(found == {pool.splits[study]} for study, found in splits.items())


def test_it_goes_on_where_it_was_cut(made: list[Plain], pool: Pool) -> None:
    maker = VqaQuestions(pool, SIZE, seed=1)
    for line in made[:450]:
        maker.attempt(line)
    rest = [maker.attempt(None) for _ in made[450:]]
    assert rest == made[450:]


def test_the_templates_are_the_papers(shared_data: Path) -> None:
    lines = (shared_data / "ehrxqa" / "vqa_templates.tsv").read_text().splitlines()[1:]
    assert [tuple(line.split("\t")[1:]) for line in lines] == list(TEMPLATES)


def test_entropy_is_that_of_the_answers() -> None:
    assert entropies({"a": Counter(yes=5, no=5)}) == {"a": {"bits": 1.0, "highest": 1.0}}
    assert canonical_text(28, {"category": "disease", "attribute_1": "pneumonia",
                               "attribute_2": "hernia"}) == (
        "Which disease is related, pneumonia or hernia?"
    )  # fmt: skip
