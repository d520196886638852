"""How fast images are read and asked about: images a second, memory, group questions, N images.

``python tests/benchmarks/vision_speed.py --card models/vision/card.json --images DIR`` prints one
JSON object. Without ``--images`` it draws films of 1024 x 1024 pixels. Everything that is measured
runs through the code that ``ehrqa`` runs; the reading of images in a process of its own, so that
its memory is its own.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from PIL import Image

from ehrqa_cli.ehr import schema
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.neuralsql import execute
from ehrqa_cli.vqa import Vqa
from ehrqa_cli.vqa.imaging.decode import decode
from ehrqa_cli.vqa.imaging.find import ImageRoot
from ehrqa_cli.vqa.model import graph, pipeline
from ehrqa_cli.vqa.model.cache import Entry, File, GraphCache
from ehrqa_cli.vqa.model.network import VisionModel
from ehrqa_cli.vqa.model.source import ModelGraphs, OneGraph, Parts

AS_OF = "2100-12-31 23:59:00"
INDEXED = 10_000


def drawn(folder: Path, count: int) -> None:
    """Films of 1024 x 1024 as JPEG, as large as those of hospitals are made for the web."""
    rng = np.random.default_rng(0)
    across = np.linspace(-1, 1, 1024)
    bowl = np.exp(-((across[:, None] / 0.7) ** 2) - (np.abs(across[None, :]) - 0.45) ** 2 / 0.05)
    for k in range(count):
        grain = rng.normal(0, 8, (1024, 1024))
        grey = np.clip(200 - 150 * bowl + grain, 0, 255).astype(np.uint8)
        Image.fromarray(grey).save(folder / f"{k:05}.jpg", quality=90)


def read_images(card: Path, folder: Path, count: int, threads: int, batch: int) -> dict[str, Any]:
    """Decode, look, and measure the heart, in this process."""
    model = VisionModel.open(card, threads=threads)
    paths = sorted(p for p in folder.iterdir() if p.is_file())[:count]
    source = ModelGraphs(model)
    list(pipeline.look(model, paths[:4], workers=threads))  # opening the network is not counted
    started, cpu = time.perf_counter(), time.process_time()
    failed = 0
    for looked in pipeline.look(model, paths, workers=threads, batch=batch):
        source._entry(looked)
        failed += looked.seen is None
    seconds, used = time.perf_counter() - started, time.process_time() - cpu
    return {
        "images": len(paths),
        "failed": failed,
        "threads": threads,
        "batch": batch,
        "provider": model.provider,
        "images_per_second": round(len(paths) / seconds, 1),
        # On a busy machine the time of the processor says more than that of the clock.
        "images_per_cpu_second": round(len(paths) / used, 1),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def apart(card: Path, folder: Path, count: int, threads: int, batch: int) -> dict[str, Any]:
    """``read_images`` in a process of its own, on as many cores as it has threads."""
    arguments = [str(card), str(folder), str(count), str(threads), str(batch)]
    command = [sys.executable, __file__, "--child", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def made_ehr(path: Path, folder: Path, studies: int) -> None:
    """An EHR of patients with ten studies each, and a file for every image."""
    with sqlite3.connect(path) as connection:
        for table in (*schema.TABLES, *schema.OPTIONAL_TABLES):
            connection.execute(table.ddl())
        patients = [(k, 100 + k, "f", "2050-01-01 00:00:00") for k in range(studies // 10)]
        connection.executemany(
            "INSERT INTO patients (row_id, subject_id, gender, dob) VALUES (?, ?, ?, ?)", patients
        )
        rows = [
            (k, 100 + k // 10, None, 50_000_000 + k, f"i{k}", "2100-02-02 08:00:00", "pa")
            for k in range(studies)
        ]
        connection.executemany("INSERT INTO tb_cxr VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    for k in range(studies):
        (folder / f"i{k}.jpg").write_bytes(b"x")


def filled(source: ModelGraphs, folder: Path, studies: int) -> None:
    """A cache as `ehrqa images index` leaves it, of made probabilities."""
    rng = np.random.default_rng(1)
    wide = len(source.coverage().relations)
    files, entries, chosen = [], [], {}
    for k in range(studies):
        path = folder / f"i{k}.jpg"
        now = path.stat()
        files.append(File(str(path), now.st_size, now.st_mtime_ns, f"{k:064x}"))
        p = rng.random(wide, dtype=np.float32) ** 3
        entries.append(Entry(f"{k:064x}", p.tobytes(), pa=0.9, female=0.2, heart=0.5))
        chosen[50_000_000 + k] = (str(path), f"i{k}")
    source.cache.keep(files, entries, source.model.card.key)
    source.cache.choose(chosen, source.model.card.key)


def group_questions(card: Path, work: Path) -> dict[str, Any]:
    """A question over all indexed studies: in a new reader, and again in the same one."""
    ehr, folder = work / "ehr.sqlite", work / "films"
    folder.mkdir()
    made_ehr(ehr, folder, INDEXED)
    database = SqliteDatabase.open(ehr)
    model = VisionModel.open(card)
    parts = Parts(
        files=lambda: ImageRoot(folder),
        cache=lambda: GraphCache.open(ehr),
        database=lambda: database,
    )
    filled(ModelGraphs(model, parts), folder, INDEXED)
    name = next(a for o, a in ModelGraphs(model).coverage().relations if o == "")
    query = (
        "SELECT count(DISTINCT subject_id) FROM tb_cxr "
        f"WHERE FUNC_VQA('is there {name}?', study_id) = 1"
    )
    source = ModelGraphs(model, parts)
    studies = list(range(50_000_000, 50_000_000 + INDEXED))
    loading = timed(lambda: source.cache.studies(studies, model.card.key))
    reading = timed(lambda: source.read(studies))
    execute(query, database, as_of=AS_OF, graphs=Vqa(ModelGraphs(model, parts)))
    firsts = []
    for _ in range(5):
        vqa = Vqa(ModelGraphs(model, parts))
        firsts.append(timed(lambda v=vqa: execute(query, database, as_of=AS_OF, graphs=v)))
    busy = time.process_time()
    execute(query, database, as_of=AS_OF, graphs=Vqa(ModelGraphs(model, parts)))
    busy = time.process_time() - busy
    again = [timed(lambda: execute(query, database, as_of=AS_OF, graphs=vqa)) for _ in range(5)]
    database.close()
    return {
        "studies": INDEXED,
        "load_cache_seconds": round(loading, 3),
        "read_graphs_seconds": round(reading, 3),
        "group_question_seconds": round(sorted(firsts)[2], 3),
        "group_question_cpu_seconds": round(busy, 3),
        "asked_again_seconds": round(sorted(again)[2], 3),
    }


def n_images(card: Path, folder: Path, count: int, questions: int) -> dict[str, Any]:
    """Several questions of N images: the model asked once per (image, question), against ours."""
    model = VisionModel.open(card)
    source = ModelGraphs(model)
    names = [a for o, a in source.coverage().relations if o == ""][:questions]
    asked = [f"is there {name}?" for name in names]
    paths = sorted(p for p in folder.iterdir() if p.is_file())[:count]
    model.see([decode(paths[0])])

    def each() -> None:
        for question in asked:
            for path in paths:
                picture = decode(path, size=max(model.card.input.size))
                made = source.graph_of(model.see([picture])[0], picture)
                Vqa(OneGraph(source, made)).detail(question, made.study_id)

    class Shelf:
        def of_image(self, image_id: str) -> Path | None:
            return None

        def of_study(self, study_id: int) -> list[Path]:
            return [paths[study_id]]

    with tempfile.TemporaryDirectory() as work:
        db = Path(work) / "ehr.sqlite"
        parts = Parts(files=Shelf, cache=lambda: GraphCache.open(db))

        def ours() -> None:
            vqa = Vqa(ModelGraphs(model, parts))
            for question in asked:
                vqa.answer(question, range(len(paths)))

        slow, new, indexed = timed(each), timed(ours), timed(ours)
    return {
        "images": len(paths),
        "questions": len(asked),
        "each_seconds": round(slow, 3),
        "not_indexed_seconds": round(new, 3),
        "indexed_seconds": round(indexed, 4),
        "times_faster_not_indexed": round(slow / new, 1),
        "times_faster_indexed": round(slow / indexed, 1),
        "times_faster_indexed_one_question": round(slow / len(asked) / indexed, 1),
    }


def timed(work: Callable[[], Any]) -> float:
    """Seconds."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def anatomy_milliseconds(card: Path, folder: Path) -> float:
    """Measuring the heart of one image."""
    model = VisionModel.open(card)
    seen = model.see([decode(next(p for p in sorted(folder.iterdir()) if p.is_file()))])[0]
    seconds = timed(lambda: [graph.heart_ratio(model.card, seen) for _ in range(20)]) / 20
    return round(1000 * seconds, 2)


@click.command()
@click.option("--card", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--images", type=click.Path(path_type=Path, exists=True))
@click.option("--count", default=400, show_default=True, help="Images to read.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the JSON here too.")
def main(card: Path, images: Path | None, count: int, out: Path | None) -> None:
    """Measure, and print one JSON object."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if images is None:
            images = work / "drawn"
            images.mkdir()
            drawn(images, count)
        cores = sorted({1, min(2, os.cpu_count() or 1)})
        found: dict[str, Any] = {
            "card": card.name,
            "load": os.getloadavg()[0],
            "pipeline": [
                apart(card, images, count, threads, batch)
                for threads in cores
                for batch in (pipeline.BATCH, 16, 32)
            ],
            "heart_milliseconds": anatomy_milliseconds(card, images),
            "group": group_questions(card, work),
            "n_images": n_images(card, images, min(24, count), 12),
        }
    text = json.dumps(found, indent=1)
    click.echo(text)
    if out:
        out.write_text(text + "\n")


if __name__ == "__main__":
    if "--child" in sys.argv:
        where = sys.argv.index("--child")
        path, folder_, *numbers = sys.argv[where + 1 :]
        print(json.dumps(read_images(Path(path), Path(folder_), *map(int, numbers))))
    else:
        main()
