"""A real linker over a handful of values."""

from __future__ import annotations

from functools import cache

from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.text2sql.linking import Linker

HER, HIM = 10018081, 10014729


@cache
def linker() -> Linker:
    strings = {
        "lab": ("creatinine", "potassium", "sodium", "platelet count", "glucose"),
        "drug": ("heparin", "aspirin", "warfarin"),
        "dx": ("severe sepsis without septic shock", "unspecified essential hypertension"),
        "vital": ("daily weight", "heart rate"),
    }
    return Linker(ValueIndex(strings, frozenset({HER, HIM}), years=(2099, 2100)))
