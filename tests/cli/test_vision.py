"""Images through the command line, with a small fixture in place of the vision model."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from ehrqa_fixtures import add_studies
from PIL import Image

from ehrqa_cli.cli.images import model as images_model

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "vision"
CARD, PLAIN = FIXTURES / "card.json", FIXTURES / "classifier.json"
STUDIES = {501: "pa", 502: "ap", 503: "pa", 504: "ap"}


def film(top: float = 0.6, left: float = 0.6) -> np.ndarray:
    """Lungs, a heart of 40% of the thorax; bright ``top`` is PA, bright ``left`` an effusion."""
    grey = np.full((160, 200), 0.6)
    grey[:80, :100] = left
    grey[:20] = top
    grey[30:130, 25:88] = grey[30:130, 112:175] = 0.1
    grey[80:120, 70:130] = 0.97
    return np.asarray(np.round(grey * 255), np.uint8)


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """i501 with an effusion, i502 without, i503 truncated, i504 a photograph in colour."""
    folder = tmp_path / "films"
    folder.mkdir()
    Image.fromarray(film(0.79, 0.79)).save(folder / "i501.png")
    Image.fromarray(film(0.1)).save(folder / "i502.png")
    Image.fromarray(film()).save(folder / "i503.png")
    (folder / "i503.png").write_bytes((folder / "i503.png").read_bytes()[:100])
    Image.fromarray(np.stack([film(), film() // 2, 255 - film()], -1)).save(folder / "i504.png")
    (folder / "notes.txt").write_text("no image")
    return folder


@pytest.fixture
def imaged(ehr: Path) -> Path:
    """Four studies in tb_cxr, and 505 that has no image."""
    return add_studies(ehr, {**STUDIES, 505: "pa"})


def kept(db: Path) -> Path:
    return db.with_name(db.name + ".scene-graphs.sqlite")


class TestVqa:
    def test_one_image_without_a_database(self, cli, films):
        image = films / "i501.png"
        ran = cli("vqa", image, "Is there a pleural effusion?", "--vision", CARD, "--json")
        found = json.loads(ran.out)
        assert (ran.code, ran.err) == (0, "")
        assert (found["status"], found["value"], found["scope"]) == ("answered", 1, "image")
        assert found["text"] == "i501.png: yes."
        assert found["evidence"][0] == {
            "kind": "image",
            "study_id": None,
            "finding": "pleural effusion",
            "location": None,
            "probability": found["confidence"],
        }
        made = found["provenance"]["models"]["vqa"]
        assert made["model"] == "fixture"
        assert made["sha256"] == json.loads(CARD.read_text())["sha256"]
        assert found["provenance"]["image_sha256"]

    def test_for_a_person(self, cli, films):
        ran = cli("vqa", films / "i501.png", "What is the view?", "--vision", CARD)
        assert ran.code == 0 and ran.out.startswith("i501.png: PA.\n") and "None" not in ran.out
        ran = cli("vqa", films / "i501.png", "Is there an effusion?", "--vision", CARD)
        assert "evidence    pleural effusion\n" in ran.out

    def test_what_is_no_film_is_declined_and_what_cannot_be_read_fails(self, cli, films):
        ran = cli("vqa", films / "i504.png", "Is it AP?", "--vision", CARD, "--json")
        found = json.loads(ran.out)
        assert ran.code == 3 and found["reason"]["signal"] == "unlike"
        assert found["reason"]["kind"] == "not_seen"
        assert "does not look like a frontal chest X-ray: it is in colour" in found["text"]
        ran = cli("vqa", films / "i503.png", "Is it AP?", "--vision", CARD)
        assert (ran.code, ran.out) == (1, "") and "i503.png" in ran.err and "hint: " in ran.err
        ran = cli("vqa", films / "none.png", "Is it AP?", "--vision", CARD, "--json")
        assert ran.code == 1 and json.loads(ran.out)["error"]["hint"]

    @pytest.mark.parametrize(
        ("argv", "said"),
        [
            ((), "there is no question"),
            (("a.png", "Is it", "AP?"), "one image and one question"),
            (("Is it AP?", "--vision", CARD), "no study given"),
            (("a.png", "Is it AP?", "--study", "1", "--vision", CARD), "exclude each other"),
            (("a.png", "Is it AP?", "--vision", "nothing"), "no vision model 'nothing'"),
        ],
    )
    def test_wrong_usage(self, cli, argv, said):
        ran = cli("vqa", *argv)
        assert (ran.code, ran.out) == (2, "") and said in ran.err

    def test_an_image_without_a_question(self, cli, films):
        ran = cli("vqa", films / "i501.png")
        assert ran.code == 2 and "no question about" in ran.err

    def test_a_plain_classifier_by_its_card_drops_in(self, cli, films):
        ran = cli("vqa", films / "i502.png", "Is there pneumonia?", "--vision", PLAIN, "--json")
        found = json.loads(ran.out)
        # the mean grey of the film's middle square lies between no_below and the threshold
        assert ran.code == 3 and "in this image “pneumonia” is neither seen" in found["text"]
        white = films / "white.png"
        Image.fromarray(np.full((40, 40), 230, np.uint8)).save(white)
        ran = cli("vqa", white, "Is there pneumonia?", "--vision", PLAIN, "--json")
        found = json.loads(ran.out)
        assert (ran.code, found["value"]) == (0, 1)
        assert found["confidence"] == pytest.approx(230 / 255, abs=1e-3)
        ran = cli("vqa", white, "Is there an effusion?", "--vision", PLAIN)
        assert ran.code == 3 and "not trained to see pleural effusion" in ran.out
        assert cli("vqa", white, "Is it AP?", "--vision", PLAIN).code == 3

    def test_a_study(self, cli, imaged, films):
        args = ("--db", imaged, "--images", films, "--vision", CARD)
        ran = cli("vqa", "Is there an effusion?", "--study", 501, *args, "--json")
        found = json.loads(ran.out)
        assert (ran.code, found["value"], found["text"]) == (0, 1, "Study 501: yes.")
        assert found["evidence"][0]["study_id"] == 501
        for study, said in ((503, "cannot be read"), (504, "in colour"), (505, "no image")):
            ran = cli("vqa", "Is there an effusion?", "--study", study, *args)
            assert ran.code == 3 and said in ran.out, study
        assert cli("vqa", "Is it AP?", "--study", 999, *args).code == 3

    def test_overlays(self, cli, imaged, films, tmp_path):
        drawn = tmp_path / "seen.png"
        image = films / "i501.png"
        ran = cli("vqa", image, "Is it AP?", "--vision", CARD, "--overlay", drawn)
        assert ran.code == 0
        with Image.open(drawn) as made:
            assert made.size[0] > 1000 and made.mode == "RGB"
            pixels = np.asarray(made).astype(int)
        red = (pixels[..., 0] > 200) & (pixels[..., 1] < 120) & (pixels[..., 2] < 120)
        rows, columns = np.nonzero(red[:720, :900])  # the heart's outline, at 4.5 to a pixel
        assert abs(columns.min() - 70 * 4.5) < 40 and abs(columns.max() - 130 * 4.5) < 40
        assert abs(rows.min() - 80 * 4.5) < 50 and abs(rows.max() - 120 * 4.5) < 50
        args = (
            "--db",
            imaged,
            "--images",
            films,
            "--vision",
            CARD,
            "--overlay",
            tmp_path / "b.png",
        )
        assert cli("vqa", "Is it AP?", "--study", 502, *args).code == 0
        assert (tmp_path / "b.png").is_file()
        ran = cli(
            "vqa", image, "Is it AP?", "--vision", CARD, "--overlay", tmp_path / "no" / "x.png"
        )
        assert ran.code == 2 and "--overlay" in ran.err

    def test_labels_with_an_image_to_draw_on(self, cli, films, tmp_path):
        labels = tmp_path / "labels"
        labels.mkdir()
        (labels / "scene_graph.tsv").write_text(
            "study_id\tobject\tattribute\tcategory\tpresent\n501\tspine\tscoliosis\tx\t1\n"
        )
        (labels / "studies.tsv").write_text("study_id\tview\n501\tPA\n")
        args = ("--study", 501, "--scene-graphs", labels, "--overlay", tmp_path / "o.png")
        ran = cli("vqa", films / "i501.png", "Is there scoliosis?", *args)
        assert ran.code == 0 and (tmp_path / "o.png").is_file()
        ran = cli("vqa", "Is there scoliosis?", *args)
        assert ran.code == 2 and "no image to draw on" in ran.err


class TestIndex:
    def test_reads_once_and_reports_what_failed(self, cli, imaged, films):
        args = ("images", "index", "--db", imaged, "--images", films, "--vision", CARD)
        ran = cli(*args, "--json")
        first = json.loads(ran.out)
        assert ran.code == 1
        assert (first["read"], first["cached"], first["missing"]) == (2, 0, [505])
        assert sorted(first["failed"]) == ["503", "504"] and "in colour" in first["failed"]["504"]
        assert "2 read" in ran.err and "2 failed, 1 without an image" in ran.err
        assert "image of study 503 cannot be read" in ran.err and "studies: 505" in ran.err
        assert kept(imaged).is_file()
        ran = cli(*args)
        assert "0 read, 2 kept from before, 2 failed" in ran.err and ran.out == ""

    def test_when_all_is_well(self, cli, imaged, films):
        with sqlite3.connect(imaged) as connection:
            connection.execute("DELETE FROM tb_cxr WHERE study_id > 502")
        connection.close()
        ran = cli("images", "index", "--db", imaged, "--images", films, "--vision", CARD)
        assert ran.code == 0 and "0 failed, 0 without" in ran.err

    def test_ctrl_c_keeps_what_was_read(self, cli, imaged, films, monkeypatch):
        calls = []

        def stop(self, studies):
            calls.append(studies)
            raise KeyboardInterrupt

        args = ("images", "index", "--db", imaged, "--images", films, "--vision", CARD)
        with monkeypatch.context() as patched:
            patched.setattr(images_model._Bar, "part", stop)
            assert cli(*args).code == 130 and calls
        assert "0 read, 2 kept from before" in cli(*args).err

    def test_what_is_missing_is_said(self, cli, imaged, ehr, films, tmp_path):
        ran = cli("images", "index", "--db", imaged, "--vision", CARD)
        assert ran.code == 2 and "--images" in ran.err
        ran = cli("images", "index", "--db", imaged, "--images", tmp_path / "no", "--vision", CARD)
        assert ran.code == 2 and "no image folder" in ran.err

    def test_an_ehr_without_images(self, cli, ehr, films):
        ran = cli("images", "index", "--db", ehr, "--images", films, "--vision", CARD)
        assert ran.code == 2 and "tb_cxr" in ran.err


class TestPredict:
    def test_one_object_for_each_image(self, cli, films, tmp_path):
        (films / "deep").mkdir()
        Image.fromarray(film()).save(films / "deep" / "a.jpg")
        out, masks = tmp_path / "o.jsonl", tmp_path / "masks"
        ran = cli("images", "predict", films, "--out", out, "--masks", masks, "--vision", CARD)
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert ran.code == 1 and ran.out == ""  # one image could not be read
        files = ["deep/a.jpg", "i501.png", "i502.png", "i503.png", "i504.png"]
        assert [row["file"] for row in rows] == files
        assert list(rows[3]) == ["file", "error"] and "i503.png" in ran.err
        for row in (rows[k] for k in (0, 1, 2, 4)):
            assert set(row["findings"]) == {"Effusion", "Mass", "Nodule", "Hernia"}
            assert row["view"]["AP"] + row["view"]["PA"] == pytest.approx(1, abs=1e-5)
            assert set(row["sex"]) == {"M", "F"} and row["mtr"] is None
            assert isinstance(row["ctr"], float)
            assert row["in_distribution"] is (row["file"] != "i504.png")
        assert rows[1]["view"]["PA"] > 0.5 > rows[2]["view"]["PA"]
        assert rows[2]["ctr"] == pytest.approx(60 / 150, abs=1 / 12)  # a cell of the fixture
        assert rows[1]["relations"][0] == {
            "object": None,
            "attribute": "pleural effusion",
            "probability": rows[1]["findings"]["Effusion"],
        }
        written = sorted(p.relative_to(masks).as_posix() for p in masks.rglob("*.png"))
        assert len(written) == 12 and "left_lung/deep/a.png" in written
        assert not (tmp_path / "o.jsonl.part").exists()

    def test_masks_have_the_images_size(self, cli, films, tmp_path):
        masks = tmp_path / "masks"
        args = ("--out", tmp_path / "o", "--masks", masks, "--vision", CARD)
        cli("images", "predict", films, *args)
        truth = film(0.1)
        for kind, wanted in (("heart", truth > 240), ("left_lung", truth[:, 100:] < 30)):
            with Image.open(masks / kind / "i502.png") as made:
                found = np.asarray(made)
            assert found.shape == (160, 200) and set(np.unique(found)) == {0, 255}
            if kind == "left_lung":  # on the right of the picture
                assert not found[:, :100].any()
                found = found[:, 100:]
                wanted[:20] = False  # the dark strip at the top is another part
            overlap = 2 * ((found > 0) & wanted).sum() / ((found > 0).sum() + wanted.sum())
            assert overlap > 0.8, kind

    def test_a_run_that_fails_leaves_no_file(self, cli, films, tmp_path, monkeypatch):
        out = tmp_path / "o.jsonl"
        out.write_text("before\n")
        monkeypatch.setattr(images_model.output, "to_json", lambda record: 1 / 0)
        assert cli("images", "predict", films, "--out", out, "--vision", CARD).code == 1
        assert out.read_text() == "before\n" and list(tmp_path.glob("*.part")) == []

    def test_what_is_skipped_is_named_with_the_reason(self, cli, films, tmp_path):
        (films / "folder.png").mkdir()
        (films / ".cache").mkdir()
        (films / ".hidden.png").write_bytes(b"x")
        (films / "gone.png").symlink_to(films / "nothing")
        (films / "loop").symlink_to(films)
        (films / "i503.png").unlink()
        (films / "deeper").mkdir()
        (films / "deeper" / "list.csv").write_text("a,b")
        out = tmp_path / "o.jsonl"
        ran = cli("images", "predict", films, "--out", out, "--vision", CARD)
        assert ran.code == 0  # nothing that is an image was left out
        assert [json.loads(line)["file"] for line in out.read_text().splitlines()] == [
            *("i501.png", "i502.png", "i504.png")
        ]
        for said in (
            "skipped notes.txt: is no PNG, JPEG or DICOM file",
            "skipped deeper/list.csv: is no PNG, JPEG or DICOM file",
            "skipped folder.png: is a folder",
            "skipped .cache: is hidden",
            "skipped .hidden.png: is hidden",
            "skipped gone.png: is a link to nothing",
            "skipped loop: is a link to a folder, which is not followed",
            "7 skipped",
        ):
            assert said in ran.err
        assert "skipped deeper:" not in ran.err

    def test_of_many_skipped_the_kinds_are_counted(self, cli, films, tmp_path):
        for number in range(30):
            (films / f"{number}.txt").write_text("no image")
        out = tmp_path / "o.jsonl"
        ran = cli("images", "predict", films, "--out", out, "--vision", CARD)
        assert (
            ran.err.count("skipped ") >= 20
            and "and 11 more were skipped: in all 31 (is no PNG" in ran.err
        )

    def test_weights_that_are_gone_or_torn(self, cli, films, tmp_path):
        card = tmp_path / "card.json"
        card.write_bytes(CARD.read_bytes())
        weights = CARD.parent / json.loads(CARD.read_text())["file"]
        for data, said in ((None, "cannot read the model"), (weights.read_bytes()[:99], "corrupt")):
            if data is not None:
                (tmp_path / weights.name).write_bytes(data)
            for argv in (
                ("vqa", films / "i501.png", "Is it AP?"),
                ("images", "predict", films, "--out", tmp_path / "o.jsonl"),
            ):
                ran = cli(*argv, "--vision", card)
                assert ran.code == 1 and said in ran.err and "hint: " in ran.err
                assert "Traceback" not in ran.err and not (tmp_path / "o.jsonl").exists()

    def test_without_images_or_a_place_to_write(self, cli, films, tmp_path):
        (tmp_path / "empty").mkdir()
        for folder, out, said in (
            (tmp_path / "empty", "o", "no image in"),
            (tmp_path / "none", "o", "no folder"),
            (films, "no/o", "cannot write"),
        ):
            ran = cli("images", "predict", folder, "--out", tmp_path / out, "--vision", CARD)
            assert ran.code == 2 and said in ran.err

    def test_a_plain_classifier_says_what_it_can(self, cli, films, tmp_path):
        out = tmp_path / "o.jsonl"
        cli("images", "predict", films, "--out", out, "--masks", tmp_path / "m", "--vision", PLAIN)
        row = json.loads(out.read_text().splitlines()[0])
        assert row["view"] is None and row["ctr"] is None and row["in_distribution"] is True
        assert set(row["findings"]) == {"Pneumonia", "Scoliosis"}
        assert not (tmp_path / "m").exists()


QUERY = "SELECT study_id FROM tb_cxr WHERE func_vqa('Is there a pleural effusion?', study_id) = 1"


class TestNeuralSql:
    def test_images_are_read_and_then_kept(self, cli, imaged, films):
        args = ("--db", imaged, "--images", films, "--vision", CARD, "--explain", "--json")
        ran = cli("neuralsql", QUERY, *args)
        assert json.loads(ran.out)["rows"] == [[501]]
        assert "5 studies, 2 images read in 1 batches, 0 from the cache" in ran.err
        assert "3 studies have no image: 503, 504, 505" in ran.err
        assert "image of study 504 does not look like" in ran.err
        ran = cli("neuralsql", QUERY, *args)
        assert "5 studies, 0 images read in 1 batches, 2 from the cache" in ran.err

    def test_the_settings_name_folder_and_model(self, cli, imaged, films, monkeypatch):
        monkeypatch.setenv("EHRQA_IMAGES", str(films))
        monkeypatch.setenv("EHRQA_VISION", str(CARD))
        ran = cli("neuralsql", QUERY, "--db", imaged, "--json")
        assert json.loads(ran.out)["rows"] == [[501]]

    def test_a_registered_folder_needs_no_option(self, cli, imaged, films):
        with sqlite3.connect(imaged) as connection:
            connection.execute("CREATE TABLE ehrqa_meta (key TEXT PRIMARY KEY, value TEXT)")
            folders = json.dumps(["/nowhere", str(films)])
            connection.execute("INSERT INTO ehrqa_meta VALUES ('image_roots', ?)", (folders,))
        connection.close()
        ran = cli("neuralsql", QUERY, "--db", imaged, "--vision", CARD, "--json")
        assert json.loads(ran.out)["rows"] == [[501]]

    def test_without_images_nothing_has_changed(self, cli, imaged):
        ran = cli("neuralsql", QUERY, "--db", imaged)
        assert ran.code == 1 and "--scene-graphs" in ran.err
        ran = cli("neuralsql", QUERY, "--db", imaged, "--vision", CARD)
        assert ran.code == 2 and "--images" in ran.err
        assert not kept(imaged).exists()

    def test_a_cache_that_cannot_be_written_is_said_once(self, cli, imaged, films):
        kept(imaged).mkdir()
        args = ("--db", imaged, "--images", films, "--vision", CARD, "--json")
        ran = cli("neuralsql", QUERY, *args)
        assert json.loads(ran.out)["rows"] == [[501]]
        assert ran.err.count("scene graphs are not kept") == 1


def test_ask_abstains_with_the_reason(cli, imaged, films, rote, monkeypatch):
    from ehrqa_cli.contracts.types import Query

    asked = "SELECT FUNC_VQA('Is there a pleural effusion?', 504)"
    monkeypatch.setattr(
        rote, "generate", lambda self, q, on_token=None: [Query(asked, None, scores={})]
    )
    args = ("--db", imaged, "--images", films, "--vision", CARD, "--json", "--no-log")
    found = json.loads(cli("ask", "does study 504 show an effusion?", *args).out)
    assert found["status"] == "abstained" and found["reason"]["signal"] == "images"
    assert "study 504 does not look like a frontal chest X-ray: it is in colour" in found["text"]


def test_an_answer_from_images_is_no_surer_than_they_are(
    cli, imaged, films, rote, monkeypatch, tmp_path
):
    """By study, of one film and of a group, as `ehrqa vqa` says of the film alone."""
    from ehrqa_cli.contracts.types import Query
    from ehrqa_cli.engine.risk import Thresholds

    decided = Thresholds(limit=None, calibration=((-1.0, 0.998), (9.0, 0.998)))
    chosen = tmp_path / "thresholds.json"
    chosen.write_text(json.dumps(decided.as_dict()))
    args = ("--db", imaged, "--images", films, "--vision", CARD, "--json", "--no-log")

    def confidence(sql):
        written = [Query(sql, None, scores={})]
        monkeypatch.setattr(rote, "generate", lambda self, q, on_token=None: written)
        found = json.loads(cli("ask", "what is there?", *args, "--thresholds", chosen).out)
        assert found["status"] == "answered", found["text"]
        return found["confidence"]

    asked = "Is there a pleural effusion?"
    alone = {
        study: json.loads(cli("vqa", asked, "--study", study, *args[:-1]).out)["confidence"]
        for study in (501, 502)
    }
    assert len(set(alone.values())) == 2 and max(alone.values()) < 0.998
    for study, p in alone.items():
        assert confidence(f"SELECT FUNC_VQA('{asked}', {study})") == p
    assert confidence(QUERY) == min(alone.values())
    assert confidence("SELECT COUNT(*) FROM patients") == 0.998


def test_ask_reads_images(cli, imaged, films, rote, monkeypatch):
    from ehrqa_cli.contracts.types import Query

    asked = "SELECT FUNC_VQA('Is there a pleural effusion?', 501)"
    monkeypatch.setattr(
        rote, "generate", lambda self, q, on_token=None: [Query(asked, None, scores={})]
    )
    args = ("--db", imaged, "--images", films, "--vision", CARD, "--json", "--no-log")
    found = json.loads(cli("ask", "does study 501 show an effusion?", *args).out)
    assert (found["status"], found["rows"]) == ("answered", [[1]])
    assert found["evidence"][0]["finding"] == "pleural effusion"
    assert found["provenance"]["models"]["images"]["model"] == "fixture"
