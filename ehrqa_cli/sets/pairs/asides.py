"""Asides: what people put behind (or before) a question that changes nothing of what is asked.

"(1/0)", "ids only", "in days", "the title, not the code": each goes with some heads only.
"""

from __future__ import annotations

import random

from ehrqa_cli.sets.pairs.surface import Words

_YES_NO = (
    "‹1/0›", "‹yes/no›", ", yes or no", "‹y/n›", "‹1 if so, else 0›", "‹yes or no›",
    ", true or false", "- yes or no", "‹0/1›", ", just yes or no", "‹yes = 1›",
)  # fmt: skip
_NUMBER = (
    "‹number only›", ", just the number", "‹a single number›", "‹count›", ", only the number",
    "‹n›", ", one number please", "‹just the count›",
)  # fmt: skip
_IDS = (
    "‹ids›", ", ids only", "‹subject ids›", ", list the ids", "‹patient ids only›",
    ", just the ids", "‹one id per line›", "‹each id once›",
)  # fmt: skip
_NAMES = (
    "‹names only›", "‹each once›", ", each only once", "‹distinct›", ", no duplicates", "‹list›",
    ", just the names", "‹all of them›",
)  # fmt: skip
_TIES = (
    ", name all of them if there is a tie", "‹ties included›", ", all if tied", "‹names only›",
    "‹with ties›", ", if several tie list them all",
)  # fmt: skip
_TIMES = (
    "‹date and time›", "‹timestamp›", ", full timestamp please", "‹exact time›",
    ", with date and time", "‹when exactly›", "‹time only›",
)  # fmt: skip
_DAYS = ("‹days›", ", in days", "‹in days›", "‹number of days›")
_COST = ("‹dollars›", ", in dollars", "‹usd›", "‹$›", ", in USD")
_FLUID = ("‹ml›", ", in ml", "‹in ml›", "‹mL›", "‹volume›")
_VALUE = (
    "‹value only›", "‹number›", ", the value is enough", "‹as charted›", ", just the value",
    "‹the number›", ", no unit needed", "‹without unit›", "‹as recorded›",
)  # fmt: skip
_TITLE = ("‹the ICD title›", ", the title not the code", "‹long title›", "‹titles›", ", icd titles")
_DRUG = ("‹drug name only›", ", names as ordered", "‹name as in the order›", "‹name, not the dose›")
_STATISTIC = ("‹one number›", ", no rounding", "‹unrounded›", "‹number only›", ", just the value")
_DIFFERENCE = ("‹difference›", "‹sign matters›", ", signed", "‹plus or minus›")
_ANY = ("‹if any›", "‹as recorded›", ", per the record", "‹per the chart›",
        ", according to the data", "‹from the database›", ", as documented")  # fmt: skip
_EVER = (", ever", "‹ever›", ", at any time", "‹at any point›", ", at all")
_BY_HEAD = {
    "exists": _YES_NO, "none": _YES_NO, "count": _NUMBER, "count_patients": _NUMBER,
    "count_visits": _NUMBER, "count_names": _NUMBER, "patients": _IDS, "name": _NAMES, "top": _TIES,
    "time": _TIMES, "length": _DAYS, "value": _VALUE, "sum": _STATISTIC, "avg": _STATISTIC,
    "max": _STATISTIC, "min": _STATISTIC, "cost": _COST, "avg_total": _COST, "max_total": _COST,
    "min_total": _COST, "age": ("‹years›", ", in years"), "days_since": _DAYS,
    "gender": ("‹m/f›", ", m or f", "‹sex›"), "expand": ("‹full name›", ", spelled out"),
    "careunit": ("‹unit name›", ", just the unit"), "survival": ("‹fraction›", "‹rate›"),
}  # fmt: skip
_BY_KIND = {
    "dx": _TITLE, "proc": _TITLE, "rx": _DRUG, "intake": _FLUID, "output": _FLUID, "bill": _COST,
}  # fmt: skip
_LEADS = {
    "exists": ("yes or no: ", "y/n: ", "1/0: ", "yes/no - "),
    "count": ("one number: ", "count: ", "number only: "),
    "count_patients": ("one number: ", "headcount: ", "number only: "),
    "patients": ("ids only: ", "patient ids: ", "list of ids: "),
    "time": ("timestamp: ", "date and time: "),
    "name": ("names: ", "list: "),
    "value": ("value only: ", "quick value: "),
}
_TIMED = (" in ", " since", "_year", "_month", "today", "yesterday", " visit ", " icu ", "_date",
          "until", " after ", " before ", " first ", " last ")  # fmt: skip
_QUESTION = ("what", "which", "who", "when", "how", "did", "does", "was", "were", "has", "have",
             "is", "are", "can", "could")  # fmt: skip


def with_note(words: Words, form: str, rng: random.Random) -> Words:
    """The words of a question with one note that fits its form."""
    parts = form.replace("(", " ").replace(")", " ").split()
    head = parts[0] if parts else ""
    if head in _LEADS and rng.random() < 0.12:
        return [(rng.choice(_LEADS[head]), False), *words]
    note = rng.choice(_fitting(head, parts, form, rng))
    asked = words[0][0].lower().split()[:1] if words else []
    if asked and asked[0] in _QUESTION and rng.random() < 0.35:
        return [*words, ("? ", False), (note.lstrip(", "), False)]
    space = "" if note.startswith(",") else " "
    return [*words, (space + note, False)]


def _fitting(head: str, parts: list[str], form: str, rng: random.Random) -> tuple[str, ...]:
    if form.startswith("("):
        if " minus " in form:
            return _DIFFERENCE
        return _YES_NO if {"less", "greater", "equal", "and", "or"} & set(parts) else _ANY
    roll = rng.random()
    if roll < 0.12:
        return _ANY
    open_in_time = not any(word in form for word in _TIMED)
    if head in ("exists", "patients", "count_patients") and roll < 0.3 and open_in_time:
        return _EVER
    kinds = [k for k in _BY_KIND if k in parts]
    dose = kinds[:1] == ["rx"] and head in ("sum", "value")
    if head in ("name", "sum", "value") and len(kinds) == 1 and roll < 0.6 and not dose:
        return _BY_KIND[kinds[0]]
    return _BY_HEAD.get(head, _ANY)
