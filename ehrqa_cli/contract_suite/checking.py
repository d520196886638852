"""What a check is, and how its outcome is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Protocol, TypeVar

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError

Subject = TypeVar("Subject")
Check = Callable[[Subject], None]


class State(StrEnum):
    """How a check, or all of a plugin's, ended."""

    PASSED = "passed"
    FAILED = "failed"
    BROKEN = "broken"  # it does not load, or raised what no plugin may raise
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Outcome:
    """One check of one plugin: its name in words, how it ended, and why."""

    check: str
    state: State
    message: str = ""
    seconds: float = 0.0


class Unmet(Exception):
    """A demand of the contract that a plugin does not meet; its text says what was seen."""


def demand(met: bool, otherwise: str) -> None:
    """Raise Unmet unless ``met``."""
    if not met:
        raise Unmet(otherwise)


def refusal(error: EhrqaError) -> None:
    """Demand that an error is one line with a next step, which the user who cancels has taken."""
    hinted = bool(error.hint.strip()) or isinstance(error, Cancelled)
    demand(bool(error.message.strip()) and hinted, f"an error without a hint: {error}")
    demand("\n" not in str(error), f"an error of several lines: {error.message[:80]!r}")


def plain_text(found: Mapping[str, str], what: str) -> None:
    """Demand that a mapping is text to text, and not empty."""
    good = bool(found) and all(isinstance(v, str) and v for pair in found.items() for v in pair)
    demand(good, f"{what} is not text by name: {found!r}")


class Provided(Protocol):
    """A plugin with a name, which says by what to repeat what it says."""

    name: ClassVar[str]

    def provenance(self) -> Mapping[str, str]: ...


def has_provenance(plugin: Provided) -> None:
    """It has a name, and says by what to repeat its answers."""
    demand(bool(plugin.name), "it has no name")
    plain_text(plugin.provenance(), "provenance()")


def without_arguments(plugin: type[Subject], folder: Path) -> Subject:
    """As the program makes one: without arguments."""
    del folder
    make: Callable[[], Subject] = plugin
    return make()


def named(check: Callable[..., None]) -> str:
    """A check in words: its first line of documentation."""
    return (check.__doc__ or check.__name__).strip().splitlines()[0].rstrip(".")


def run(checks: Iterable[Check[Subject]], subject: Subject) -> list[Outcome]:
    """Run every check on ``subject``; none of them can end the program."""
    outcomes: list[Outcome] = []
    for check in checks:
        started = time.monotonic()
        state, message = State.PASSED, ""
        try:
            check(subject)
        except Unmet as unmet:
            state, message = State.FAILED, str(unmet)
        except EhrqaError as error:
            state, message = State.FAILED, str(error)
        except Exception as error:  # a plugin may raise anything
            state, message = State.BROKEN, f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - started
        outcomes.append(Outcome(named(check), state, message.replace("\n", " ")[:300], seconds))
    return outcomes
