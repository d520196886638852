"""Nearly right readings: one step from a form, never the form itself."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from ehrqa_cli.logical_form import Machine, describe, normalise, parse, print_form

sys.path.insert(0, str(Path(__file__).parents[3] / "models" / "encoder"))

from edits import edits

FORMS = {
    "value last lab #1 patient #2 visit last": [["lab"], ["pat"]],
    "( sum intake patient #1 today ) minus ( sum output patient #1 today )": [["pat"]],
    "count_patients dx #1 after ( proc #2 ) samevisit in #3": [["dx"], ["proc"], ["year"]],
    "exists lab #1 patient #2 since #3": [["lab"], ["pat"], ["ymd"]],
}


@pytest.mark.parametrize(("form", "types"), FORMS.items())
def test_every_edit_is_another_form_that_the_model_could_write(
    form: str, types: list[list[str]]
) -> None:
    found = edits(form, types, random.Random(1), 12)
    assert len(found) == len({*found}) == 12
    for other in found:
        assert print_form(normalise(parse(other))) == other != form
        assert describe(parse(other)) != describe(parse(form))
        machine = Machine(types)
        for word in other.split():
            machine.push(word)


def test_edits_leave_out_add_and_exchange() -> None:
    form, types = "value last lab #1 patient #2 visit last", [["lab"], ["pat"]]
    lengths = {
        len(other.split()) - len(form.split()) for other in edits(form, types, random.Random(2), 40)
    }
    assert min(lengths) < 0 < max(lengths) and 0 in lengths


def test_two_values_of_one_type_are_exchanged_where_their_order_tells() -> None:
    types = [["lab"], ["lab"], ["pat"]]
    form = "( value last lab #1 patient #3 ) minus ( value last lab #2 patient #3 )"
    turned = "( value last lab #2 patient #3 ) minus ( value last lab #1 patient #3 )"
    even = form.replace("minus", "plus")
    assert turned in edits(form, types, random.Random(3), 40)
    assert turned.replace("minus", "plus") not in edits(even, types, random.Random(3), 40)
