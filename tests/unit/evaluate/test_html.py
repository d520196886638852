"""The page of a run: nothing but itself, nothing unescaped, the right counts."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.benchmarks import FigureTable
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate import html, plots

Plain = dict[str, Any]
EVIL = '<script>alert("x")</script>\u202e\x1b[2J ${object} &amp; $x_{$ 中文'


class Seen(HTMLParser):
    """Tags, attributes and text of a page; fails on a tag that is closed out of turn."""

    VOID = ("meta", "img", "br")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1].append(data)


def write(folder: Path, header: Plain, records: list[Plain], seconds: list[Plain] = ()) -> Path:  # type: ignore[assignment]
    lines = [{"header": {"dataset_sha256": "d" * 64, **header}}]
    lines += [{"id": str(k), **record} for k, record in enumerate(records)]
    (folder / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if seconds:
        rows = [{"id": str(k), **row} for k, row in enumerate(seconds)]
        (folder / "timings.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return folder


def answer(correct: bool, status: str = "answered", **more: Any) -> Plain:
    return {"question": "q?", "gold": "g", "status": status, "correct": correct, **more}


def test_the_page(tmp_path: Path) -> None:
    records = [
        answer(True, modality="image", confidence=0.9, template=EVIL),
        answer(
            False, modality="table", confidence=0.4, template="t", question=EVIL, prediction=EVIL
        ),
        answer(False, "abstained", modality="table", template="t", why=EVIL),
        answer(False, "abstained", modality="table", template="t", gold=None),
    ]
    seconds = [{"write": 0.5, "total": 0.6}] * 4
    write(tmp_path, {"benchmark": "ehrxqa", "split": EVIL}, records, seconds)
    table = FigureTable(
        "1", EVIL, ("", "n"), (("", (("all", 4),)), ("part", (("x", 1.25),))), (EVIL,)
    )
    path = html.write_page(tmp_path, [("model", EVIL)], (table,), (EVIL,))
    page = path.read_text()
    assert path.name == "report.html" and "\x1b" not in page and "\u202e" not in page
    seen = Seen(page)
    assert {tag for tag, _ in seen.tags}.isdisjoint({"script", "link", "iframe", "object", "a"})
    images = [attrs["src"] for tag, attrs in seen.tags if tag == "img"]
    # risk and coverage, calibration, answered and declined, outcomes, templates, latency
    assert len(images) == 6
    assert all(str(src).startswith("data:image/png;base64,") for src in images)
    assert not re.search(r"https?:", page)
    assert "default-src 'none'" in page
    rows = seen.rows
    assert ["have an answer", "3", "1 (33.3%)", "1 (33.3%)", "1 (33.3%)", "0 (0.0%)"] in rows
    assert ["have none", "1", "0 (0.0%)", "0 (0.0%)", "1 (100.0%)", "0 (0.0%)"] in rows
    assert ["part"] in rows and ["x", "1.2"] in rows
    assert any(row[:2] == ["table", "3"] and row[3:] == ["1", "1", "1", "0"] for row in rows)
    listed = [row for row in rows if row[0] in ("1", "2", "3") and row[1] in ("wrong", "declined")]
    assert [row[:2] for row in listed] == [
        ["1", "wrong"],
        ["2", "declined"],
    ]  # 3 was rightly declined


@pytest.mark.parametrize(
    ("header", "records", "expected"),
    [
        (
            {"benchmark": "emrqa", "task": "forms"},
            [{"id": "apart/0", "question": "q", "gold": "f", "predictions": {"A": "f", "B": "x"}}],
            ["A", "1", "0", "0", "0"],
        ),
        (
            {"benchmark": "emrqa", "task": "evidence"},
            [{"question": "q", "title": "t", "em": 1.0, "f1": 1.0}],
            ["have an answer", "1", "1 (100.0%)", "0 (0.0%)", "0 (0.0%)", "0 (0.0%)"],
        ),
        (
            {"dataset": "ehrsql-2024", "split": "valid"},
            [answer(True, timings={"total": 0.1}), answer(False, "failed", timings={"total": 0})],
            ["have an answer", "2", "1 (50.0%)", "0 (0.0%)", "0 (0.0%)", "1 (50.0%)"],
        ),
        (
            {"benchmark": "spider"},
            [
                {"gold": "S", "prediction": "P", "correct": False, "hardness": h}
                for h in ("easy", "extra")
            ],
            ["extra", "1", "0.0 (0.0-79.3)", "0", "1", "0", "0"],
        ),
    ],
)
def test_any_benchmark(
    header: Plain,
    records: list[Plain],
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plots, "available", lambda: False)
    write(tmp_path, header, records)
    assert expected in Seen(html.write_page(tmp_path, []).read_text()).rows


def test_without_confidences_it_says_so(tmp_path: Path) -> None:
    write(tmp_path, {"benchmark": "spider"}, [{"gold": "S", "correct": True}])
    page = html.write_page(tmp_path, []).read_text()
    assert "no answer has a confidence" in page and page.count("<img") == 2


def test_without_matplotlib_the_tables_remain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "available", lambda: False)
    write(tmp_path, {"benchmark": "spider"}, [{"gold": "S", "correct": True}])
    page = html.write_page(tmp_path, []).read_text()
    assert "<img" not in page and plots.HOW_TO_GET_IT.split(" (")[1] in page


def test_many_wrong_answers_are_cut_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "LISTED", 2)
    monkeypatch.setattr(plots, "available", lambda: False)
    write(tmp_path, {"benchmark": "spider"}, [{"gold": "S" * 5000, "correct": False}] * 3)
    page = html.write_page(tmp_path, []).read_text()
    assert "3 questions; the first 2 are listed" in page and len(page) < 5000


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"holds no records\.jsonl"):
        html.write_page(tmp_path, [])


def test_what_is_drawn_of_answers_and_templates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To decline a question without an answer is right, and is shown as declining."""
    drawn: dict[str, Any] = {}

    def keep(panels: Any, path: Path, _title: str) -> None:
        drawn[path.name] = panels

    monkeypatch.setattr(plots, "draw_outcomes", keep)
    records = [answer(k % 20 > 17 - k // 20, template=f"t{k % 20:02d}") for k in range(40)]
    records += [answer(False, "abstained", gold=None), answer(False, gold=None)]
    html.write_page(write(tmp_path, {"benchmark": "spider"}, records), [])
    right = sum(record["correct"] for record in records)
    assert drawn["answered.png"] == {
        "": {
            "have an answer": {"right": right, "wrong": 40 - right},
            "have none": {"declined": 1, "wrong": 1},
        }
    }
    (name, groups) = next(iter(drawn["templates.png"].items()))
    assert name == "fewest right: 16 of 20 templates" and next(iter(groups)) == "t00"
    assert "t19" not in groups and len(groups) == 16
