"""Image questions with labels in place of a vision model, on data/ehrxqa-open.

``python tests/benchmarks/vqa_oracle.py --data DIR/ehrxqa-open`` prints how many of the 480
questions about one image are answered right, as ``template_text`` and as ``question``; and, for the
501 questions over the EHR, whether the form of each template (slots read off its
``template_text``), compiled to NeuralSQL and run with the labels, gives the published answer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ehrqa_cli.build.cxr_vocabulary import CATEGORY_WORDS
from ehrqa_cli.build.image_templates import image_templates
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.images import NotAnswered
from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, OBJECTS
from ehrqa_cli.ehr.sqlite_backend import SqliteDatabase
from ehrqa_cli.logical_form import compile_sql, parse
from ehrqa_cli.neuralsql import execute
from ehrqa_cli.vqa import OracleGraphs, Vqa

AS_OF = "2100-12-31 23:59:00"
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
    return {name: _slot(name).form(value.strip()) for name, value in found.groupdict().items()}


def _slot(name: str) -> Slot:
    return _SLOTS.get(name) or _SLOTS[re.sub(r"_?\d$", "", name)]


def form_of(template: str, text: str) -> str | None:
    """The form of an instance of a template."""
    found = {t.text: t.form for t in image_templates()}.get(template)
    slots = slots_of(template, text)
    if found is None or slots is None:
        return None
    filled = " ".join(_SLOT.sub(lambda m: slots[m[1]], found).split())
    if "sameperiod" in filled and not slots.get("time_filter_global1"):
        filled = filled.replace("sameperiod", "samevisit")  # so it is said when there is no period
    return filled


def same(rows: Any, answer: list[Any]) -> bool:
    """The answer in any order; yes/no as 1/0; durations to 0.01."""
    found = [row[0] for row in rows]
    if answer in (["yes"], ["no"]):
        return found == [int(answer == ["yes"])]
    if len(found) != len(answer):
        return False
    if all(isinstance(v, float) for v in answer):
        return all(abs(float(a) - b) < 0.01 for a, b in zip(found, answer, strict=True))
    return sorted(map(str, found)) == sorted(map(str, answer))


def single_image(data: Path, vqa: Vqa) -> Iterator[str]:
    """Accuracy on the questions about one image, by semantic type."""
    rows = [json.loads(s) for s in (data / "vqa_questions.jsonl").read_text().splitlines()]
    for field in ("template_text", "question"):
        right: Counter[str] = Counter()
        for row in rows:
            found = vqa.detail(row[field], row["study_id"]).values
            right[row["semantic_type"]] += same([(v,) for v in found], row["answer"])
        total = sum(right.values())
        yield f"{field:14} {100 * total / len(rows):6.2f}% of {len(rows)}  {dict(right)}"


def whole_ehr(data: Path, vqa: Vqa) -> Iterator[str]:
    """Answers to the questions over the EHR, from the forms of their templates."""
    database = SqliteDatabase.open(data / "mimic_iv_cxr.sqlite")
    counts: Counter[str] = Counter()
    for row in map(json.loads, (data / "questions.jsonl").read_text().splitlines()):
        if not row["answerable"]:
            continue
        form = form_of(row["template"], row["template_text"])
        if form is None:
            counts["no form"] += 1
            yield f"    no form: {row['template_text']}"
            continue
        try:
            done = execute(compile_sql(parse(form)), database, as_of=AS_OF, graphs=vqa)
        except NotAnswered as error:
            counts["declined"] += 1
            yield f"    declined: {row['template_text']}: {error}"
            continue
        except EhrqaError as error:
            counts["failed"] += 1
            yield f"    failed: {row['template_text']}: {error}"
            continue
        right = same(done.result.rows, row["answer"])
        counts["right" if right else "wrong"] += 1
        if not right:
            shown = [r[0] for r in done.result.rows][:6]
            yield f"    wrong: {row['id']} {row['template_text']}: {shown}, not {row['answer'][:6]}"
    database.close()
    yield f"EHR questions  {100 * counts['right'] / sum(counts.values()):6.2f}%  {dict(counts)}"


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
def main(data: Path) -> None:
    """Print the accuracies."""
    vqa = Vqa(OracleGraphs.open(data))
    for line in (*single_image(data, vqa), *whole_ehr(data, vqa)):
        click.echo(line)


if __name__ == "__main__":
    main()
