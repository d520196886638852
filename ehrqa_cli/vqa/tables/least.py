"""How sure the least certain answer about many studies is, by one look at the tables."""

from __future__ import annotations

import numpy as np

from ehrqa_cli.vqa import evaluate
from ehrqa_cli.vqa.matrix import Known
from ehrqa_cli.vqa.program import HEART, MEDIASTINUM, SEX, VIEW, Program
from ehrqa_cli.vqa.tables.sets import RELATIONS, STUDIES
from ehrqa_cli.vqa.thresholds import VqaThresholds

_FACTS = {VIEW: "pa", SEX: "female", HEART: "ctr", MEDIASTINUM: "mtr"}


def least_sql(program: Program, known: Known, thresholds: VqaThresholds, among: str) -> str:
    """The SQL of one number: the least certainty with which a fact that the answers rest on is
    told of the studies that ``among`` selects (of a width: how near it comes to the limit).

    NULL where every fact is certain. No answer is less certain than the least of its facts.
    """
    if program.ask not in _FACTS:
        return _of_relations(program, known, thresholds, among)
    column = f"s.{_FACTS[program.ask]}"
    if program.ask in (VIEW, SEX):
        limit = thresholds.view if program.ask == VIEW else thresholds.sex
        sure = _sure(column, f"{column} >= {limit!r}")
        where = ""
    else:
        sure = f"ABS( {column} - {program.limit!r} )"
        where = f" AND {sure} >= {thresholds.margin!r}"
    return f"SELECT MIN( {sure} ) FROM {STUDIES} AS s WHERE s.study_id IN ( {among} ){where}"


def _of_relations(program: Program, known: Known, thresholds: VqaThresholds, among: str) -> str:
    groups: dict[float, list[int]] = {}
    cells = evaluate.cells_of(program, known)
    for column in sorted({k for cell in cells for k in known.columns(cell)}):
        # Probabilities are held with 32 bits; the threshold must be rounded as they are.
        limit = float(np.float32(thresholds.of(known.coverage.relations[column])))
        groups.setdefault(limit, []).append(column)
    if not groups:
        return ""
    parts = [
        f"SELECT {_sure('r.probability', f'r.probability >= {limit!r}')} AS sure "
        f"FROM {RELATIONS} AS r WHERE r.relation IN ( {', '.join(map(str, columns))} ) "
        f"AND r.study_id IN ( {among} )"
        for limit, columns in sorted(groups.items())
    ]
    return f"SELECT MIN( sure ) FROM ( {' UNION ALL '.join(parts)} ) AS facts"


def _sure(p: str, yes: str) -> str:
    return f"CASE WHEN {yes} THEN {p} ELSE 1 - {p} END"
