"""Questions about images: answered with a reader of scene graphs, declined where it cannot see."""

from __future__ import annotations

from pathlib import Path

import pytest

from ehrqa_cli.cli.image_options import read_graphs
from ehrqa_cli.contracts.types import LinkedQuestion, Query, Question, Status
from ehrqa_cli.engine import Session, ask
from ehrqa_cli.engine.risk import Thresholds


class Writes:
    """A model that writes one form."""

    name = "writes"

    def __init__(self, form: str) -> None:
        self.form = form

    def generate(self, linked: LinkedQuestion, on_token: object = None) -> list[Query]:
        return [Query(neuralsql=None, logical_form=self.form, scores={})]

    def provenance(self) -> dict[str, str]:
        return {"name": self.name}


@pytest.fixture
def data(shared_data: Path) -> Path:
    return shared_data / "ehrxqa-open"


def session(data: Path, form: str, read: bool) -> Session:
    return Session(
        data / "mimic_iv_cxr.sqlite",
        model=Writes(form),  # type: ignore[arg-type]
        thresholds=Thresholds.off(),
        judge=None,
        graphs=read_graphs(data) if read else None,
    )


def test_a_group_question_is_answered_with_its_evidence(data: Path) -> None:
    form = "count_patients study showing ( abnormality )"
    with session(data, form, read=True) as opened:
        answer = ask(Question("how many patients had a study showing any abnormality?"), opened)
    assert answer.status is Status.ANSWERED, answer.text
    assert answer.scope.value == "image"
    assert isinstance(answer.rows[0][0], int) and answer.rows[0][0] > 0
    seen = [e for e in answer.evidence if e["kind"] == "image"]
    assert seen and all(0 <= e["probability"] <= 1 for e in seen)
    assert answer.provenance["models"]["images"]


def test_without_a_reader_it_is_declined(data: Path) -> None:
    with session(data, "count study showing ( abnormality )", read=False) as opened:
        answer = ask(Question("how many studies show any abnormality?"), opened)
    assert answer.status is Status.ABSTAINED
    assert answer.reason_kind == "out_of_scope"


def test_one_study_by_its_number(data: Path) -> None:
    with session(data, "exists finding abnormality of ( study #1 )", read=True) as opened:
        found = opened.database.execute("SELECT max(study_id) FROM tb_cxr")
        answer = ask(Question(f"any abnormality in study {found.rows[0][0]}?"), opened)
    assert answer.status is Status.ANSWERED, answer.text
    assert answer.value in (0, 1)


@pytest.mark.parametrize(
    ("text", "study", "said"),
    [
        ("Given study {0}, is this an {1} view?", None, "yes"),
        ("In the chest X-ray study {0}, which view is in this image, AP or PA?", None, "{1}"),
        ("What is the view of this image?", 0, "{1}"),
        ("Given the study {0}, what is the gender of this patient?", None, "{2}"),
    ],
)
def test_view_and_sex_of_one_study(data: Path, text: str, study: int | None, said: str) -> None:
    """They need no model: the image reader's own words are asked."""
    first = (data / "studies.tsv").read_text(encoding="utf-8").splitlines()[:2]
    row = dict(zip(first[0].split("\t"), first[1].split("\t"), strict=True))
    number, view, sex = row["study_id"], row["view"], row["gender"]
    question = Question(text.format(number, view), study_id=None if study is None else int(number))
    with session(data, "not a form at all (", read=True) as opened:
        answer = ask(question, opened)
    assert answer.status is Status.ANSWERED, answer.text
    assert answer.text.lower() == f"study {number}: {said.format(number, view, sex)}.".lower()
    assert answer.scope.value == "image" and answer.neuralsql and answer.confidence == 1.0


def test_a_width_of_one_study_is_read_whole(data: Path) -> None:
    """One study on either side of the limit."""
    rows = [line.split("\t") for line in (data / "studies.tsv").read_text().splitlines()]
    studies = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    with session(data, "not a form at all (", read=True) as opened:
        for wide in (True, False):
            study = next(s for s in studies if s["ctr"] and (float(s["ctr"]) > 0.5) == wide)
            asked = "is the width of the cardiac silhouette wider than 1/2 of the thorax width?"
            answer = ask(Question(f"Given the study {study['study_id']}, {asked}"), opened)
            assert answer.rows == ((int(wide),),), answer.text


def test_an_unknown_study_is_declined(data: Path) -> None:
    with session(data, "not a form at all (", read=True) as opened:
        answer = ask(Question("Given study 1, is this an AP view?"), opened)
    assert answer.status is Status.ABSTAINED and "study 1" in (answer.reason or "")


@pytest.mark.parametrize("theirs", [True, False])
def test_the_patient_of_a_named_study_needs_no_word_in_the_query(data: Path, theirs: bool) -> None:
    """The study says whose it is, if it is theirs; another's is not told of them."""
    with session(data, "exists finding abnormality of ( study #1 )", read=True) as opened:
        opened.thresholds = Thresholds(limit=None)
        sign = "=" if theirs else "<>"
        (found,) = opened.database.execute(
            "SELECT min(a.study_id), min(b.subject_id) FROM tb_cxr AS a, tb_cxr AS b "
            "WHERE a.study_id = (SELECT min(study_id) FROM tb_cxr) "
            f"AND b.subject_id {sign} a.subject_id"
        ).rows
        asked = f"any abnormality in study {found[0]} of patient {found[1]}?"
        opened.tentative = not theirs  # no doubt, so that even this runs no reading
        answer = ask(Question(asked), opened)
    assert answer.status is (Status.ANSWERED if theirs else Status.ABSTAINED), answer.text
    assert theirs or "is not one of patient" in (answer.reason or "")
