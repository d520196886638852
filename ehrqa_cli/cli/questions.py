"""From what the user typed or wrote in a file to a Question. Every fault is a UsageError."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unicodedata import category

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Question

_DIGITS = 18  # of a number of a patient or a study: what every database can hold
_SHOWN = 60  # characters of a wrong value
GIVEN_TEXT = 2000  # characters of a question that failed, in its row


def check_text(text: str) -> str:
    """``text`` as it is. Raises UsageError when it holds control characters.

    Length and emptiness are the engine's to check; it would drop these characters in silence,
    and what the user sees would not be what was asked.
    """
    for position, char in enumerate(text, start=1):
        # Surrogates are what Python makes of bytes in an argument that are not UTF-8.
        if category(char) in ("Cc", "Cs") and char not in "\t\n\r":
            raise UsageError(
                f"the question has a control character (U+{ord(char):04X}) at {position}",
                "type it again without",
            )
    return text


def check_choices(value: Any) -> tuple[tuple[str, str], ...]:
    """Choices from ``{"A": text, ...}``. Raises UsageError for anything else."""
    if value is None:
        return ()
    if not isinstance(value, Mapping) or not value:
        raise UsageError("choices must be an object of letters", 'write {"A": "yes", "B": "no"}')
    for letter, text in value.items():
        if len(letter) != 1 or not letter.isalpha() or not isinstance(text, str):
            raise UsageError(
                f"the choice {letter!r} is not a letter with a text",
                'write {"A": "yes", "B": "no"}',
            )
    return tuple((letter.upper(), text) for letter, text in value.items())


def read_choices(path: Path) -> tuple[tuple[str, str], ...]:
    """Choices from a JSON file: the object itself, or one with it under ``choices``."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "check --choices") from error
    except ValueError as error:
        hint = 'write {"A": "yes", "B": "no"}'
        raise UsageError(f"{path} is not JSON: {error}", hint) from error
    if isinstance(value, Mapping) and "choices" in value:
        value = value["choices"]
    return check_choices(value)


def from_record(data: Mapping[str, Any], patient: int | None = None) -> Question:
    """The question in one object of a batch file; ``patient`` is used where it names none.

    Reads id, question, patient_id, study_id, image or images, choices and as_of, and ignores the
    rest. Raises UsageError.
    """
    text = data.get("question")
    if not isinstance(text, str):
        raise UsageError(
            "no text under 'question'", 'write one object a line, as {"id": "1", "question": "..."}'
        )
    as_of = data.get("as_of")
    if as_of is not None and not isinstance(as_of, str):
        raise UsageError("'as_of' must be a time", 'write it as "2100-12-31 23:59:00"')
    found = _integer(data, "patient_id")
    return Question(
        text=check_text(text),
        id=_identifier(data.get("id")),
        patient_id=patient if found is None else found,
        study_id=_integer(data, "study_id"),
        images=_images(data),
        choices=check_choices(data.get("choices")),
        as_of=as_of or None,
    )


def _images(data: Mapping[str, Any]) -> tuple[str, ...]:
    """``image``, one path, and ``images``, a list of them."""
    one, more = data.get("image"), data.get("images")
    if one is not None and not isinstance(one, str):
        raise UsageError("'image' must be the path of a file", "write it as a text")
    if isinstance(more, str):
        more = [more] if more else []
    if more is not None and not (
        isinstance(more, list) and all(isinstance(item, str) for item in more)
    ):
        raise UsageError("'images' must be a list of paths", 'write it as ["a.png", "b.png"]')
    return ((one,) if one else ()) + tuple(more or ())


def _identifier(value: Any) -> str | None:
    return None if value is None else str(value)


def _integer(data: Mapping[str, Any], name: str) -> int | None:
    value = data.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) < _DIGITS:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_DIGITS:
        return value
    shown = repr(value) if not isinstance(value, int) else "one of so many digits"
    told = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
    raise UsageError(f"'{name}' must be a whole number, not {told}", f"mend '{name}'")
