"""The words that slots are filled with: names, synonyms, and which times go with what."""

from __future__ import annotations

# Long names are those of EHRXQA's and EHRSQL's templates; the short ones save typing.
ALIASES = {
    "patient_id": "p",
    "drug_name": "drug",
    "lab_name": "lab",
    "diagnosis_name": "dx",
    "procedure_name": "proc",
    "intake_name": "intake",
    "input_name": "intake",
    "output_name": "output",
    "culture_name": "specimen",
    "spec_name": "specimen",
    "test_name": "mtest",
    "vital_name": "vital",
    "drug_route": "route",
    "admission_route": "admloc",
    "abbreviation": "abbrev",
    "time_filter_global": "tg",
    "time_filter_exact": "ex",
    "time_filter_within": "tw",
    "agg_function": "agg",
    "unit_average": "unit",
    "unit_count": "per",
    "comparison": "cmp",
    "n_survival_period": "surv",
    "age_group": "aged",
}
VITALS: dict[str, tuple[str, ...]] = {
    "heart rate": ("heart rate", "heart rate", "heart rate", "pulse", "pulse rate", "HR"),
    "respiratory rate": ("respiratory rate", "respiratory rate", "respiration rate",
                         "breathing rate", "respiration"),
    "temperature celsius": ("temperature", "body temperature", "temperature celsius",
                            "temperature", "temp"),
    "o2 saturation pulseoxymetry": ("SpO2", "SpO2", "SpO2", "o2 saturation",
                                    "o2 saturation pulseoxymetry", "O2 sat", "SaO2"),
    "arterial blood pressure systolic": ("systolic blood pressure", "systolic blood pressure",
                                         "arterial blood pressure systolic", "SBP",
                                         "systolic pressure", "systolic BP"),
    "arterial blood pressure diastolic": ("diastolic blood pressure", "diastolic blood pressure",
                                          "arterial blood pressure diastolic", "DBP",
                                          "diastolic pressure", "diastolic BP"),
    "arterial blood pressure mean": ("mean blood pressure", "mean blood pressure", "MAP",
                                     "arterial blood pressure mean", "mean arterial pressure",
                                     "mean arterial blood pressure"),
}  # fmt: skip
RANGES = {
    "heart rate": (50, 140), "respiratory rate": (8, 36), "temperature celsius": (34, 41),
    "o2 saturation pulseoxymetry": (80, 100), "arterial blood pressure systolic": (70, 190),
    "arterial blood pressure diastolic": (35, 110), "arterial blood pressure mean": (45, 130),
}  # fmt: skip
EXACT: dict[str, dict[str, tuple[str, ...]]] = {
    "first": {
        "": ("first", "first", "first", "first", "first", "earliest", "initial", "very first"),
        "adv": ("first", "first", "first", "initially"),
        "late": ("for the first time", "the first time", "for the very first time"),
    },
    "last": {
        "": ("last", "last", "last", "last", "last", "most recent", "latest", "final",
             "very last"),
        "adv": ("last", "last", "last", "most recently"),
        "late": ("for the last time", "the last time", "most recently"),
    },
    "second": {
        "": ("second", "second", "2nd"),
        "adv": ("second",),
        "late": ("for the second time", "the second time"),
    },
    "second_last": {
        "": ("second to last", "second to last", "second-to-last", "penultimate",
             "next to last"),
        "adv": ("second to last",),
        "late": ("for the second to last time", "the second to last time"),
    },
    "third": {"": ("third",), "adv": ("third",), "late": ("for the third time",)},
}  # fmt: skip
AGG: dict[str, tuple[str, ...]] = {
    "avg": ("average", "average", "average", "mean"),
    "max": ("maximum", "maximum", "maximum", "highest", "peak", "max", "largest"),
    "min": ("minimum", "minimum", "minimum", "lowest", "smallest", "min"),
}
UNIT: dict[str, tuple[str, ...]] = {
    "per_day": ("daily", "daily", "daily", "per-day", "day-by-day"),
    "per_month": ("monthly", "monthly", "monthly", "per-month", "month-by-month"),
    "per_year": ("yearly", "yearly", "annual", "per-year", "year-by-year"),
}
UNIT_LATE: dict[str, tuple[str, ...]] = {
    "per_day": ("per day", "each day", "by day", "for each day", "for every day", "a day"),
    "per_month": ("per month", "each month", "by month", "for each month", "a month"),
    "per_year": ("per year", "each year", "by year", "for each year", "a year"),
}
OVER = ("greater than", "greater than", "greater than", "higher than", "above", "over",
         "more than", "in excess of", "exceeding")  # fmt: skip
