"""EHRSQL's names for the normal range of a vital sign (Lee et al. 2022, and its 2024 scorer)."""

from __future__ import annotations

from collections.abc import Iterator

from ehrqa_cli.sqltext import Token, replace_spans, tokens

# Degrees Celsius, per cent, beats and breaths a minute, millimetres of mercury.
NORMAL_RANGES: dict[str, tuple[str, str]] = {
    "temperature": ("35.5", "38.1"),
    "sao2": ("95.0", "100.0"),
    "heart_rate": ("60.0", "100.0"),
    "respiration": ("12.0", "18.0"),
    "systolic_bp": ("90.0", "120.0"),
    "diastolic_bp": ("60.0", "90.0"),
    "mean_bp": ("60.0", "110.0"),
}
_BOUNDS = {f"{name}_lower": low for name, (low, _) in NORMAL_RANGES.items()} | {
    f"{name}_upper": high for name, (_, high) in NORMAL_RANGES.items()
}


def bind_vital_bounds(sql: str) -> str:
    """``sql`` with bare names such as ``heart_rate_lower`` replaced by their numbers."""
    if "_lower" not in sql.lower() and "_upper" not in sql.lower():
        return sql
    return replace_spans(sql, _spans(tokens(sql)))


def _spans(found: list[Token]) -> Iterator[tuple[int, int, str]]:
    for i, token in enumerate(found):
        qualified = i > 0 and found[i - 1].text == "."
        if token.kind == "word" and not qualified and token.text.lower() in _BOUNDS:
            yield token.start, token.end, _BOUNDS[token.text.lower()]
