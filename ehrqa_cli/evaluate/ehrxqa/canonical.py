"""When are two programs the same? What Acc_LF counts.

The paper's is an exact match of the logical forms (Bae et al. 2023, section 6.2). Here two
programs are equal when

* their NeuralSQL is, written in one way: one spelling of FUNC_VQA and of yes (``= true``, ``= 1``,
  ``= 'yes'``), keywords, names and spaces alike, the questions inside calls compared without case;
  aliases, the order of conditions and values stay as they are; or
* their logical forms are, after logical_form.normalise: a gold query over tables is read back into
  a form where it has one (build.inverse), since our compiler words its SQL in its own way.

So a match is never a guess: a right program that is written otherwise, and has no form, counts as
different.
"""

from __future__ import annotations

from dataclasses import dataclass

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.logical_form import normalise, parse, print_form
from ehrqa_cli.neuralsql.rules import vqa
from ehrqa_cli.sets.inverse import Unrecognised, invert
from ehrqa_cli.sqltext import DIALECT, parse_select, quote, replace_spans, tokens


@dataclass(frozen=True)
class Program:
    """NeuralSQL, and the logical form where it was made from one."""

    neuralsql: str | None
    form: str | None = None


NOTHING = Program(None)


def same_program(gold: Program, given: Program) -> bool:
    """Are these the same program (see above)?"""
    if gold.neuralsql and given.neuralsql:
        wanted = canonical(gold.neuralsql)
        if wanted is not None and wanted == canonical(given.neuralsql):
            return True
    if not given.form:
        return False
    wanted_form = _form(gold.form) if gold.form else _read_back(gold.neuralsql)
    return wanted_form is not None and wanted_form == _form(given.form)


def canonical(neuralsql: str) -> str | None:
    """``neuralsql`` written in the one way that is compared; None where it cannot be read."""
    try:
        text = vqa.plain_answers(vqa.quote_questions(neuralsql.strip().rstrip(";")))
        text = _plain_calls(text)
        return parse_select(text).sql(dialect=DIALECT, normalize=True, normalize_functions="upper")
    except EhrqaError:
        return None


def _plain_calls(sql: str) -> str:
    found = tokens(sql)
    spans = []
    for i in vqa.calls(found):
        question = found[i + 2] if i + 2 < len(found) else None
        if question is not None and question.kind == "string":
            said = " ".join(question.text.lower().split())
            spans.append((question.start, question.end, quote(said)))
        end = vqa.closing(found, i + 1)
        after = found[end + 1 : end + 3]
        # EHRXQA writes ``= true``; plain_answers makes 1 of 'yes' and leaves the keyword.
        if len(after) == 2 and after[0].text == "=" and after[1].kind == "word":
            value = {"true": "1", "false": "0"}.get(after[1].text.lower())
            if value is not None:
                spans.append((after[1].start, after[1].end, value))
    return replace_spans(sql, iter(sorted(spans)))


def _form(text: str) -> str | None:
    try:
        return print_form(normalise(parse(text)))
    except EhrqaError:
        return None


def _read_back(neuralsql: str | None) -> str | None:
    if not neuralsql or vqa.NAME in neuralsql.lower():
        return None
    try:
        return print_form(invert(neuralsql))
    except (Unrecognised, EhrqaError, AttributeError, LookupError, TypeError, ValueError):
        return None  # it was made for EHRSQL's queries; one of another shape has no form
