"""Times as a user writes them."""

from __future__ import annotations

import re
from datetime import datetime

from ehrqa_cli.contracts.errors import UsageError

_TIME = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?")


def check_time(text: str) -> str:
    """``text`` as YYYY-MM-DD HH:MM:SS; a date alone means its last minute, as EHRSQL has it."""
    plain = text.strip().replace("T", " ")
    if plain == "now":
        return datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    found = _TIME.fullmatch(plain)
    full = plain + (" 23:59:00" if len(plain) == 10 else ":00" if len(plain) == 16 else "")
    try:
        if not found:
            raise ValueError
        datetime.strptime(full, "%Y-%m-%d %H:%M:%S")
    except ValueError:
        raise UsageError(
            f"'{text[:40]}' is not a time", "write it as 2100-12-31 or 2100-12-31 23:59:00, or now"
        ) from None
    return full
