"""Notes read in from files as they come."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import ImportFailed, UsageError
from ehrqa_cli.notes.importing import NotesReport, import_notes
from ehrqa_cli.notes.importing.folder import patient_of
from ehrqa_cli.notes.importing.write import Outcome
from ehrqa_cli.notes.store import NoteStore, notes_path

HEADER = "note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text"
TEXT = 'Allergies: \nPenicillin, "sulfa"\n \nBrief Hospital Course:\nShe did well.\n'


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "ehr.sqlite"


def mimic(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    table = io.StringIO()
    table.write(HEADER + "\n")
    csv.writer(table).writerows(rows)
    data = table.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def mimic_row(number: int, text: str = TEXT) -> list[object]:
    return [f"{number}-DS-1", number, 20000000 + number, "DS", 1, "2180-05-07 00:00:00", "", text]


def jsonl(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def record(number: int = 1, **other: object) -> dict[str, object]:
    return {"note_id": f"n{number}", "patient_id": "7", "text": f"Text {number}.", **other}


def texts(db: Path) -> dict[str, str]:
    with NoteStore.open(db) as store:
        return {note.note_id: note.text for who in store.patients() for note in store.notes(who)}


def messages(report: NotesReport) -> list[tuple[str, str]]:
    return [(problem.where, problem.message) for problem in report.problems]


@pytest.mark.parametrize("name", ["discharge.csv", "discharge.csv.gz"])
def test_mimic_iv_note(tmp_path: Path, db: Path, name: str) -> None:
    report = import_notes(mimic(tmp_path / name, [mimic_row(10000032), mimic_row(10000033)]), db)
    assert report.complete and report.outcomes == {Outcome.ADDED: 2}
    with NoteStore.open(db) as store:
        note = store.note("10000032-DS-1")
        lines = store.lines(10000032)
    assert note is not None
    assert (note.patient_id, note.hadm_id) == (10000032, 30000032)
    assert (note.charttime, note.category) == ("2180-05-07 00:00:00", "discharge summary")
    assert note.text == TEXT
    assert [line.section for line in lines] == ["allergies"] * 2 + ["hospital course"] * 2


def test_json_lines_in_the_layout_of_noteqa(tmp_path: Path, db: Path) -> None:
    source = jsonl(
        tmp_path / "notes.jsonl",
        record(1, hadm_id="31", charttime="2008-06-20", category="clinic note", license="CC0"),
        {"note_id": "n2", "subject_id": 8, "hadm_id": 31.0, "text": " Two \r\nlines "},
    )
    assert import_notes(source, db).complete
    with NoteStore.open(db) as store:
        first, second = store.note("n1"), store.note("n2")
    assert first is not None and second is not None
    assert (first.patient_id, first.hadm_id, first.category) == (7, 31, "clinic note")
    assert (second.patient_id, second.hadm_id, second.charttime) == (8, 31, None)
    assert second.text == " Two \r\nlines "  # as it was given


def test_broken_lines_are_named_and_the_rest_is_kept(tmp_path: Path, db: Path) -> None:
    source = tmp_path / "notes.jsonl"
    source.write_text(
        "\n".join(
            [
                json.dumps(record(1)),
                '{"note_id": "n2", ',
                "",
                "[1, 2]",
                json.dumps(record(5, text=" \n\x00 ")),
                json.dumps(record(6, patient_id="P-17")),
                json.dumps(record(7, patient_id=None)),
                json.dumps(record(8, charttime="last week")),
                json.dumps(record(9, note_id="")),
                json.dumps(record(10)),
            ]
        ),
        "utf-8",
    )
    seen: list[str] = []
    report = import_notes(source, db, on_problem=lambda problem: seen.append(problem.where))
    assert set(texts(db)) == {"n1", "n10"}
    assert report.left_out == 7 and not report.complete
    told = messages(report)
    assert [where for where, _ in told] == [f"line {n}" for n in (2, 4, 5, 6, 7, 8, 9)] == seen
    for (_, message), words in zip(
        told,
        [
            "not JSON",
            "not a JSON object",
            "no text",
            "'P-17'",
            "no patient",
            "last week",
            "note_id",
        ],
        strict=True,
    ):
        assert words in message
    assert all(problem.hint for problem in report.problems)


def test_broken_rows_of_a_csv_are_named(tmp_path: Path, db: Path) -> None:
    source = mimic(
        tmp_path / "d.csv", [mimic_row(1), ["2-DS-1", 2], mimic_row(3, "  "), mimic_row(4)]
    )
    report = import_notes(source, db)
    assert set(texts(db)) == {"1-DS-1", "4-DS-1"}
    assert [where for where, _ in messages(report)] == ["line 8", "line 9"]


def test_an_unclosed_quotation_mark_ends_the_import_and_keeps_what_came_before(
    tmp_path: Path, db: Path
) -> None:
    source = mimic(tmp_path / "d.csv", [mimic_row(1)])
    with source.open("a") as file:
        file.write('2-DS-1,2,3,DS,1,,,"text without an end\n')
    with pytest.raises(ImportFailed, match="not CSV"):
        import_notes(source, db)
    assert set(texts(db)) == {"1-DS-1"}


def test_a_gzip_file_that_is_cut_short_keeps_what_could_be_read(tmp_path: Path, db: Path) -> None:
    rows = [mimic_row(n, os.urandom(20_000).hex()) for n in range(1, 81)]
    source = mimic(tmp_path / "d.csv.gz", rows)
    whole = source.read_bytes()
    source.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ImportFailed, match=r"broken gzip.*download it again"):
        import_notes(source, db)
    kept = len(texts(db))
    assert 10 < kept < 80
    source.write_bytes(whole)
    report = import_notes(source, db)
    assert report.outcomes == {Outcome.SAME: kept, Outcome.ADDED: 80 - kept}


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1"],
)
@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".txt"])
def test_encodings(tmp_path: Path, db: Path, encoding: str, ending: str) -> None:
    text = "Temp 38 °C, 5 µg fentanyl at the café."
    if ending == ".jsonl":
        given = json.dumps(record(1, text=text), ensure_ascii=False)
    elif ending == ".csv":
        given = f'note_id,subject_id,text\nn1,7,"{text}"\n'
    else:
        given = text
    source = tmp_path / f"7-DS-1{ending}"
    source.write_bytes(given.encode(encoding))
    report = import_notes(source, db)
    assert list(texts(db).values()) == [text]
    assert report.stray_bytes == (3 if encoding in ("cp1252", "latin-1") else 0)


def test_a_stray_byte_does_not_spoil_the_utf8_around_it(tmp_path: Path, db: Path) -> None:
    source = tmp_path / "n.jsonl"
    source.write_bytes(json.dumps(record(text="é"), ensure_ascii=False).encode() + b"\n")
    with source.open("ab") as file:
        file.write(b'{"note_id": "n2", "patient_id": 7, "text": "caf\xe9 \x81 caf\xc3\xa9"}\n')
    report = import_notes(source, db)
    assert texts(db) == {"n1": "é", "n2": "café \x81 café"}
    assert report.stray_bytes == 2


def test_a_named_encoding_is_used(tmp_path: Path, db: Path) -> None:
    source = tmp_path / "7-DS-1.txt"
    source.write_bytes("Ból głowy.".encode("cp1250"))
    import_notes(source, db, encoding="cp1250")
    assert texts(db) == {"7-DS-1": "Ból głowy."}
    with pytest.raises(UsageError, match="no encoding 'klingon'"):
        import_notes(source, db, encoding="klingon")


def test_a_text_that_is_not_in_the_named_encoding(tmp_path: Path, db: Path) -> None:
    source = tmp_path / "n.jsonl"
    source.write_bytes(b'{"note_id": "n", "patient_id": 7, "text": "caf\xe9"}\n')
    with pytest.raises(ImportFailed, match=r"not ascii text.*--encoding"):
        import_notes(source, db, encoding="ascii")


def test_nul_bytes_half_pairs_and_a_long_text_are_kept(tmp_path: Path, db: Path) -> None:
    long = "The patient was given Lasix 40 mg p.o. daily. " * 110_000
    assert len(long) > 5_000_000
    source = jsonl(
        tmp_path / "n.jsonl",
        record(1, text="a\x00b"),
        record(2, text="x \ud83d y"),
        record(3, text=long),
    )
    assert import_notes(source, db).complete
    assert texts(db) == {"n1": "a\x00b", "n2": "x \ufffd y", "n3": long}
    rows = mimic(tmp_path / "d.csv", [mimic_row(9, long[:200_000])])  # csv's own limit: 131,072
    assert import_notes(rows, db).complete


def test_a_folder_of_text_files(tmp_path: Path, db: Path) -> None:
    folder = tmp_path / "letters"
    for name in (
        "10000032-DS-21.txt",
        "2180/10000033-DS-1.txt",
        "10000034/2180-05-07.txt",
        "p10/p10000035/s5.txt",
        "10000036_2180-06-01 clinic.TXT",
        "10000037/.hidden.txt",
        "10000037/scan.pdf",
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Text of {name}", "utf-8")
    report = import_notes(folder, db)
    assert report.complete
    with NoteStore.open(db) as store:
        assert store.patients() == [10000032, 10000033, 10000034, 10000035, 10000036]
        dated = store.notes(10000034)[0]
        assert (dated.note_id, dated.charttime) == ("10000034/2180-05-07", "2180-05-07")
        assert store.note("10000033-DS-1") is not None
        assert store.notes(10000036)[0].charttime == "2180-06-01"


@pytest.mark.parametrize("name", ["letter.txt", "2180-05-07 visit.txt", "ward 3/letter.txt"])
def test_a_file_that_names_no_patient_says_so(tmp_path: Path, db: Path, name: str) -> None:
    assert patient_of(Path(name)) is None
    path = tmp_path / "letters" / name
    path.parent.mkdir(parents=True)
    path.write_text("Text.", "utf-8")
    report = import_notes(tmp_path / "letters", db)
    assert not report.complete
    assert "--patient ID" in report.problems[0].hint
    for patient in (41, 42):
        assert import_notes(tmp_path / "letters", db, patient=patient).complete
    assert len(texts(db)) == 2  # the ids of two patients' notes are not the same


def test_the_same_import_twice_changes_nothing(tmp_path: Path, db: Path) -> None:
    source = mimic(tmp_path / "d.csv", [mimic_row(n, f"{TEXT}{n}") for n in range(20)])
    import_notes(source, db)
    before = notes_path(db).read_bytes()
    report = import_notes(source, db)
    assert report.outcomes == {Outcome.SAME: 20}
    with NoteStore.open(db) as store:
        after = store.fingerprint()
    db.with_name("fresh").mkdir()
    fresh = db.with_name("fresh") / "ehr.sqlite"
    import_notes(source, fresh)
    with NoteStore.open(fresh) as store:
        assert store.fingerprint() == after
    assert len(before) == len(notes_path(db).read_bytes())


def test_another_text_under_the_same_id_is_refused_unless_replaced(
    tmp_path: Path, db: Path
) -> None:
    import_notes(jsonl(tmp_path / "a.jsonl", record(1)), db)
    changed = jsonl(tmp_path / "b.jsonl", record(1, text="Other."))
    report = import_notes(changed, db)
    assert "another text" in report.problems[0].message
    assert "--replace" in report.problems[0].hint
    assert texts(db) == {"n1": "Text 1."}
    assert import_notes(changed, db, replace=True).complete
    assert texts(db) == {"n1": "Other."}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.csv", None, "no file or folder"),
        ("empty.jsonl", "", "no note"),
        ("empty.csv", "", "lacks note_id, subject_id, text"),
        ("other.csv", "a,b\n1,2\n", "lacks note_id"),
        ("what.dat", "hello", "no layout that is known"),
    ],
)
def test_a_source_that_is_none(
    tmp_path: Path, db: Path, name: str, content: str | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(ImportFailed, match=words):
        import_notes(tmp_path / name, db)
    assert not notes_path(db).exists()


def test_a_folder_without_texts_and_a_place_that_is_none(tmp_path: Path, db: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(ImportFailed, match=r"no \.txt files"):
        import_notes(tmp_path / "none", db)
    with pytest.raises(ImportFailed, match="no folder"):
        import_notes(jsonl(tmp_path / "n.jsonl", record()), tmp_path / "gone" / "ehr.sqlite")


def test_files_without_their_usual_ending_are_known_by_their_first_line(
    tmp_path: Path, db: Path
) -> None:
    import_notes(jsonl(tmp_path / "notes.data", record(1)), db)
    import_notes(mimic(tmp_path / "table.data", [mimic_row(2)]), db)
    assert set(texts(db)) == {"n1", "2-DS-1"}


KILLED = """
import os, signal, sys
from pathlib import Path
from ehrqa_cli.notes import importing
from ehrqa_cli.notes.importing import write

