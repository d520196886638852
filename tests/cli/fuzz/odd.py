"""Odd texts, values and bytes, the same for the same seed."""

from __future__ import annotations

import json
import os
import random
from typing import Any

# How many inputs a fuzzer gives: a few hundred in a test, EHRQA_FUZZ=10000 by hand.
INPUTS = int(os.environ.get("EHRQA_FUZZ", "300"))

PLAIN = "how many patients are there last creatinine of patient 101 first value 2100 in the"
WORDS = (
    *PLAIN.split(),
    *("é", "Œdème", "患者", "עברית", "مريض", "🫀", "ﬁ", "İ", "ß", "\u200f", "\u202e", "\ufeff"),
    *("a\u0301" * 20, "\u0000", "\u001b[2J", "\u007f", "\u0085", "\u2028", "\ud800", "\udfff"),
    *("'", '"', "--", ";", "%s", "{0}", "<lab>#1", "#1", "\\", "\\u0000", "DROP TABLE patients"),
    *("9" * 31, "9" * 400, "-1", "1e999", "0x10", "NaN", "١٠١", "½", "²", "1/0", "²³", "Ⅷ"),
    *("\t", "\n", "\r", "  ", "?", "!!!", "2100-02-30", "25:61", "now", "null", "None"),
)


def text(rng: random.Random) -> str:
    """A few words, sometimes very many, sometimes of any characters at all."""
    how = rng.random()
    if how < 0.1:
        return "".join(chr(rng.randrange(0x110000)) for _ in range(rng.randrange(60)))
    if how < 0.15:
        return rng.choice(WORDS) * rng.choice((2, 100, 999, 2001))
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(12)))


def value(rng: random.Random, depth: int = 0) -> Any:
    """Anything that JSON, as Python reads it, can hold."""
    how = rng.randrange(10)
    if how < 3:
        return text(rng)
    if how < 5:
        return rng.choice((0, -1, 101, 10**30, -(2**63), 10**400, True, False, None))
    if how < 6:
        return rng.choice((0.5, float("nan"), float("inf"), -float("inf"), 1e308))
    if depth > 3 or how < 7:
        return []
    if how < 8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if how < 9:
        return {text(rng): value(rng, depth + 1) for _ in range(rng.randrange(3))}
    deep: Any = 1
    for _ in range(rng.choice((10, 300, 900))):
        deep = [deep]
    return deep


def plain(found: Any) -> str:
    """As one line of JSON."""
    return json.dumps(found, ensure_ascii=rng_ascii(found))


def rng_ascii(found: Any) -> bool:
    """Escapes where there is half a character, which has no bytes of its own."""
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def harmed(rng: random.Random, data: bytes) -> bytes:
    """``data`` with a few bytes changed, cut, doubled, or put into another encoding."""
    raw = bytearray(data)
    for _ in range(rng.randrange(4)):
        at, size = rng.randrange(len(raw) + 1), rng.randrange(1, 40)
        how = rng.randrange(6)
        if how == 0:
            raw[at : at + 1] = bytes([rng.randrange(256)])
        elif how == 1:
            del raw[at : at + size]
        elif how == 2:
            raw[at:at] = rng.choice((b'"', b"{", b"[" * 2000, b"\xff\xfe", b"\x80", b",", b"}"))
        elif how == 3:
            raw[at:at] = rng.randbytes(size)
        elif how == 4:
            raw[at:at] = raw[at : at + size]
        else:
            raw[at:at] = "é".encode(rng.choice(("latin-1", "utf-16", "utf-8")))
    return bytes(raw)
