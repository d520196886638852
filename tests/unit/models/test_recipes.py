"""Smoke tests of the training recipes: their imports are there, their help is shown, fits fit.

The trainer's packages (torch and the like) need not be installed; a recipe that needs them at its
top is then skipped, but for the names that it takes from this program.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

MODELS = Path(__file__).parents[3] / "models"
RECIPES = sorted(MODELS.glob("*/*.py"))
TRAINERS = ("torch", "transformers", "gguf", "onnx", "efficientnet")


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def taken(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of what a recipe imports from the program."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ehrqa_cli"):
            for alias in node.names:
                yield str(node.module), alias.name


@pytest.mark.parametrize("path", RECIPES, ids=name_of)
def test_what_a_recipe_takes_from_the_program_is_there(path: Path) -> None:
    for module, name in taken(path):
        found = importlib.import_module(module)
        if not hasattr(found, name):  # a module of the package, then
            importlib.import_module(f"{module}.{name}")


@pytest.mark.parametrize(
    "path", [p for p in RECIPES if "ArgumentParser(" in p.read_text("utf-8")], ids=name_of
)
def test_the_help_of_a_recipe_is_shown(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(path), "--help"], capture_output=True, text=True, check=False
    )
    missing = [name for name in TRAINERS if f"No module named '{name}" in done.stderr]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("usage:")


@pytest.fixture
def of_notes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the note reader's recipe, importable, and forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(MODELS / "note_reader"))
    yield MODELS / "note_reader"
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(MODELS)):
            del sys.modules[name]


def test_a_telling_feature_gets_the_weight(of_notes: Path) -> None:
    rng = np.random.default_rng(0)
    truth = [bool(value) for value in rng.random(200) < 0.5]
    told = [
        {"tells": float(true) + 0.1 * rng.normal(), "noise": rng.normal(), "one": 1.0}
        for true in truth
    ]
    recipe, confidence = importlib.import_module("recipe"), importlib.import_module("confidence")
    for weights in (
        recipe.fit_null(told, truth, [1.0] * len(truth), 0.001),
        confidence.logistic([(x, y, 0) for x, y in zip(told, truth, strict=True)], 0.001),
    ):
        assert weights["tells"] > 10 * abs(weights["noise"])
        scores = [sum(weights[name] * x[name] for name in weights) for x in told]
        assert (
            np.mean([(score > 0) == true for score, true in zip(scores, truth, strict=True)]) > 0.97
        )


def test_the_questions_that_weights_are_fitted_on_are_not_those_of_the_tests(
    of_notes: Path,
) -> None:
    recipe = importlib.import_module("recipe")
    assert all((folder / "questions.jsonl").is_file() for folder in recipe.SETS)
    for path in RECIPES:
        text = path.read_text(encoding="utf-8")
        assert '"tests"' not in text and "tests/benchmarks" not in text, path
