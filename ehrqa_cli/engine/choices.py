"""Which of the given choices an answer from the tables or images is."""

from __future__ import annotations

from collections.abc import Sequence

from ehrqa_cli.contracts.types import Row, Scalar

_YES, _NO = ("yes", "true"), ("no", "false")


def chosen(choices: Sequence[tuple[str, str]], rows: Sequence[Row]) -> str | None:
    """The letter of the one choice that says the same as the one value of ``rows``; else None.

    Only equality counts: the same words, the same number whatever its unit's spelling, or yes and
    no for 1 and 0. A near miss is no choice.
    """
    if not choices or len(rows) != 1 or len(rows[0]) != 1:
        return None
    same = [letter for letter, text in choices if _same(text, rows[0][0])]
    return same[0] if len(same) == 1 else None


def _same(text: str, value: Scalar) -> bool:
    plain = " ".join(text.lower().split()).rstrip(".")
    if plain in _YES + _NO and value in (0, 1):
        return (plain in _YES) == bool(value)
    if isinstance(value, int | float):
        return _number(plain) == float(value)
    return value is not None and plain == " ".join(str(value).lower().split()).rstrip(".")


def _number(plain: str) -> float | None:
    """The number that a choice is, with or without one word for its unit."""
    first, _, unit = plain.replace(",", "").partition(" ")
    try:
        return float(first) if " " not in unit else None
    except ValueError:
        return None
