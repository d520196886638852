"""What ``ehrqa batch`` reads and writes: JSON Lines, CSV, plain lines, and what is none of them."""

from __future__ import annotations

import csv
import io
import json
import sys
from types import SimpleNamespace

import pytest

COUNT = "how many patients are there?"
LAST = "last creatinine of patient?"


def rows(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_csv_in(cli, ehr, rote, tmp_path):
    source = tmp_path / "in.csv"
    source.write_text(
        "\ufeffID,Question,patient_id,choices,A,B,as_of,note\r\n"
        f'x1,"{COUNT}",,,,,,\r\n'
        f'x2,"last creatinine\nof patient?",101,,,,2100-12-31,hello\r\n'
        f"x3,{COUNT},,,2,3,,\r\n"
        f'x4,{COUNT},,"{{""A"": ""3"", ""B"": ""2""}}",,,,\r\n'
        f"x5,{COUNT},,[broken,,,,\r\n"
        "x6,,,,,,,\r\n\r\n"
        f"x7,{LAST},one,,,,,\r\n"
    )
    ran = cli("batch", source, "--db", ehr)
    found = rows(ran.out)
    assert [row["id"] for row in found] == ["x1", "x2", "x3", "x4", "x5", "x6", "x7"]
    assert [row["status"] for row in found] == ["answered"] * 4 + ["failed"] * 3
    assert [row["value"] for row in found[:2]] == [2, 0.9]
    assert [row["choice"] for row in found[2:4]] == ["A", "B"]
    assert "line 7" in found[4]["error"]["message"] and "choices" in found[4]["error"]["message"]
    assert ran.code == 1


def test_csv_out_has_the_fields_of_ask_and_repeats_them(cli, ehr, rote, tmp_path):
    source = tmp_path / "in.jsonl"
    asked = [{"id": 7, "question": COUNT}, {"id": "b,é", "question": COUNT}, {"question": "phone?"}]
    source.write_text("".join(json.dumps(row) + "\n" for row in asked))
    out = tmp_path / "out.csv"
    assert cli("batch", source, out, "--db", ehr).code == 0
    with out.open(newline="") as file:
        found = list(csv.DictReader(file))
    plain = rows(cli("batch", source, "--db", ehr).out)
    assert list(found[0]) == list(plain[0])
    assert [row["id"] for row in found] == ["7", "b,é", ""]
    assert json.loads(found[1]["rows"]) == [[2]] and found[1]["value"] == "2"
    assert found[2]["status"] == "abstained" and json.loads(found[2]["reason"])["kind"]
    text = cli("batch", source, "--csv", "--db", ehr).out
    assert text == out.read_text()


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        (f"{COUNT}\n\nphone?\n", [None, None]),
        (f"id;question\n1;{COUNT}\n2;phone?\n", ["1", "2"]),
        (f"question\tid\n{COUNT}\t1\nphone?\t2", ["1", "2"]),
        (
            "\n" + json.dumps({"id": 1, "question": COUNT}) + '\n{"id": 2, "question": "phone?"}',
            [1, 2],
        ),
    ],
)
def test_standard_input_tells_what_it_is(cli, ehr, rote, monkeypatch, given, ids):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given.encode())))
    ran = cli("batch", "-", "--db", ehr)
    assert [row["id"] for row in rows(ran.out)] == ids
    assert [row["status"] for row in rows(ran.out)] == ["answered", "abstained"]


def test_a_format_that_is_given_wins(cli, ehr, rote, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text(COUNT + "\n")
    ran = cli("batch", source, "--format", "lines", "--db", ehr)
    assert ran.code == 0 and rows(ran.out)[0]["value"] == 2


def test_what_is_no_text_is_refused_at_once(cli, ehr, rote, tmp_path):
    source = tmp_path / "in.bin"
    source.write_bytes(bytes(range(256)) * 10)
    ran = cli("batch", source, tmp_path / "out", "--db", ehr)
    assert ran.code == 2 and "not text" in ran.err and not (tmp_path / "out").exists()
    source.write_text("[" + json.dumps({"question": COUNT}) + "]")
    assert "JSON array" in cli("batch", source, "--db", ehr).err
    source.rename(tmp_path / "in.csv")
    assert "column 'question'" in cli("batch", tmp_path / "in.csv", "--db", ehr).err


def test_bytes_and_lines_that_cannot_be_are_rows(cli, ehr, rote, tmp_path):
    source = tmp_path / "in.txt"
    source.write_bytes(
        b"\xff\xfe\x80?\n" + b"x" * 3_000_000 + b"\n" + COUNT.encode() + b"\x1b\n" + COUNT.encode()
    )
    ran = cli("batch", source, "--db", ehr)
    found = rows(ran.out)
    assert [row["status"] for row in found][1:] == ["failed", "failed", "answered"]
    assert "longer" in found[1]["error"]["message"]
    assert "U+001B" in found[2]["error"]["message"]
    assert len(ran.out) < 20_000
    broken = tmp_path / "in.csv"
    broken.write_text(f'question\n{COUNT}\n"never ended {"y" * 200_000}\n' + COUNT)
    found = rows(cli("batch", broken, "--db", ehr).out)
    assert [row["status"] for row in found][:2] == ["answered", "failed"]
    assert "not CSV" in found[1]["error"]["message"]


def test_a_question_is_asked_once(cli, ehr, rote, monkeypatch, tmp_path):
    asked = []
    generate = rote.generate
    monkeypatch.setattr(
        rote,
        "generate",
        lambda self, q, on_token=None: asked.append(q.question) or generate(self, q),
    )
    source = tmp_path / "in.jsonl"
    given = [
        *({"id": i, "question": COUNT} for i in range(3)),
        {"id": 3, "question": f"  {COUNT} "},
        {"id": 4, "question": COUNT, "choices": {"A": "2", "B": "3"}},
        {"id": 5, "question": COUNT, "as_of": "2100-01-01"},
        {"id": 6, "question": LAST, "patient_id": 101},
        {"id": 7, "question": LAST, "patient_id": 102},
        {"id": 8, "question": LAST, "patient_id": 101},
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in given))
    ran = cli("batch", source, "--db", ehr)
    found = rows(ran.out)
    assert len([text for text in asked if text in (COUNT, LAST)]) == 5  # and what is offered
    assert "4 asked before" in ran.err
    assert [row["id"] for row in found] == list(range(9))
    assert found[3]["question"] == f"  {COUNT} "
    assert {**found[8], "id": 6} == found[6] and found[7] != found[6]
    assert found[4]["choice"] == "A" and found[0]["choice"] is None


def test_there_is_no_progress_but_on_a_terminal(cli, ehr, rote, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text(f"{COUNT}\nphone?\n")
    ran = cli("batch", source, "--db", ehr)
    assert ran.err == "2 rows: 1 answered, 1 abstained, 0 failed\n"


def test_an_empty_file_has_no_rows(cli, ehr, rote, tmp_path):
    (tmp_path / "in.jsonl").write_text("\n")
    out = tmp_path / "out.jsonl"
    assert cli("batch", tmp_path / "in.jsonl", out, "--db", ehr).code == 0
    assert out.read_bytes() == b""
