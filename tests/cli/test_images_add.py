"""``ehrqa images add``: lists, headers, times, visits, patients, and what is left out."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian

from ehrqa_cli.vqa.register import image_roots

HEADER = (
    "dicom_id,subject_id,study_id,PerformedProcedureStepDescription,ViewPosition,Rows,Columns,"
    "StudyDate,StudyTime,ProcedureCodeSequence_CodeMeaning"
)


def picture(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.arange(400, dtype=np.uint8).reshape(20, 20)).save(path)
    return path


def studies(db: Path, columns: str = "*") -> list[tuple]:
    with sqlite3.connect(db) as connection:
        found = connection.execute(f"SELECT {columns} FROM tb_cxr ORDER BY row_id").fetchall()
    connection.close()
    return found


def mimic(folder: Path, rows: Sequence[str], name: str = "mimic-cxr-2.0.0-metadata.csv") -> Path:
    """A tree as MIMIC-CXR-JPG's, with an image for each row."""
    for row in rows:
        image, patient, study, *_ = row.split(",")
        picture(folder / f"files/p{patient[:2]}/p{patient}/s{study}/{image}.jpg")
    text = "\n".join([HEADER, *rows, ""])
    if name.endswith(".gz"):
        with gzip.open(folder / name, "wt") as file:
            file.write(text)
    else:
        (folder / name).write_text(text)
    (folder / "mimic-cxr-2.0.0-split.csv").write_text("dicom_id,study_id,subject_id,split\n")
    return folder


def plain(folder: Path, text: str, *images: str, name: str = "list.csv") -> Path:
    for image in images:
        picture(folder / image)
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_mimic_cxr(cli, ehr, tmp_path, ending) -> None:
    folder = mimic(
        tmp_path / "cxr",
        [
            "a-1,101,50000001,CHEST,LATERAL,10,10,21000203,93012.5,lateral",
            "a-2,101,50000001,CHEST,PA,10,10,21000203,93011.0,pa",
            "a-3,101,50000001,CHEST,AP,10,10,21000203,113011.0,ap",
            "b-1,101,50000002,CHEST,AP,10,10,21010101,235959.999,ap",
            "c-1,102,50000003,CHEST,LL,10,10,20990202,213014.53100000002,ll",
        ],
        f"mimic-cxr-2.0.0-metadata.{ending}",
    )
    ran = cli("images", "add", folder, "--db", ehr)
    assert ran.code == 0
    assert studies(ehr) == [
        (0, 101, 1001, 50000001, "a-2", "2100-02-03 09:30:11", "pa"),
        (1, 101, None, 50000002, "b-1", "2101-01-01 23:59:59", "ap"),
    ]
    assert "2 studies added, 0 there already" in ran.out
    assert "1 without a frontal image" in ran.out
    assert "1 further images" in ran.err and "1 studies are later than" in ran.err
    assert image_roots(ehr)[-1] == folder.resolve()


def test_adding_again_adds_what_is_new(cli, ehr, tmp_path) -> None:
    rows = ["a-1,101,501,,PA,1,1,21000203,93012,x", "b-1,102,502,,AP,1,1,20990202,0,x"]
    folder = mimic(tmp_path / "cxr", rows[:1])
    assert cli("images", "add", folder, "--db", ehr).code == 0
    mimic(folder, rows)
    ran = cli("images", "add", folder, "--db", ehr, "--json")
    found = json.loads(ran.out)
    assert (found["added"], found["present"], found["bad"]) == (1, 1, [])
    before = studies(ehr)
    ran = cli("images", "add", folder, "--db", ehr)
    assert ran.code == 0 and "0 studies added, 2 there already" in ran.out
    assert studies(ehr) == before
    assert [row[4:6] for row in before] == [
        ("a-1", "2100-02-03 09:30:12"),
        ("b-1", "2099-02-02 00:00:00"),
    ]


def test_a_plain_list(cli, ehr, tmp_path) -> None:
    folder = plain(
        tmp_path / "x",
        "Image,Patient_ID,Study ID,time,View\n"
        "one.png,101,9,2100-02-03 09:30,PA\n"
        "sub/two.png,102,,2099-06-01T10:11:12,Lateral\n"
        "three,102,,2099-06-02,\n",
        "one.png",
        "sub/two.png",
        "three.png",
    )
    assert cli("images", "add", folder, "--db", ehr).code == 0
    assert studies(ehr) == [
        (0, 101, 1001, 9, "one", "2100-02-03 09:30:00", "pa"),
        (1, 102, None, 90000001, "three", "2099-06-02 00:00:00", ""),
    ]
    ran = cli("images", "add", folder, "--db", ehr, "--metadata", folder / "list.csv")
    assert ran.code == 0 and "0 studies added, 2 there already" in ran.out


