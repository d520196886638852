"""What a preparation is asked to do. Defaults are those of EHRXQA (Bae et al. 2023, appendix C.1)
where the paper says one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ehrqa_cli.contracts.errors import UsageError

SILVER, GOLD = "silver", "gold"
SETS = (SILVER, GOLD)
PATIENTS = {SILVER: 800, GOLD: 400}


@dataclass(frozen=True)
class Options:
    """``silver`` and ``gold`` are how many patients are drawn for each of the two databases.

    ``ages`` are whole years, both ends included: a patient with a visit at another age is left
    out. ``studies`` is the least number of X-ray studies of a patient, where there are images;
    ``even_ages`` draws as many of each age group as of the others. The frame is ``first_year`` to
    ``last_year``; now is 23:59:00 on its last day. ``current`` is the share of patients who are in
    hospital then. ``one_unit`` keeps of each item the values in its commonest unit;
    ``lower_case`` writes text in lower case.
    """

    seed: int = 1
    silver: int = PATIENTS[SILVER]
    gold: int = PATIENTS[GOLD]
    ages: tuple[int, int] = (11, 89)
    studies: int = 1
    even_ages: bool = False
    first_year: int = 2100
    last_year: int = 2105
    current: float = 0.1
    one_unit: bool = True
    lower_case: bool = True
    synthetic_costs: int | None = None

    def __post_init__(self) -> None:
        if self.ages[0] > self.ages[1]:
            raise UsageError("--age has its ends the wrong way round", "write it as 18-89")
        if not 1 <= self.first_year <= self.last_year <= 9990:
            raise UsageError("--years must run from an earlier year to a later one", "2100-2105")

    @property
    def now(self) -> str:
        """The end of the frame, which is now in the new databases."""
        return f"{self.last_year:04d}-12-31 23:59:00"

    def plain(self) -> dict[str, Any]:
        """All of it, for settings.json."""
        return {**asdict(self), "ages": list(self.ages)}
