"""VQA programs: what a question about one image computes on its scene graph.

MIMIC-CXR-VQA's 48 question types are set and logical operations over relations (Bae et al. 2023,
appendix B): an expression over leaves (finding, place), read as a truth value (``exists``), as a
set of attributes (``name``) or as a set of objects (``place``).
"""

from __future__ import annotations

from dataclasses import dataclass

EXISTS, NAME, PLACE = "exists", "name", "place"
VIEW, SEX = "view", "sex"
HEART, MEDIASTINUM = "wide_heart", "wide_mediastinum"
CTR, MTR = "heart_ratio", "mediastinum_ratio"
# The measure of a scene graph that a ratio is.
RATIOS = {CTR: "heart", MTR: "mediastinum"}


@dataclass(frozen=True)
class Leaf:
    """A finding (attribute, category or abnormality) at a place, or anywhere."""

    finding: str
    place: str | None = None


@dataclass(frozen=True)
class Op:
    """``and``, ``or`` over parts; ``not`` is the first part without the others; ``none`` denies
    its one part (of sets: the possible ones that are absent)."""

    op: str
    parts: tuple[Expr, ...]


Expr = Leaf | Op


@dataclass(frozen=True)
class Program:
    """``ask`` says how ``expr`` is read. ``option`` is the view or sex a yes/no question names;
    ``limit`` the ratio a width is compared with, ``below`` when it should be under it. ``choose``
    when the question lets one choose between the leaves."""

    ask: str
    expr: Expr | None = None
    option: str = ""
    limit: float = 0.0
    below: bool = False
    choose: bool = False

    @property
    def verify(self) -> bool:
        """Is the answer yes or no?"""
        return self.ask in (EXISTS, HEART, MEDIASTINUM) or bool(self.option)

    @property
    def semantic_type(self) -> str:
        """verify, choose or query, as MIMIC-CXR-VQA has them."""
        return "verify" if self.verify else "choose" if self.choose else "query"

    @property
    def content_type(self) -> str:
        """One of the seven of MIMIC-CXR-VQA."""
        fixed = {VIEW: "plane", SEX: "gender"}
        fixed |= dict.fromkeys((HEART, MEDIASTINUM, CTR, MTR), "size")
        if self.ask in fixed:
            return fixed[self.ask]
        found = list(leaves(self.expr)) if self.expr else []
        if all(leaf.finding == "abnormality" for leaf in found):
            return "abnormality"
        return {EXISTS: "presence", NAME: "attribute", PLACE: "anatomy"}[self.ask]

    @property
    def asked(self) -> str:
        """What is asked about, in a few words."""
        named = {
            VIEW: "the view",
            SEX: "the sex of the patient",
            HEART: "the width of the heart",
            MEDIASTINUM: "the width of the mediastinum",
            CTR: "the cardiothoracic ratio",
            MTR: "the width of the mediastinum",
        }
        if self.expr is None:
            return named[self.ask]
        found = [
            f"{x.finding} in the {x.place}" if x.place else x.finding for x in leaves(self.expr)
        ]
        return ", ".join(dict.fromkeys(found))

    def __str__(self) -> str:
        words = [self.ask]
        if self.option:
            words.append(self.option)
        if self.limit:
            words.append(f"{'<' if self.below else '>'} {self.limit:.3g}")
        if self.expr:
            words.append(show(self.expr))
        return " ".join(words)


def leaves(expr: Expr) -> list[Leaf]:
    """The leaves of an expression, left to right."""
    if isinstance(expr, Leaf):
        return [expr]
    return [leaf for part in expr.parts for leaf in leaves(part)]


def join(op: str, parts: list[Expr]) -> Expr:
    """One part as itself, several as an operation."""
    return parts[0] if len(parts) == 1 else Op(op, tuple(parts))


def show(expr: Expr) -> str:
    """An expression for people and for logs."""
    if isinstance(expr, Leaf):
        return f"{expr.finding} at {expr.place}" if expr.place else expr.finding
    if expr.op == "none":
        return f"no ( {show(expr.parts[0])} )"
    word = {"not": " without "}.get(expr.op, f" {expr.op} ")
    return "( " + word.join(show(part) for part in expr.parts) + " )"
