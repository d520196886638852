"""The demo EHR's vocabulary (demo.toml), read into records."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("demo.toml")
FIRST_LAB = 50801


@dataclass(frozen=True)
class Lab:
    """A lab test; ``low`` and ``high`` bound its reference range."""

    itemid: int
    label: str
    unit: str
    low: float
    high: float
    decimals: int
    panel: str


@dataclass(frozen=True)
class Drug:
    """A drug with its usual doses and routes."""

    name: str
    unit: str
    doses: tuple[float, ...]
    routes: tuple[str, ...]


@dataclass(frozen=True)
class Vital:
    """A vital sign with its usual value and spread."""

    itemid: int
    label: str
    short: str
    unit: str
    usual: float
    spread: float
    decimals: int


@dataclass(frozen=True)
class Fluid:
    """What goes in or comes out, with least and greatest volume in ml."""

    itemid: int
    label: str
    short: str
    least: float
    most: float


@dataclass(frozen=True)
class Culture:
    """A microbiology test and what may grow ("-" is nothing)."""

    specimen: str
    test: str
    organisms: tuple[str, ...]


@dataclass(frozen=True)
class Story:
    """Why a patient comes, and what that brings with it."""

    name: str
    weight: float
    age: tuple[int, int]
    dx: tuple[str, ...]
    drugs: tuple[str, ...]
    labs: dict[str, float]
    procedures: tuple[str, ...]
    icu: float
    units: tuple[str, str]
    cultures: tuple[str, ...]
    vitals: dict[str, float]
    death: float
    days: float
    planned: bool


@dataclass(frozen=True)
class Vocabulary:
    """All of demo.toml."""

    labs: dict[str, Lab]
    drugs: dict[str, Drug]
    diagnoses: dict[str, str]
    procedures: dict[str, str]
    vitals: tuple[Vital, ...]
    intake: tuple[Fluid, ...]
    output: tuple[Fluid, ...]
    cultures: dict[str, Culture]
    chronic: dict[str, tuple[float, tuple[str, ...]]]
    everyone: tuple[str, ...]
    stories: tuple[Story, ...]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(" | ")]


def _lab(number: int, line: str) -> Lab:
    label, unit, low, high, decimals, panel = _cells(line)
    return Lab(FIRST_LAB + number, label, unit, float(low), float(high), int(decimals), panel)


def _drug(line: str) -> Drug:
    name, unit, doses, routes = _cells(line)
    return Drug(name, unit, tuple(map(float, doses.split(", "))), tuple(routes.split(", ")))


def _vital(itemid: str, line: str) -> Vital:
    label, short, unit, usual, spread, decimals = _cells(line)
    return Vital(int(itemid), label, short, unit, float(usual), float(spread), int(decimals))


def _fluid(itemid: str, line: str) -> Fluid:
    label, short, least, most = _cells(line)
    return Fluid(int(itemid), label, short, float(least), float(most))


def _culture(line: str) -> Culture:
    specimen, test, organisms = _cells(line)
    return Culture(specimen, test, tuple(organisms.split(", ")))


def _story(raw: dict[str, Any]) -> Story:
    fields: dict[str, Any] = {"planned": False}
    for key, value in raw.items():
        fields[key] = tuple(value) if isinstance(value, list) else value
    return Story(**fields)


@cache
def vocabulary() -> Vocabulary:
    """Read demo.toml once."""
    with _FILE.open("rb") as file:
        raw = tomllib.load(file)
    labs = [_lab(i, line) for i, line in enumerate(raw["labs"])]
    drugs = [_drug(line) for line in raw["drugs"]]
    codes = {kind: [_cells(line) for line in raw[kind]] for kind in ("diagnoses", "procedures")}
    return Vocabulary(
        labs={lab.label: lab for lab in labs},
        drugs={drug.name: drug for drug in drugs},
        diagnoses={f"icd10|{code}": title for code, title in codes["diagnoses"]},
        procedures={f"icd10|{code}": title for code, title in codes["procedures"]},
        vitals=tuple(_vital(k, v) for k, v in raw["vitals"].items()),
        intake=tuple(_fluid(k, v) for k, v in raw["intake"].items()),
        output=tuple(_fluid(k, v) for k, v in raw["output"].items()),
        cultures={k: _culture(v) for k, v in raw["cultures"].items()},
        chronic={f"icd10|{k}": (v[0], tuple(v[1:])) for k, v in raw["chronic"].items()},
        everyone=tuple(raw["everyone"]["drugs"]),
        stories=tuple(_story(s) for s in raw["story"]),
    )
