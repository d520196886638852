"""A small vocabulary of the tests' own, so that nothing depends on a real EHR."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.demo.make import build_demo
from ehrqa_cli.sets.pairs.vocabulary import Vocabulary


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """Three or more made-up values of every kind."""
    values = {
        "drug": ("aspirin", "heparin", "furosemide", "vancomycin"),
        "route": ("iv", "po", "im"),
        "lab": ("creatinine", "sodium", "white blood cells"),
        "dx": ("sepsis", "pneumonia, unspecified", "type 2 diabetes mellitus"),
        "proc": ("thoracentesis", "hemodialysis", "spinal tap"),
        "intake": ("nacl 0.9%", "propofol", "po intake"),
        "output": ("foley", "void", "chest tube #1"),
        "specimen": ("urine", "sputum", "blood culture"),
        "mtest": ("gram stain", "urine culture", "fungal culture"),
        "organism": ("escherichia coli", "yeast", "candida albicans"),
        "careunit": ("medicine", "neurology", "vascular"),
        "admloc": ("emergency room", "physician referral", "clinic referral"),
        "admtype": ("urgent", "elective", "observation admit"),
        "dischloc": ("home", "hospice", "rehab"),
        "insurance": ("medicare", "medicaid", "other"),
        "language": ("english", "?"),
        "marital": ("single", "married", "widowed"),
    }
    return Vocabulary(
        values=values,
        patients=(10000032, 10001217, 10002428),
        years=(2100,),
        dictionary={"abbrev": ("hr", "spo2", "abps"), "dx": ("gas gangrene",)},
        lab_values={"creatinine": (0.7, 1.2, 4.0)},
    )


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "ehr.sqlite"
    build_demo(path, seed=3, patients=60)
    return path


@pytest.fixture(scope="session")
def database(demo: Path) -> Iterator[SqliteDatabase]:
    found = SqliteDatabase.open(demo)
    yield found
    found.close()
