"""``ehrqa eval``: every benchmark reads its own layout, and every baseline scores what it must."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
from ehrqa_papers import systems as papers
from eval_trees import TREES, ehrsql_2024

from ehrqa_cli.evaluate import systems
from ehrqa_cli.evaluate.fewshot import Example, FewShot, Written

# What the gold answers score, by the names that each report has: all are to be 100 (or 1).
GOLD_SCORES: dict[str, Any] = {
    "spider": lambda r: [r["scores"]["all"]["exact"], r["scores"]["all"]["execution"]],
    "ehrsql-2022": lambda r: [*r["overall"]["rs"].values(), r["overall"]["rs_n"]],
    "ehrsql-2024": lambda r: [*r["overall"]["rs"].values(), r["overall"]["rs_n"]],
    "ehrxqa": lambda r: [
        r["scores"]["all"][name]["value"] for name in ("acc_lf", "acc_ex_gt", "acc_ex_pred")
    ],
    "mimic-cxr-vqa": lambda r: [r["scores"]["all"][name]["value"] for name in ("accuracy",)],
    "ehrnoteqa": lambda r: [r["scores"]["accuracy"]["value"]],
    "emrqa": lambda r: [r["scores"]["em"]["value"], r["scores"]["f1"]["value"]],
}
RATE = {"ehrsql-2022": 100.0, "ehrsql-2024": 100.0}


def report_of(cli: Any, *args: object) -> Any:
    ran = cli("eval", *args, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


@pytest.mark.parametrize("name", GOLD_SCORES)
def test_gold_scores_100_on_the_own_layout(cli: Any, tmp_path: Path, name: str) -> None:
    found = report_of(cli, *TREES[name](tmp_path / "data"), "--system", "gold")
    assert set(GOLD_SCORES[name](found)) == {RATE.get(name, 1.0)}, found


def test_gold_of_the_open_noteqa_cites_its_evidence(cli: Any, tmp_path: Path) -> None:
    note = {"note_id": "n", "patient_id": "7", "charttime": "2010-01-01", "text": "Takes 40 mg."}
    (tmp_path / "notes.jsonl").write_text(json.dumps(note))
    row = {"id": "q", "patient_id": "7", "question": "Dose?", "choices": {"A": "40 mg"}}
    row |= {"answer": "A", "evidence": [{"note_id": "n", "text": "Takes 40 mg."}]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row))
    found = report_of(cli, "ehrnoteqa", "--data", tmp_path, "--system", "gold")
    assert found["scores"]["evidence"]["top_1"]["answered"]["value"] == 1.0


@pytest.mark.parametrize("name", ["ehrsql-2022", "ehrsql-2024"])
def test_declining_everything_scores_the_share_without_an_answer(
    cli: Any, tmp_path: Path, name: str
) -> None:
    found = report_of(cli, *TREES[name](tmp_path / "data"), "--system", "abstain")["overall"]
    share = 100.0 * (found["questions"] - found["answerable"]) / found["questions"]
    assert share in (20.0, pytest.approx(100 / 3))
    assert {*found["rs"].values(), found["rs_n"]} == {share}
    assert found["answered"] == found["correct"] == 0


@pytest.mark.parametrize("name", [n for n in TREES if n != "abstention"])
def test_declining_everything_answers_nothing(cli: Any, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    report_of(cli, *TREES[name](tmp_path / "data"), "--system", "abstain", "--out", out)
    records = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()][1:]
    assert records and not any(r.get("correct") or r.get("em") for r in records)
    assert {r.get("status", "abstained") for r in records} <= {"abstained"}


@pytest.mark.parametrize("split", ["train", "valid"])
def test_on_the_published_ehrsql(cli: Any, shared_data: Path, split: str) -> None:
    """Gold 100 for every penalty; declining scores exactly the share without an answer."""
    folder = shared_data / "ehrsql-2024"
    args = ("ehrsql", "--data", folder, "--split", split, "--db", folder / "mimic_iv.sqlite")
    # With ALL_GOLD=1 all of them, which needs some minutes.
    few = () if os.environ.get("ALL_GOLD") else ("--limit", 300)
    found = report_of(cli, *args, *few, "--system", "gold")["overall"]
    assert {*found["rs"].values(), found["rs_n"], found["f1_exe"]} == {100.0}
    found = report_of(cli, *args, "--system", "abstain")["overall"]
    none, n = {"train": (450, 5124), "valid": (232, 1163)}[split]
    assert (found["questions"] - found["answerable"], found["questions"]) == (none, n)
    assert {*found["rs"].values(), found["rs_n"]} == {100.0 * none / n}


def test_constant_answers_and_priors(cli: Any, tmp_path: Path) -> None:
    args = TREES["ehrxqa"](tmp_path / "xqa")

    def accuracy(system: str) -> float:
        found = report_of(cli, *args, "--system", system)["scores"]["all"]
        return float(found["acc_ex_pred"]["value"])

    assert accuracy("always-yes") == pytest.approx(1 / 3) and accuracy("always-no") == 0.0
    # Train has the same answers: per template all are right; of all, 2 is first of three alike.
    assert accuracy("most-common-per-template") == 1.0
    assert accuracy("most-common") == pytest.approx(1 / 3)
    args = TREES["mimic-cxr-vqa"](tmp_path / "vqa")
    found = report_of(cli, *args, "--system", "most-common")
    assert found["scores"]["all"]["accuracy"]["value"] == pytest.approx(1 / 3)
    assert found["header"]["predictor"]["chosen on"].startswith("train (")


def test_choosing_options_unread(cli: Any, tmp_path: Path) -> None:
    args = TREES["ehrnoteqa"](tmp_path / "data")

    def accuracy(*more: object) -> float:
        found = report_of(cli, *args, *more)
        return float(found["scores"]["accuracy"]["value"])

    assert accuracy("--system", "most-common") == 1.0  # the others' answers are all B
    assert accuracy("--system", "longest") == 0.0  # "100 mg"
    drawn = [accuracy("--system", "random", "--seed", k) for k in range(8)]
    assert drawn[0] == accuracy("--system", "random", "--seed", 0) and len(set(drawn)) > 1
    ran = cli("eval", *args, "--format", "free-text", "--system", "longest")
    assert ran.code == 2 and "chooses among options" in ran.err


def test_the_query_of_the_nearest_question(cli: Any, tmp_path: Path) -> None:
    args = TREES["ehrsql-2024"](tmp_path / "data")
    out = tmp_path / "out"
    found = report_of(cli, *args, "--system", "nearest", "--out", out)
    # "question b of valid" is nearest to "question b of train", whose query is the same; of the
    # two without an answer train has the very words, and what is measured is never shown.
    assert found["overall"]["correct"] == 4 and found["header"]["predictor"]["examples"] == 4
    told = json.loads((out / "predictions.json").read_text())
    assert told["validb"] == "SELECT valuenum FROM labevents WHERE subject_id = 101"


@pytest.mark.parametrize("name", TREES)
def test_a_file_is_a_system_and_others_are_told(cli: Any, tmp_path: Path, name: str) -> None:
    args = TREES[name](tmp_path / "data")
    ran = cli("eval", *args, "--system", "nobody")
    assert ran.code in (1, 2) and "there is no system 'nobody'" in ran.err
    assert "gold, abstain" in ran.err and len(ran.err.splitlines()) == 2


def test_predictions_and_system_exclude_each_other(cli: Any, tmp_path: Path) -> None:
    args = ehrsql_2024(tmp_path / "data")
    given = {f"valid{k}": None for k in "abcdef"}
    path = tmp_path / "p.json"
    path.write_text(json.dumps(given))
    by_system = report_of(cli, *args, "--system", path)
    by_predictions = report_of(cli, *args, "--predictions", path)
    assert by_system == by_predictions and by_system["overall"]["rs"]["0"] == pytest.approx(100 / 3)
    ran = cli("eval", *args, "--system", "gold", "--predictions", path)
    assert ran.code == 2 and "exclude each other" in ran.err


@pytest.mark.parametrize("name", TREES)
def test_every_system_is_in_the_help(cli: Any, name: str) -> None:
    known = {
        "spider": papers.SPIDER,
        "ehrsql-2022": systems.EHRSQL,
        "ehrsql-2024": systems.EHRSQL,
        "abstention": {"ours": "", "gold": "", "abstain": ""},
        "ehrxqa": systems.EHRXQA,
        "mimic-cxr-vqa": systems.CXR_VQA,
        "ehrnoteqa": systems.EHRNOTEQA,
        "emrqa": {**papers.EMR_EVIDENCE, **papers.EMR_CLASSES, **papers.EMR_FORMS},
    }[name]
    command = "ehrsql" if name.startswith("ehrsql") else name
    shown = "".join(cli("eval", command, "--help").out.split()).replace("-", "")
    assert [s for s in known if s.replace("-", "") not in shown] == []


def test_records_say_all_that_they_must(cli: Any, tmp_path: Path) -> None:
    """Question, gold, prediction, score, why, and in the header hashes of data, model and code."""
    for name, tree in TREES.items():
        out = tmp_path / f"{name}-out"
        extra = () if name != "abstention" else ("--ablation", "4-4-1")
        ran = cli("eval", *tree(tmp_path / name), "--system", "gold", "--out", out, *extra)
        assert ran.code == 0, (name, ran.err)
        lines = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
        header, records = lines[0]["header"], lines[1:]
        assert len(header["dataset_sha256"]) in (16, 64) and len(header["code"]) == 16, name
        assert header.get("predictor") or header.get("predictors"), name
        for record in records:
            assert {"id", "gold", "run"} <= set(record), name
            assert record.get("question") or name == "spider", name
            assert "prediction" in record or "systems" in record, name
            assert {"correct", "em", "systems"} & set(record), name
            assert "timings" not in record and "seconds" not in record, name
        assert (out / "report.json").is_file() and (out / "report.md").is_file(), name
        assert (out / "timings.jsonl").is_file(), name


@pytest.mark.parametrize("name", TREES)
def test_each_can_be_compared_and_drawn(cli: Any, tmp_path: Path, name: str) -> None:
    args = TREES[name](tmp_path / "data")
    for system in ("gold", "abstain"):
        more = ("--html", "--out", tmp_path / system, "--system", system)
        more = (*more, "--system", "gold") if name == "abstention" and system != "gold" else more
        ran = cli("eval", *args, *more)
        assert ran.code == 0, ran.err
    page = (tmp_path / "gold" / "report.html").read_text()
    assert "How the questions ended" in page and "<script" not in page
    ran = cli("eval", "compare", tmp_path / "gold", tmp_path / "abstain", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    if name == "abstention":  # the system that both have does not differ from itself
        assert {d["difference"] for d in found["differences"]} == {0.0}
    else:
        assert any(d["a"] == 100.0 and d["b"] < 100.0 for d in found["differences"])
        assert found["changes"]


@pytest.mark.parametrize("system", ["fewshot-fixed", "fewshot-bm25"])
@pytest.mark.parametrize("name", ["ehrxqa", "ehrsql-2024"])
def test_a_model_that_is_shown_examples(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, system: str
) -> None:
    """The model is made up: it copies the query of the most similar question."""

    class Copies:
        opened: ClassVar[list[tuple[str, int]]] = []

        def __init__(self, model: Path, examples: list[Example], **options: Any) -> None:
            self.opened.append((model.name, len(examples)))
            assert options["schema"]["patients"] and options["shots"] == 3
            self.system, self.examples = options["choose"], examples

        def write(self, question: str) -> Written:
            words = set(question.split())
            query = max(self.examples, key=lambda e: len(words & set(e.question.split()))).query
            return Written(None if query == "null" else query, {"read": 0.5, "write": 0.25})

        def provenance(self) -> dict[str, Any]:
            return {"system": self.system, "sha256": "0"}

        def close(self) -> None:
            self.opened.append(("closed", 0))

    monkeypatch.setattr(FewShot, "open", Copies)
    args = TREES[name](tmp_path / "data")
    out = tmp_path / "out"
    found = report_of(
        cli, *args, "--system", system, "--model", "m.gguf", "--shots", 3, "--out", out
    )
    # Those without an answer are shown of EHRSQL only; what is measured never is.
    shown = 4 if name == "ehrsql-2024" else 3
    assert Copies.opened == [("m.gguf", shown), ("closed", 0)]
    assert found["header"]["predictor"] == {"system": system, "sha256": "0"}
    records = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()][1:]
    assert sum(r["correct"] for r in records) >= 1
    seconds = json.loads((out / "timings.jsonl").read_text().splitlines()[0])
    assert (seconds["read"], seconds["write"]) == (0.5, 0.25) and seconds["total"] >= 0.75


def test_an_abstention_study_on_one_page(cli: Any, tmp_path: Path) -> None:
    """Each system by itself: what one declines another may have answered."""
    args = TREES["abstention"](tmp_path / "data")
    flags = ("--system", "gold", "--system", "abstain", "--ablation", "4-4-1", "--html")
    ran = cli("eval", *args, *flags, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    page = (tmp_path / "out" / "report.html").read_text()
    parts = {}
    for part in page.split("<h3>")[1:]:
        name, _, rest = part.partition("</h3>")
        cells = rest.split("</table>")[0].replace("</td>", "|").replace("</tr>", "\n")
        rows = re.sub("<[^>]+>", "", cells).split("\n")
        parts[name] = [row.split("|")[:-1] for row in rows if row.startswith("have")]
    assert set(parts) >= {"gold", "abstain", "gold: Entropy", "abstain: Beam + Ngram"}
    assert parts["gold"][0][:3] == ["have an answer", "4", "4 (100.0%)"]
    assert parts["abstain"][0] == [
        *parts["abstain"][0][:2],
        "0 (0.0%)",
        "0 (0.0%)",
        "4 (100.0%)",
        "0 (0.0%)",
    ]
    # The methods are measured on the new test set only: half of those with an answer.
    assert parts["gold: Entropy"][0][:3] == ["have an answer", "2", "2 (100.0%)"]
    assert "answers of all systems" in page
    record = json.loads((tmp_path / "out" / "records.jsonl").read_text().splitlines()[1])
    assert record["systems"]["gold"]["prediction"] == record["gold"]
    assert record["part"] in ("valid", "test")


def test_queries_with_scores_of_another_system(cli: Any, tmp_path: Path) -> None:
    args = TREES["abstention"](tmp_path / "data")
    golds = json.loads((tmp_path / "data" / "valid" / "label.json").read_text())
    lines = [
        {
            "id": key,
            "prediction": "SELECT COUNT(*) FROM patients" if sql == "null" else sql,
            "scores": {"max_entropy": 2.0 if sql == "null" else 0.1},
        }
        for key, sql in golds.items()
    ]
    path = tmp_path / "theirs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    flags = ("--system", f"theirs={path}", "--ablation", "4-4-1", "--out", tmp_path / "out")
    ran = cli("eval", *args, *flags)
    assert ran.code == 0, ran.err
    table = ran.out.partition("Table 2")[2].partition("Table 3")[0]
    rows = {row.split("\t")[0]: row.split("\t")[1:5] for row in table.splitlines() if "\t" in row}
    # Its entropy tells every question without an answer; it has no beam score to tell any by.
    assert rows["Entropy"] == ["100.0"] * 4
    assert rows["Beam *"][1] == "66.7"
    path.write_text(json.dumps([{"id": key, "prediction": 1} for key in golds]))
    ran = cli("eval", *args, *flags[:4])
    assert ran.code == 1 and "no predictions with scores" in ran.err
    ran = cli("eval", *args, "--system", f"a={path}", "--system", f"a={path}")
    assert ran.code == 1 and "given twice" in ran.err


def test_a_split_of_emrqa(cli: Any, tmp_path: Path) -> None:
    args = TREES["emrqa"](tmp_path / "data")
    whole = tmp_path / "data" / "data.json"
    whole.rename(whole.with_name("dev.json"))
    (tmp_path / "data" / "test.json").write_text("[]")
    found = report_of(cli, *args, "--split", "dev", "--system", "gold")
    assert (found["header"]["split"], found["header"]["questions"]) == ("dev", 4)
    ran = cli("eval", *args, "--split", "train", "--system", "gold")
    assert ran.code == 1 and "expected one of train.json" in ran.err


def test_classes_and_forms_by_name(cli: Any, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="classes need the eval extra")
    qas = [
        {"id": [], "question": ["smoker ?"], "answers": [{"text": kind}]}
        for kind in ("never", "current", "never")
    ]
    paragraphs = [{"note_id": k, "context": f"note {k}", "qas": [qas[k % 3]]} for k in range(20)]
    (tmp_path / "data.json").write_text(
        json.dumps({"data": [{"title": "smoking", "paragraphs": paragraphs}]})
    )
    args = ("emrqa", "--data", tmp_path, "--task", "classes")
    found = report_of(cli, *args, "--system", "gold")
    assert found["scores"]["accuracy"] == {"gold": 1.0}
    found = report_of(cli, *args, "--system", "majority")
    assert list(found["scores"]["accuracy"]) == ["majority"]
    ran = cli("eval", *args, "--system", "bm25")
    assert ran.code == 2 and "the systems are majority, tfidf, cues, gold, abstain" in ran.err
