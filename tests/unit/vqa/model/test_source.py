"""A model as a source of scene graphs: kept ones, new ones, and what cannot be read."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.contracts.images import NotAnswered
from ehrqa_cli.vqa import Vqa
from ehrqa_cli.vqa.model import card, studies
from ehrqa_cli.vqa.model.cache import GraphCache, cache_path
from ehrqa_cli.vqa.model.network import VisionModel
from ehrqa_cli.vqa.model.source import ModelGraphs, Parts

from .films import CARD, film, save


class Counted(VisionModel):
    """Counts the pictures that it looks at."""

    def __init__(self) -> None:
        super().__init__(card.load(CARD), threads=1)
        self.looks = 0

    def see(self, pictures):
        self.looks += len(pictures)
        return super().see(pictures)


class Shelf:
    """Files by study, with no order of its own."""

    def __init__(self, files: Mapping[int, Sequence[Path]]) -> None:
        self.files = files

    def of_image(self, image_id: str) -> Path | None:
        every = [path for paths in self.files.values() for path in paths]
        return next((path for path in every if path.stem == image_id), None)

    def of_study(self, study_id: int) -> list[Path]:
        return sorted(self.files.get(study_id, ()))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """1 PA with an effusion, 2 AP without, 3 truncated, 4 a colour photo, 5 not there."""
    files = {
        1: save(tmp_path / "i" / "one.png", film(top=0.79, left=0.79)),
        2: save(tmp_path / "i" / "two.png", film(top=0.1)),
        3: save(tmp_path / "i" / "three.png", film()),
        4: tmp_path / "i" / "four.png",
    }
    files[3].write_bytes(files[3].read_bytes()[:150])
    grey = film()
    Image.fromarray(np.stack([grey, grey // 2, 255 - grey], -1)).save(files[4])
    return Shelf({study: [path] for study, path in files.items()})


def source_of(
    shelf: Shelf, db: Path | None = None, model: VisionModel | None = None
) -> ModelGraphs:
    return ModelGraphs(
        model or Counted(), Parts(files=lambda: shelf, cache=lambda: GraphCache.open(db))
    )


def test_graphs_of_studies(shelf: Shelf):
    found = source_of(shelf).read([2, 1, 3, 4, 5, 1])
    assert sorted(found) == [1, 2, 3, 4]
    assert found[1].pa > 0.5 > found[2].pa
    assert found[1].probabilities[0] > 0.5 > found[2].probabilities[0]
    assert found[1].image == "one.png" and found[1].heart == pytest.approx(0.4, abs=0.07)
    assert not found[1].problem and not found[1].cached
    assert found[3].problem.startswith("cannot be read: ") and "three.png" in found[3].problem
    assert found[4].problem == "does not look like a frontal chest X-ray: it is in colour"
    for study in (3, 4):
        assert all(math.isnan(p) for p in found[study].probabilities)
        assert (found[study].pa, found[study].female, found[study].heart) == (None,) * 3


def test_an_image_is_looked_at_once_per_model(shelf: Shelf, tmp_path: Path):
    db = tmp_path / "ehr.sqlite"
    first = source_of(shelf, db)
    before = first.read([1, 2, 3, 4])
    assert first.model.looks == 3  # the truncated one was never seen
    first.close()
    again = source_of(shelf, db)
    after = again.read([1, 2, 3, 4])
    assert again.model.looks == 0
    assert [g.cached for g in after.values()] == [True] * 4
    for study in (1, 2):
        assert list(after[study].probabilities) == list(before[study].probabilities)
        assert after[study].heart == before[study].heart
    again.close()


def test_a_changed_file_is_looked_at_again_and_a_renamed_one_is_not(shelf: Shelf, tmp_path: Path):
    db = tmp_path / "ehr.sqlite"
    source_of(shelf, db).read([1, 2])
    (one,), (two,) = shelf.files[1], shelf.files[2]
    moved = one.rename(one.with_name("moved.png"))
    shelf.files[1] = [moved]
    save(two, film(top=0.9))
    source = source_of(shelf, db)
    found = source.read([1, 2])
    assert source.model.looks == 1
    assert found[1].image == "moved.png" and found[1].cached
    assert found[2].pa > 0.5 and not found[2].cached


def test_a_touched_file_is_hashed_but_not_looked_at(shelf: Shelf, tmp_path: Path):
    db = tmp_path / "ehr.sqlite"
    source_of(shelf, db).read([1])
    os.utime(shelf.files[1][0], (1, 1))
    source = source_of(shelf, db)
    assert source.read([1])[1].cached and source.model.looks == 0


def test_another_card_is_another_model(shelf: Shelf, tmp_path: Path):
    import json
    import shutil

    db = tmp_path / "ehr.sqlite"
    source_of(shelf, db).read([1])
    data = json.loads(CARD.read_text())
    data["findings"]["labels"][0]["threshold"] = 0.99
    shutil.copy(CARD.with_name("vision.onnx"), tmp_path)
    (tmp_path / "card.json").write_text(json.dumps(data))
    source = source_of(shelf, db, VisionModel.open(tmp_path))
    assert not source.read([1])[1].cached


def test_a_file_that_is_gone_has_no_graph_any_more(shelf: Shelf, tmp_path: Path):
    db = tmp_path / "ehr.sqlite"
    source_of(shelf, db).read([1, 2])
    shelf.files[1][0].unlink()
    shelf.files[1] = []
    assert list(source_of(shelf, db).read([1, 2])) == [2]


def test_what_failed_is_tried_again_on_demand(shelf: Shelf, tmp_path: Path, monkeypatch):
    from ehrqa_cli.vqa.model import pipeline

    tries: list[str] = []
    real = pipeline._decoded
    monkeypatch.setattr(
        pipeline, "_decoded", lambda d, path: (tries.append(path.name), real(d, path))[1]
    )
    db = tmp_path / "ehr.sqlite"
    source_of(shelf, db).read([1, 3])
    source_of(shelf, db).read([1, 3])
    assert tries == ["one.png", "three.png"]
    source = source_of(shelf, db)
    source.retry = True
    source.read([1, 3])
    assert tries[2:] == ["three.png"]


def test_an_interruption_loses_little(tmp_path: Path, monkeypatch):
    from ehrqa_cli.vqa.model import source as module

    monkeypatch.setattr(module, "KEPT_EVERY", 4)
    files = {k: [save(tmp_path / "i" / f"{k}.png", film(top=k / 20))] for k in range(1, 13)}
    db = tmp_path / "ehr.sqlite"

    def stop(done: int, total: int) -> None:
        assert total == 12
        if done == 8:
            raise KeyboardInterrupt

    parts = Parts(files=lambda: Shelf(files), cache=lambda: GraphCache.open(db), on_image=stop)
    with pytest.raises(KeyboardInterrupt):
        ModelGraphs(Counted(), parts).read(list(files))
    again = source_of(Shelf(files), db)
    assert len(again.read(list(files))) == 12 and again.model.looks == 4


def test_of_several_images_the_first_pa_is_taken(tmp_path: Path):
    def files(**tops: float) -> Shelf:
        return Shelf({1: [save(tmp_path / f"{k}.png", film(top=v)) for k, v in tops.items()]})

    assert source_of(files(a=0.1, b=0.9, c=0.9)).read([1])[1].image == "b.png"
    assert source_of(files(a=0.1, b=0.2)).read([1])[1].image == "a.png"
    photo = tmp_path / "0.png"
    Image.fromarray(np.stack([film(), film() // 3, film()], -1)).save(photo)
    shelf = files(a=0.1)
    shelf.files[1].insert(0, photo)
    assert source_of(shelf).read([1])[1].image == "a.png"


def test_ids_in_the_database_decide(tmp_path: Path):
    shelf = Shelf({1: [save(tmp_path / f"{k}.png", film()) for k in "abc"]})
    by_view = {"pa": 0, "ap": 1}
    rows = [("c", "ap"), ("b", "pa"), ("a", "ap")]
    ids = {1: [i for _, i in sorted((by_view[v], i) for i, v in rows)]}
    assert studies.candidates(1, ids, shelf) == [tmp_path / "b.png"]
    assert studies.candidates(1, {1: ["gone", "c"]}, shelf) == [tmp_path / "c.png"]
    assert studies.candidates(1, {1: []}, shelf) == []  # only lateral images
    assert len(studies.candidates(1, {}, shelf)) == 3


def test_a_damaged_cache_is_an_error_that_says_what_to_do(shelf: Shelf, tmp_path: Path):
    import sqlite3

    source = source_of(shelf, tmp_path / "ehr.sqlite")
    source.read([1])
    with sqlite3.connect(cache_path(tmp_path / "ehr.sqlite")) as other:
        other.execute("DROP TABLE study")
    other.close()
    with pytest.raises(ModelError, match="no such table") as raised:
        source.read([1])
    assert "images index" in raised.value.hint


def test_a_view_that_is_no_number_is_unknown():
    import dataclasses

    from .films import picture

    source = ModelGraphs(VisionModel.open(CARD))
    film_ = picture(film())
    seen = dataclasses.replace(source.model.see([film_])[0], pa=float("nan"))
    made = source.graph_of(seen, film_)
    assert made.pa is None and made.female is not None and made.study_id == -1


def asked(shelf: Shelf) -> Vqa:
    source = source_of(shelf)
    return Vqa(source, source.thresholds())


def test_one_bad_study_of_many_is_reported_and_the_rest_answered(shelf: Shelf):
    found = asked(shelf).answer("Is there a pleural effusion?", [1, 2, 3, 4, 5])
    assert list(found.yes) == [1] and list(found.missing) == [3, 4, 5]
    assert (found.read, found.cached, list(found.unknown)) == (2, 0, [])
    assert "three.png" in found.problems[3] and "in colour" in found.problems[4]
    assert 5 not in found.problems


def test_a_study_that_cannot_be_read_is_declined_with_the_reason(shelf: Shelf):
    vqa = asked(shelf)
    answer = vqa.detail("Is it an AP film?", 4)
    assert answer.reason is not None and answer.reason.kind == "unlike"
    assert answer.reason.sentence == (
        "The image of study 4 does not look like a frontal chest X-ray: it is in colour."
    )
    with pytest.raises(NotAnswered, match="study 3 cannot be read"):
        vqa.answer("Is it an AP film?", [3])
    missing = vqa.detail("Is it an AP film?", 5).reason
    assert missing is not None and missing.kind == "no_image"
    assert vqa.problem(4) and not vqa.problem(5)


def test_a_finding_without_its_place_answers_as_far_as_it_is_known(shelf: Shelf):
    vqa = asked(shelf)
    assert vqa.detail("Is there a mass?", 2).values in ((0,), (1,))
    assert vqa.ask("Is there pneumonia?").reason is not None  # not among the labels
    assert vqa.ask("Is the upper mediastinum wider than a third of the thorax?").reason is not None
    assert vqa.detail("Is the cardiothoracic ratio above 1/2?", 2).values == (0,)
