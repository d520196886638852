"""What a question restricts, put into the form."""

from __future__ import annotations

import pytest

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.engine.restrict import restricted
from ehrqa_cli.logical_form import parse, print_form


def _read(form: str, text: str, *restrictions: Link) -> str:
    question = LinkedQuestion(text, text, (), restrictions=restrictions)
    return print_form(restricted(parse(form), question))


def test_a_restriction_stands_at_what_can_have_it() -> None:
    race = Link(0, 0, ("race",), "asian")
    resistant = Link(0, 0, ("resistant",), "oxacillin")
    assert _read("count_patients dx #1", "", race) == 'count_patients dx #1 race "asian"'
    found = _read("count_patients dx #1 with ( organism #2 )", "", resistant)
    assert found == 'count_patients dx #1 with ( organism #2 resistant "oxacillin" )'


def test_a_restriction_without_a_place_is_an_error() -> None:
    with pytest.raises(FormError, match="resistant"):
        _read("count_patients dx #1", "", Link(0, 0, ("resistant",), "oxacillin"))
