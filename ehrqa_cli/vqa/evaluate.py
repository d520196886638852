"""A program on a matrix of scene graphs: three-valued truths, or sets of names.

The uncertain decides nothing: an answer that would need a relation the source cannot see stays
unknown, while a yes that is sure without it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import numpy.typing as npt

from ehrqa_cli.contracts.images import ANYWHERE, Relation
from ehrqa_cli.ehr.cxr_vocabulary import OBJECTS
from ehrqa_cli.vqa.matrix import Bools, Known, Matrix, Truth
from ehrqa_cli.vqa.ontology import members
from ehrqa_cli.vqa.program import (
    HEART,
    NAME,
    PLACE,
    RATIOS,
    SEX,
    VIEW,
    Expr,
    Leaf,
    Program,
    leaves,
)

# Of each name the truth that it belongs to the set, over the studies.
Named = dict[str, Truth]
_FIELDS = {VIEW: "pa", SEX: "female"}
NAMES_OF = {VIEW: ("AP", "PA"), SEX: ("male", "female")}


def truth(program: Program, matrix: Matrix) -> Truth:
    """The answer to a verify program over all studies of the matrix."""
    if program.ask in _FIELDS:
        return _binary(program, matrix)[program.option]
    if program.expr is None:
        return _width(program, matrix)
    return _truth(program.expr, matrix)


def names(program: Program, matrix: Matrix) -> Named:
    """The answer to any other program: what belongs to the set, over all studies."""
    if program.ask in _FIELDS:
        return _binary(program, matrix)
    assert program.expr is not None
    return _set(program.expr, _names_of if program.ask == NAME else _places_of, matrix)


def ratios(program: Program, matrix: Matrix) -> tuple[npt.NDArray[np.float64], Bools]:
    """The ratio that a program asks for, over all studies, and where it is known."""
    return matrix.column_of(RATIOS[program.ask])


def _truth(expr: Expr, matrix: Matrix) -> Truth:
    if isinstance(expr, Leaf):
        return matrix.any_of(expr.finding, expr.place)
    parts = [_truth(part, matrix) for part in expr.parts]
    if expr.op == "none":
        return ~parts[0]
    if expr.op == "not":
        return reduce(lambda a, b: a & ~b, parts)
    return reduce(lambda a, b: a & b if expr.op == "and" else a | b, parts)


def _binary(program: Program, matrix: Matrix) -> Named:
    values, known = matrix.column_of(_FIELDS[program.ask])
    limits = matrix.thresholds
    yes = (values >= (limits.view if program.ask == VIEW else limits.sex)) & known
    second = Truth(yes, yes | ~known, values.astype(np.float32))
    first, other = NAMES_OF[program.ask]
    return {first: ~second, other: second}


def _width(program: Program, matrix: Matrix) -> Truth:
    name = "heart" if program.ask == HEART else "mediastinum"
    values, known = matrix.column_of(name)
    wide = values < program.limit if program.below else values > program.limit
    # Of a ratio so near to the limit the error of measuring it decides: nothing is said.
    known = known & (np.abs(values - program.limit) >= matrix.thresholds.margin)
    yes = wide & known
    sure = certainty(np.abs(values - program.limit))
    p = np.where(wide, sure, 1 - sure).astype(np.float32)
    return Truth(yes, yes | ~known, p)


def certainty(distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What a ratio is worth at a ``distance`` from the limit. A measured ratio is no probability:
    near the limit it is worth little, far from it much."""
    return np.asarray(1 / (1 + np.exp(-distance * 40)))


def _set(expr: Expr, leaf: Callable[[Leaf, Matrix], Named], matrix: Matrix) -> Named:
    if isinstance(expr, Leaf):
        return leaf(expr, matrix)
    if expr.op == "none":
        universe = _set(expr.parts[0], leaf, matrix)
        return {name: ~found for name, found in universe.items()}
    parts = [_set(part, leaf, matrix) for part in expr.parts]
    if expr.op == "or":
        return reduce(_either, parts)
    if expr.op == "and":
        return reduce(_both, parts)
    first, *rest = parts
    gone = reduce(_either, rest)
    return {name: found & ~gone[name] if name in gone else found for name, found in first.items()}


def _either(a: Named, b: Named) -> Named:
    out = dict(a)
    for name, found in b.items():
        out[name] = out[name] | found if name in out else found
    return out


def _both(a: Named, b: Named) -> Named:
    return {name: found & b[name] for name, found in a.items() if name in b}


def _names_of(leaf: Leaf, matrix: Matrix) -> Named:
    place = leaf.place or ANYWHERE
    possible = [a for a in members(leaf.finding) if matrix.known.can_be((place, a))]
    return {name: matrix.cell((place, name)) for name in possible}


def _places_of(leaf: Leaf, matrix: Matrix) -> Named:
    wanted = [leaf.place] if leaf.place else list(OBJECTS)
    out: Named = {}
    for place in wanted:
        cells = _cells(leaf.finding, place, matrix.known)
        if cells:
            out[place] = matrix.union(cells)
    return out


def _cells(finding: str, place: str, known: Known) -> list[Relation]:
    return [(place, name) for name in members(finding) if known.can_be((place, name))]


def cells_of(program: Program, known: Known) -> list[Relation]:
    """Every relation that the answer could rest on."""
    found: dict[Relation, None] = {}
    for leaf in leaves(program.expr) if program.expr else ():
        if program.ask == PLACE and leaf.place is None:
            for place in OBJECTS:
                found.update(dict.fromkeys(_cells(leaf.finding, place, known)))
        else:
            place = leaf.place or ANYWHERE
            found.update(dict.fromkeys(_cells(leaf.finding, place, known)))
    return list(found)


def is_list(program: Program) -> bool:
    """Must the answer be complete?"""
    return program.ask in (NAME, PLACE)