count, insert_term = 0, write.Writer._term

def term(writer, name):  # in the middle of a note's lines
    global count
    count += 1
    if count == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return insert_term(writer, name)

write.Writer._term = term
write._BATCH_SECONDS = 1e9
importing.import_notes(Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.mark.parametrize(("calls", "kept"), [(1, 0), (5 * 2 * 600 + 3, 500)])
def test_a_run_that_is_killed_and_started_again_ends_in_the_same_store(
    tmp_path: Path, db: Path, calls: int, kept: int
) -> None:
    source = mimic(tmp_path / "d.csv", [mimic_row(n, f"{TEXT}{n}") for n in range(700)])
    process = subprocess.run([sys.executable, "-c", KILLED, source, db, str(calls)], check=False)
    assert process.returncode == -signal.SIGKILL
    assert len(texts(db)) == kept
    report = import_notes(source, db)
    expected = {Outcome.SAME: kept, Outcome.ADDED: 700 - kept}
    assert report.outcomes == {outcome: count for outcome, count in expected.items() if count}
    fresh = tmp_path / "fresh.sqlite"
    import_notes(source, fresh)
    with NoteStore.open(db) as one, NoteStore.open(fresh) as two:
        for table in ("note", "placed", "term", "meta"):
            every = f"SELECT * FROM {table} ORDER BY 1"
            assert one.query(every) == two.query(every)
