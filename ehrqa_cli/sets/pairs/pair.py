"""One question with its logical form: what the builder makes and the trainer reads."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Pair:
    """A question and its form with literal values, the template it came from, and its family.

    ``form`` is the single lexeme ``abstain`` where no answer can or may be given.
    """

    question: str
    form: str
    template: str
    family: str

    def as_dict(self) -> dict[str, str]:
        """The pair as one JSON object."""
        return asdict(self)
