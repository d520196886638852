"""The recipe for MIMIC-CXR-JPG with Chest ImaGenome, on a made-up tree of the same layout."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

RECIPE = Path(__file__).parents[3] / "models" / "mimic_cxr"


@pytest.fixture(scope="module")
def data() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mimic_cxr_data", RECIPE / "data.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def make_tree(folder: Path, count: int = 4, zipped: bool = False) -> tuple[Path, Path]:
    """MIMIC-CXR-JPG and Chest ImaGenome of ``count`` patients with two films each."""
    from PIL import Image

    cxr, imagenome = folder / "cxr", folder / "imagenome"
    graphs = imagenome / "silver_dataset" / "scene_graph"
    graphs.mkdir(parents=True)
    metadata, splits = [], []
    for n in range(count):
        patient, study = 10000032 + n, 50414267 + n
        for view in ("PA", "LATERAL"):
            name = f"{n:08d}-{view.lower()}"
            path = cxr / "files" / f"p{str(patient)[:2]}" / f"p{patient}" / f"s{study}"
            path.mkdir(parents=True, exist_ok=True)
            Image.new("L", (64, 80), 40 * (n % 4)).save(path / f"{name}.jpg")
            metadata.append([name, patient, study, view, 21800506, 213014.531])
            splits.append([name, study, patient, "validate" if n % 4 == 3 else "train"])
            mentions = [["anatomicalfinding|yes|lung opacity", "nlp|yes|abnormal"]]
            if n % 2:
                mentions.append(["anatomicalfinding|no|lung opacity", "disease|yes|pneumonia"])
            graph = {"attributes": [{"bbox_name": "right lung", "attributes": mentions}]}
            (graphs / f"{name}_SceneGraph.json").write_text(json.dumps(graph), encoding="utf-8")
    header = ["dicom_id", "subject_id", "study_id", "ViewPosition", "StudyDate", "StudyTime"]
    with gzip.open(cxr / "mimic-cxr-2.0.0-metadata.csv.gz", "wt", newline="") as file:
        csv.writer(file).writerows([header, *metadata])
    with (cxr / "mimic-cxr-2.0.0-split.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["dicom_id", "study_id", "subject_id", "split"], *splits])
    if zipped:
        with zipfile.ZipFile(graphs.parent / "scene_graph.zip", "w") as archive:
            for path in graphs.iterdir():
                archive.write(path, f"scene_graph/{path.name}")
                path.unlink()
        graphs.rmdir()
    return cxr, imagenome


@pytest.mark.parametrize("zipped", [False, True])
def test_frontal_films_with_their_relations(data: ModuleType, tmp_path: Path, zipped: bool) -> None:
    found = list(data.films(*make_tree(tmp_path, zipped=zipped)))
    assert [film.patient for film in found] == [10000032, 10000033, 10000034, 10000035]
    assert {film.view for film in found} == {"PA"}
    assert [film.split for film in found] == ["train", "train", "train", "validate"]
    opacity, pneumonia = ("right lung", "lung opacity"), ("right lung", "pneumonia")
    assert found[0].present == {opacity}
    assert found[1].present == {pneumonia}, "the last mention counts"
    assert found[1].absent == {opacity}


def test_vocabulary_leaves_out_the_rare(data: ModuleType, tmp_path: Path) -> None:
    found = list(data.films(*make_tree(tmp_path, count=5)))
    opacity, pneumonia = ("right lung", "lung opacity"), ("right lung", "pneumonia")
    assert data.vocabulary(found, least=1) == [opacity, pneumonia]
    assert data.vocabulary(found, least=3) == [opacity]


def test_a_wrong_folder_says_what_is_expected(data: ModuleType, tmp_path: Path) -> None:
    cxr, imagenome = make_tree(tmp_path)
    with pytest.raises(SystemExit, match=r"mimic-cxr-2\.0\.0-split\.csv"):
        list(data.films(imagenome, imagenome))
    with pytest.raises(SystemExit, match="scene_graph"):
        list(data.films(cxr, cxr))


def test_it_trains_and_exports(tmp_path: Path) -> None:
    """A few steps on the made-up tree; the card names the relations of the films."""
    for package in ("torch", "scipy", "onnx", "efficientnet_lite_pytorch"):
        pytest.importorskip(package, reason="the trainer's packages are not installed")
    cxr, imagenome = make_tree(tmp_path, count=40)
    command = [sys.executable, str(RECIPE / "train.py"), "--cxr", str(cxr)]
    command += ["--imagenome", str(imagenome), "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [*command, "--epochs", "1", "--least", "5"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    card = json.loads((tmp_path / "run" / "card.json").read_text(encoding="utf-8"))
    relations = [label["relations"] for label in card["findings"]["labels"]]
    assert relations == [[["right lung", "lung opacity"]], [["right lung", "pneumonia"]]]