UNDER = ("less than", "less than", "less than", "lower than", "below", "under", "smaller than")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WITHIN_VISIT = (
    "within the same hospital visit", "during the same hospital visit",
    "in the same hospital visit", "in the same hospital encounter",
    "during the same hospital encounter", "within the same hospital stay",
    "in the same hospital stay", "within the same hospital encounter",
    "during the same admission", "in the same admission", "during the same hospitalization",
    "during the same visit", "in the same encounter", "within the same hospital admission",
)  # fmt: skip
WITHIN_DAY = ("on the same day", "within the same day", "during the same day", "in the same day",
               "that same day")  # fmt: skip
WITHIN_MONTH = ("within the same month", "in the same month", "during the same month",
                 "within the same month", "in the same month", "in the same calendar month",
                 "the same month")  # fmt: skip
SAME_TIME = ("at the same time", "at the same time", "simultaneously", "at the same moment",
              "concurrently", "together at the same time")  # fmt: skip
# Which time filters each context draws, with weights; see TimeSampler.
TIME_WEIGHTS: dict[str, dict[str, int]] = {
    "visit": {
        "none": 14, "visit": 22, "in_year": 7, "since_year": 7, "in_month": 9, "since_month": 9,
        "in_day": 4, "since_day": 4, "since_ago": 12, "this_year": 6, "last_year": 6,
        "this_month": 4, "last_month": 5, "today": 3, "yesterday": 3, "at_month": 8, "at_md": 4,
        "at_day": 5, "before": 1, "until_ago": 1, "rare_visit": 1,
    },
    "icu": {
        "none": 13, "icu": 24, "visit": 8, "in_year": 4, "since_year": 4, "in_month": 7,
        "since_month": 7, "in_day": 9, "since_day": 9, "since_ago": 12, "this_year": 4,
        "last_year": 4, "this_month": 4, "last_month": 5, "today": 4, "yesterday": 4,
        "at_month": 5, "at_md": 8, "at_day": 9, "before": 1, "until_ago": 1,
    },
    "group": {
        "none": 18, "in_year": 20, "since_year": 20, "since_ago": 14, "this_year": 14,
        "last_year": 14, "in_month": 3, "since_month": 3, "this_month": 2, "last_month": 2,
        "in_day": 1, "since_day": 1, "before": 1, "at_month": 2, "today": 1, "yesterday": 1,
    },
    "stay": {
        "visit": 70, "none": 10, "in_year": 3, "this_year": 2, "last_year": 2, "rare_visit": 2,
    },
    "admission": {
        "none": 16, "in_year": 16, "since_year": 16, "since_ago": 14, "this_year": 10,
        "last_year": 10, "in_month": 4, "since_month": 4, "this_month": 2, "last_month": 2,
        "before": 1,
    },
}  # fmt: skip
TIME_WEIGHTS["group_icu"] = TIME_WEIGHTS["group"]
TIME_WEIGHTS["new"] = TIME_WEIGHTS["visit"]
TIME_WEIGHTS["admission_rare"] = TIME_WEIGHTS["admission"] | {"none": 130}
TIME_WEIGHTS["admission_visit"] = TIME_WEIGHTS["admission"] | {"visit": 22}

HIGHEST = ("maximum", "maximum", "highest", "largest", "peak", "greatest", "max")
LOWEST = ("minimum", "minimum", "lowest", "smallest", "min", "lowest")
