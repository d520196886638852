"""The logical form of a question of the open EHRXQA, from its template and ``template_text``.

The open set publishes no queries. Its templates have forms (build.image_templates); what stands in
their slots is read off the text that they were filled into.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from typing import Any

from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, OBJECTS
from ehrqa_cli.sets.pairs.cxr_vocabulary import CATEGORY_WORDS
from ehrqa_cli.sets.pairs.image_templates import image_templates

_SLOT = re.compile(r"\$?[{\[]([a-z_0-9]+)[}\]]")
_COMPARISONS = {
    "still present": "still_present",
    "still absent": "still_absent",
    "newly detected": "new",
    "resolved": "resolved",
}
_EXACT = {
    **{w: w for w in ("first", "second", "last")},
    "second to last": "second_last",
}
_AGES = {"20s": "20-29", "30s": "30-39", "40s": "40-49", "50s": "50-59", "60 or above": "60+"}
_D, _M, _Y = r"\d\d/\d\d/\d{4}", r"\d\d/\d{4}", r"\d{4}"
_TIME = (
    rf"(?:in|on|since) (?:{_D}|{_M}|{_Y})|at \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d"
    r"|since \d+ \w+ ago|(?:on|in) \d\d(?:/\d\d)?/(?:this|last) year"
    r"|(?:on|in) (?:this|last) month/\d\d|(?:this|last) (?:year|month)|today|yesterday"
    r"|on the (?:first|last|current) hospital visit"
)
_SAME = "within the same period?"  # what is said of two events when no period is named
_WITHIN = r"within \d+ \w+|within the same (?:day|month|hospital visit)"


def time_form(text: str) -> str:
    """The filter of an EHRSQL time expression."""
    if not text:
        return ""
    words = text.split()
    if text.startswith("on the "):
        return f"visit {words[2]}"
    if match := re.fullmatch(r"since (\d+) (\w+?)s? ago", text):
        return f'since_ago "{match[1]} {match[2]}"'
    if match := re.fullmatch(r"\w+ (\d\d)/(?:(\d\d)/)?(this|last) year", text):
        at = f'"{match[1]}-{match[2]}"' if match[2] else str(int(match[1]))
        return f"{match[3]}_year at {at}"
    if match := re.fullmatch(r"\w+ (this|last) month/(\d\d)", text):
        return f"{match[1]}_month at {int(match[2])}"
    if words[0] in ("this", "last", "today", "yesterday"):
        return text.replace(" ", "_")
    if words[0] == "at":
        return f'in "{text[3:]}"'
    month, *rest = reversed(words[1].split("/"))
    date = "-".join([month, *reversed(rest)])
    name = "since" if words[0] == "since" else "in"
    return f"{name} {date}" if date.isdigit() else f'{name} "{date}"'


def within_form(text: str) -> str:
    """The window of a relation."""
    if not text:
        return ""
    if match := re.fullmatch(r"within (\d+) (\w+?)s?", text):
        return f'within "{match[1]} {match[2]}"'
    return "same" + text.split()[-1].replace("hospital", "")


@dataclass(frozen=True)
class Slot:
    """How a slot is written in a text (a pattern) and in a form."""

    pattern: str
    form: Any


def _words(names: dict[str, str]) -> Slot:
    longest = sorted(names, key=len, reverse=True)
    return Slot("|".join(map(re.escape, longest)), lambda text: f'"{names[text]}"')


_CATEGORIES = {words: name for name, pair in CATEGORY_WORDS.items() for words in pair}
_SLOTS = {
    "object": _words({name: name for name in OBJECTS}),
    "attribute": _words({name: name for name in ATTRIBUTES}),
    "category": _words(_CATEGORIES),
    "comparison": Slot("|".join(_COMPARISONS), _COMPARISONS.__getitem__),
    "patient_id": Slot(r"\d{8}", str),
    "study_id": Slot(r"\d+", str),
    "gender": Slot("male|female", str),
    "unit_count": Slot("days|hours", lambda text: f"{text}_since"),
    "age_group": Slot(r"\d0s|60 or above", lambda text: f'"{_AGES[text]}"'),
    "time_filter_exact": Slot(
        "(?:second to last|first|second|last)?", lambda text: _EXACT.get(text, "")
    ),
    "time_filter_global": Slot(f"(?:{_TIME})?", time_form),
    "time_filter_within": Slot(f"(?:{_WITHIN})?", within_form),
    **{
        name: Slot(".+?", lambda text: json.dumps(text))
        for name in ("diagnosis_name", "procedure_name", "drug_name")
    },
}


def _plain(text: str) -> str:
    """Without what was changed to make a template grammatical."""
    text = text.lower().replace("has_verb", "has").replace("abnormalities", "abnormality")
    text = re.sub(r"\b(is|are)\b", "be", text)
    text = re.sub(r"\b(a|an|any)\b ", "", text)
    text = re.sub(r"\bin their (?=\d0s)", "aged ", text)
    text = text.replace("has patient", "has").replace("within the same hospital visit?", _SAME)
    return re.sub(r"\s*[?.]$", "", text.replace("study ?", "study?"))


def slots_of(template: str, text: str) -> dict[str, str] | None:
    """What stands in the slots of a template, as a form has it; None if the text is another's."""
    pattern = ""
    done = 0
    plain = _plain(template)
    seen: set[str] = set()
    for match in _SLOT.finditer(plain):
        pattern += re.escape(plain[done : match.start()]).replace(r"\ ", r"\s*")
        name = match[1]
        inner = _slot(name).pattern
        pattern += f"(?P={name})" if name in seen else f"(?P<{name}>{inner})"
        seen.add(name)
        done = match.end()
    pattern += re.escape(plain[done:]).replace(r"\ ", r"\s*")
    found = re.fullmatch(rf"\s*{pattern}\s*", _plain(text))
    if found is None:
        return None
    values = {name: value.strip() for name, value in found.groupdict().items()}
    named = {name: _as_written(v, text) for name, v in values.items() if "_name" in name}
    return {name: _slot(name).form(value) for name, value in (values | named).items()}


def _as_written(value: str, text: str) -> str:
    """A name with the words that ``_plain`` took out of its middle or changed."""
    words = {"be": "(?:be|is|are)", "abnormality": "abnormalit(?:y|ies)"}
    pattern = r"\s+(?:(?:a|an|any)\s+)?".join(words.get(w, re.escape(w)) for w in value.split())
    found = re.search(pattern, text.lower())
    return found[0] if found else value


def _slot(name: str) -> Slot:
    return _SLOTS.get(name) or _SLOTS[re.sub(r"_?\d$", "", name)]


def form_of(template: str, text: str) -> str | None:
    """The form of an instance of a template."""
    found = _forms().get(template)
    slots = slots_of(template, text)
    if found is None or slots is None:
        return None
    filled = " ".join(_SLOT.sub(lambda m: slots[m[1]], found).split())
    if "sameperiod" in filled and not slots.get("time_filter_global1"):
        filled = filled.replace("sameperiod", "samevisit")  # so it is said when there is no period
    return filled


@functools.cache
def _forms() -> dict[str, str]:
    return {template.text: template.form for template in image_templates()}
