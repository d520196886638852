"""DuckDB's values as the contract has them: text, numbers, NULL."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal

from ehrqa_cli.contracts.types import Scalar


def plain(value: object) -> Scalar:
    """One value: truth as 1 or 0, times as YYYY-MM-DD HH:MM:SS, bytes as hex digits."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, date):
        return f"{value.isoformat()} 00:00:00"
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.isoformat() if isinstance(value, clock) else str(value)
