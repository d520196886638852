"""Rankings of systems, against the figures that Kweon et al. 2024 publish (tables 4 to 6)."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from ehrqa_papers.rankings import agreement, rank_changes, ranks, read_systems

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.judge import Takes, takes

FIXTURES = Path(__file__).parent / "rankings"


def test_clinicians_as_published():
    systems = read_systems(FIXTURES / "clinicians.csv")
    assert len(systems.names) == 19 and systems.benchmark == "EHRNoteQA"
    found = {name: agreement(systems.scores, scores) for name, scores in systems.others}
    assert [round(found[name].spearman, 2) for name in "ABC"] == [0.74, 0.81, 0.77]
    # Table 5 prints 0.58, 0.65, 0.66; of its second the printed scores give 0.66.
    assert [round(found[name].kendall, 2) for name in "ABC"] == [0.58, 0.66, 0.66]


def test_rounds_as_published():
    with (FIXTURES / "takes.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    rounds = list(zip(*([float(cell) for cell in row[1:]] for row in rows), strict=True))
    assert rank_changes(rounds[:5]) == 12  # section 4.1, multi-choice
    assert rank_changes(rounds[5:]) == 29  # free text
    llama = next(row for row in rows if row[0] == "Llama-2-70b-chat-hf")
    found = Takes(tuple(float(cell) for cell in llama[1:6]))
    assert found.shown() == "84.65 ± 0.28"  # table 4: 84.652 ± 0.282


def test_ranks_and_rounds():
    assert ranks([3.0, 5.0, 3.0, 1.0]) == [2, 1, 2, 4]
    found = takes([[1.0, 1.0], [0.0, 1.0]])
    assert found is not None and found.scores == (50.0, 100.0) and found.mean == 75.0
    assert takes([]) is None and Takes((50.0,)).deviation == 0.0
    assert agreement([1.0, 1.0], [1.0, 2.0]).spearman is None
    with pytest.raises(EvaluationError):
        agreement([1.0], [1.0, 2.0])


@pytest.mark.parametrize("text", ["", "a,b,c\nx,1\n", "a,b,c\nx,1,2\ny,one,2\n"])
def test_other_tables(tmp_path, text):
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(EvaluationError) as error:
        read_systems(path)
    assert "header" in error.value.hint