def test_a_patient_still_in_hospital(cli, ehr, tmp_path) -> None:
    with sqlite3.connect(ehr) as connection:
        connection.execute("UPDATE admissions SET dischtime = NULL WHERE hadm_id = 1001")
    connection.close()
    folder = plain(tmp_path / "x", "image,patient_id,time\na,101,2100-12-03\n", "a.png")
    assert cli("images", "add", folder, "--db", ehr).code == 0
    assert studies(ehr, "hadm_id") == [(1001,)]


def test_studies_without_a_time_keep_their_order(cli, ehr, tmp_path) -> None:
    text = "image,patient_id\nb,101\na,101\n"
    folder = plain(tmp_path / "x", text, "a.png", "b.png")
    ran = cli("images", "add", folder, "--db", ehr)
    assert "2 studies without a time are dated to the EHR's 'now'" in ran.err
    assert studies(ehr, "image_id, studydatetime") == [
        ("b", "2100-12-31 23:58:59"),
        ("a", "2100-12-31 23:59:00"),
    ]


def test_bad_rows_are_listed_and_the_rest_goes_on(cli, ehr, tmp_path) -> None:
    folder = plain(
        tmp_path / "x",
        "image,patient_id,study_id,time\n"
        "good,101,1,2100-02-03\n"
        "gone,101,2,2100-02-03\n"
        "torn,101,3,2100-02-03\n"
        "good,abc,4,2100-02-03\n"
        "good,101,5,soon\n"
        "good,999,6,2100-02-03\n"
        ",101,7,2100-02-03\n"
        "good,101,8,2100-02-03\n"
        "other,102,1,2100-02-03\n"
        "\n"
        "../../ehr,101,10,2100-02-03\n"
        "other,102,11,2099-02-03\n",
        "good.png",
        "torn.png",
        "other.png",
    )
    torn = (folder / "torn.png").read_bytes()
    (folder / "torn.png").write_bytes(torn[: len(torn) // 2])
    ran = cli("images", "add", folder, "--db", ehr, "--json")
    assert ran.code == 0
    found = json.loads(ran.out)
    counts = {k: v for k, v in found.items() if isinstance(v, int) and v}
    assert counts == {
        "added": 2,
        "missing": 3,
        "unreadable": 1,
        "unknown_patients": 1,
        "invalid": 4,
    }
    assert [row[3:5] for row in studies(ehr)] == [(1, "good"), (11, "other")]
    lines = ran.err.splitlines()
    assert "warning: line 3: there is no image 'gone' in" in ran.err
    where = sorted(line.split(":")[1] for line in lines if line.startswith("warning: line"))
    assert where == sorted(f" line {n}" for n in (3, 4, 5, 6, 7, 8, 9, 10, 12))
    assert any("torn.png: truncated or corrupt" in line for line in lines)


def test_the_next_image_of_a_study_takes_the_place_of_a_damaged_one(cli, ehr, tmp_path) -> None:
    folder = mimic(
        tmp_path / "cxr",
        ["a-1,101,501,,PA,1,1,21000203,9,x", "a-2,101,501,,AP,1,1,21000203,10,x"],
    )
    (folder / "files/p10/p101/s501/a-1.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    ran = cli("images", "add", folder, "--db", ehr)
    assert ran.code == 0 and [row[4] for row in studies(ehr)] == ["a-2"]
    assert "1 unreadable" in ran.out


PEOPLE = "SELECT row_id, subject_id, gender, dob, dod FROM patients WHERE subject_id < 100"


def test_new_patients(cli, ehr, tmp_path) -> None:
    text = (
        "image,patient_id,time,sex,age,dob\n"
        "a,7,2100-07-01,F,57,\n"
        "b,7,2100-07-02,F,57,\n"
        "c,8,2100-07-01,male,,2050-04-03\n"
        "d,9,2100-07-01,O,40,\n"
        "e,10,2100-07-01,F,,2101-01-01\n"
    )
    folder = plain(tmp_path / "x", text, *(f"{name}.png" for name in "abcde"))
    ran = cli("images", "add", folder, "--db", ehr)
    assert ran.code == 1 and "5 of patients that are not in the EHR" in ran.out
    assert "--new-patients" in ran.err and image_roots(ehr) == ()
    ran = cli("images", "add", folder, "--db", ehr, "--new-patients")
    assert ran.code == 0 and "2 new patients" in ran.err
    with sqlite3.connect(ehr) as connection:
        people = connection.execute(PEOPLE).fetchall()
        known = connection.execute("SELECT subject_id, image_id FROM tb_cxr").fetchall()
    connection.close()
    assert people == [
        (2, 7, "f", "2042-12-31 00:00:00", None),
        (3, 8, "m", "2050-04-03 00:00:00", None),
    ]
    assert known == [(7, "a"), (7, "b"), (8, "c")]
    assert "patient 9 is not in the EHR, and sex" in ran.err
    assert "patient 10 would be born" in ran.err


def test_dicom_headers_where_there_is_no_list(cli, ehr, tmp_path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    dicom(folder / "one.dcm", PatientID="101", StudyDate="21000203", StudyTime="093000.12", uid="1")
    dicom(folder / "two.dcm", PatientID="101", StudyDate="21000203", ViewPosition="PA", uid="1")
    dicom(folder / "tri.dcm", PatientID="102", StudyDate="20990303", StudyID="50414267", uid="2")
    dicom(folder / "bad.dcm", PatientID="ANONYMOUS", StudyDate="20990303", uid="3")
    (folder / "torn.dcm").write_bytes((folder / "one.dcm").read_bytes()[:200])
    picture(folder / "p.png")
    ran = cli("images", "add", folder, "--db", ehr)
    assert ran.code == 0
    assert [row[1:] for row in studies(ehr)] == [
        (101, 1001, 90000001, "two", "2100-02-03 00:00:00", "pa"),
        (102, None, 50414267, "tri", "2099-03-03 00:00:00", ""),
    ]
    assert "bad.dcm: patient id 'ANONYMOUS' is not a whole number" in ran.err
    assert "torn.dcm" in ran.err and "1 unreadable" in ran.out
    assert "0 studies added, 2 there already" in cli("images", "add", folder, "--db", ehr).out


def dicom(path: Path, uid: str, **tags: str) -> None:
    pixels = np.arange(400, dtype=np.uint8).reshape(20, 20)
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset.SOPClassUID, dataset.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.1.1", f"1.2.3.{uid}"
    dataset.Rows, dataset.Columns, dataset.SamplesPerPixel = 20, 20, 1
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.HighBit, dataset.PixelRepresentation = 7, 0
    dataset.PhotometricInterpretation = "MONOCHROME2"
    dataset.StudyInstanceUID = f"1.2.{uid}"
    for name, value in tags.items():
        setattr(dataset, name, value)
    dataset.PixelData = pixels.tobytes()
    dataset.file_meta.MediaStorageSOPClassUID = dataset.SOPClassUID
    dataset.file_meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID
    dataset.save_as(path, enforce_file_format=True)


def test_nothing_says_whose_images_these_are(cli, ehr, tmp_path) -> None:
    picture(tmp_path / "x/a.png")
    (tmp_path / "x/other.csv").write_text("a,b\n1,2\n")
    ran = cli("images", "add", tmp_path / "x", "--db", ehr)
    assert ran.code == 1
    assert "nothing in" in ran.err and "--metadata CSV with the columns image" in ran.err


def test_errors_that_end_it(cli, ehr, tmp_path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder, what in ((empty, "holds no PNG"), (tmp_path / "none", "is not a folder")):
        ran = cli("images", "add", folder, "--db", ehr)
        assert ran.code == 1 and what in ran.err
    two = plain(tmp_path / "two", "image,patient_id\na,101\n", "a.png")
    plain(two, "file,subject_id\na,101\n", name="more.csv")
    ran = cli("images", "add", two, "--db", ehr)
    assert ran.code == 1 and "several lists: list.csv, more.csv" in ran.err
    ran = cli("images", "add", two, "--db", ehr, "--metadata", two / "a.png")
    assert ran.code == 1 and "cannot read" in ran.err
    ran = cli("images", "add", two, "--db", ehr, "--metadata", two / "none.csv")
    assert ran.code == 1 and "No such file" in ran.err
    (two / "list.csv").write_text("image,age\na,4\n")
    ran = cli("images", "add", two, "--db", ehr, "--metadata", two / "list.csv")
    assert ran.code == 1 and "no column of patient ids" in ran.err
    ran = cli("images", "add", two, "--db", tmp_path / "none.sqlite")
    assert ran.code == 1 and "there is no database" in ran.err


def test_an_error_on_the_way_adds_nothing(cli, ehr, tmp_path, monkeypatch) -> None:
    from ehrqa_cli.vqa.imaging import enrol

    folder = plain(tmp_path / "x", "image,patient_id\na,101\nb,101\n", "a.png", "b.png")
    before = ehr.read_bytes()
    seen: list[Path] = []

    def check(path: Path) -> None:
        seen.append(path)
        if len(seen) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(enrol, "check", check)
    assert cli("images", "add", folder, "--db", ehr).code == 130
    assert len(seen) == 2 and ehr.read_bytes() == before


def test_a_database_that_another_program_writes(cli, ehr, tmp_path, monkeypatch) -> None:
    from ehrqa_cli.ehr.backend import bulk

    monkeypatch.setattr(bulk, "_BUSY_SECONDS", 0.05)
    folder = plain(tmp_path / "x", "image,patient_id\na,101\n", "a.png")
    connection = sqlite3.connect(ehr, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    ran = cli("images", "add", folder, "--db", ehr)
    connection.execute("ROLLBACK")
    connection.close()
    assert ran.code == 1 and "database is locked" in ran.err


@pytest.mark.skipif(os.name == "nt", reason="permissions are not those of POSIX")
def test_a_database_that_may_not_be_written(cli, ehr, tmp_path) -> None:
    folder = plain(tmp_path / "x", "image,patient_id\na,101\n", "a.png")
    ehr.chmod(0o400)
    if os.access(ehr, os.W_OK):
        pytest.skip("this user may write any file")
    ran = cli("images", "add", folder, "--db", ehr)
    assert ran.code == 1 and "readonly database" in ran.err


def test_the_folder_is_remembered_out_of_reach_of_questions(cli, ehr, tmp_path) -> None:
    assert image_roots(ehr) == ()
    for name in ("one", "two", "one"):
        folder = plain(tmp_path / name, f"image,patient_id\n{name},101\n", f"{name}.png")
        assert cli("images", "add", folder, "--db", ehr).code == 0
    assert image_roots(ehr) == (tmp_path / "two", tmp_path / "one")
    assert image_roots(ehr)[-1] == tmp_path / "one"
    ran = cli("sql", "SELECT * FROM ehrqa_meta", "--db", ehr)
    assert ran.code == 1 and "not allowed" in ran.err
    assert cli("sql", "SELECT count(*) FROM tb_cxr", "--db", ehr).out.split() == ["count(*)", "2"]


def test_a_database_with_shifted_times(cli, tmp_path) -> None:
    """A patient of 2180 imported with --ehrsql lives in 2100, and so must the studies."""
    release, db = tmp_path / "mimic-iv", tmp_path / "shifted.sqlite"
    (release / "hosp").mkdir(parents=True)
    (release / "icu").mkdir()
    (release / "hosp/patients.csv").write_text(
        "subject_id,gender,anchor_age,anchor_year,anchor_year_group,dod\n"
        "101,F,50,2180,2011 - 2013,\n"
    )
    (release / "hosp/admissions.csv").write_text(
        "subject_id,hadm_id,admittime,dischtime,deathtime,admission_type,admit_provider_id,"
        "admission_location,discharge_location,insurance,language,marital_status,race\n"
        "101,1001,2180-05-06 22:23:00,2180-05-16 17:15:00,,URGENT,P,ER,HOME,Other,ENGLISH,M,W\n"
    )
    assert cli("db", "import", release, "--out", db, "--ehrsql").code == 0
    rows = ["a-1,101,501,,PA,1,1,21800510,93012,x", "b-1,101,502,,PA,1,1,21850510,93012,x"]
    folder = mimic(tmp_path / "cxr", rows)
    ran = cli("images", "add", folder, "--db", db)
    assert ran.code == 2 and "--mimic-iv DIR" in ran.err
    ran = cli("images", "add", folder, "--db", db, "--mimic-iv", release)
    assert ran.code == 0 and "1 after the end of the database" in ran.out
    with sqlite3.connect(db) as connection:
        admitted = connection.execute("SELECT admittime FROM admissions").fetchone()[0]
    connection.close()
    ((visit, when),) = studies(db, "hadm_id, studydatetime")
    assert visit == 1001 and when[11:] == "09:30:12"
    assert np.datetime64(when[:10]) - np.datetime64(admitted[:10]) == np.timedelta64(4, "D")


def test_real_images(cli, shared_data, tmp_path) -> None:
    db = tmp_path / "demo.sqlite"
    assert cli("db", "demo", "--out", db, "--patients", "5").code == 0
    folder = shared_data / "cxr" / "nih"
    ran = cli("images", "add", folder, "--db", db, "--new-patients", "--json")
    found = json.loads(ran.out)
    assert ran.code == 0 and found["bad"] == []
    assert found["added"] == len(list((folder / "images").iterdir()))
