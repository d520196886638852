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
        "": ("first", "first", "first", "first", "first", "first", "earliest", "initial",
             "very first", "1st", "earliest known"),
        "adv": ("first", "first", "first", "initially"),
        "late": ("for the first time", "the first time", "for the very first time"),
    },
    "last": {
        "": ("last", "last", "last", "last", "last", "most recent", "most recent", "latest",
             "latest", "final", "very last", "newest"),
        "adv": ("last", "last", "last", "most recently", "most recently"),
        "late": ("for the last time", "the last time", "most recently", "the most recent time"),
    },
    "second": {
        "": ("second", "second", "2nd"),
        "adv": ("second",),
        "late": ("for the second time", "the second time", "the 2nd time"),
    },
    "second_last": {
        "": ("second to last", "second to last", "second-to-last", "penultimate",
             "next to last", "last but one", "next-to-last", "second last"),
        "adv": ("second to last",),
        "late": ("for the second to last time", "the second to last time"),
    },
    "third": {"": ("third", "third", "3rd"), "adv": ("third",), "late": ("for the third time",)},
}  # fmt: skip
AGG: dict[str, tuple[str, ...]] = {
    "avg": ("average", "average", "average", "mean", "mean", "avg", "arithmetic mean"),
    "max": ("maximum", "maximum", "maximum", "highest", "highest", "peak", "peak", "max",
            "largest", "top", "maximal", "greatest"),
    "min": ("minimum", "minimum", "minimum", "lowest", "lowest", "smallest", "min", "nadir",
            "trough", "minimal"),
}  # fmt: skip
UNIT: dict[str, tuple[str, ...]] = {
    "per_day": ("daily", "daily", "daily", "per-day", "day-by-day"),
    "per_month": ("monthly", "monthly", "monthly", "per-month", "month-by-month"),
    "per_year": ("yearly", "yearly", "annual", "per-year", "year-by-year"),
}
UNIT_LATE: dict[str, tuple[str, ...]] = {
    "per_day": ("per day", "each day", "by day", "for each day", "for every day", "a day",
                "day by day", "every day", "on each day", "day for day", "split by day"),
    "per_month": ("per month", "each month", "by month", "for each month", "a month",
                  "month by month", "every month", "in each month", "split by month"),
    "per_year": ("per year", "each year", "by year", "for each year", "a year", "year by year",
                 "every year", "in each year", "split by year"),
}  # fmt: skip
OVER = ("greater than", "greater than", "greater than", "higher than", "above", "over",
         "more than", "in excess of", "exceeding", ">", "beyond", "north of", "upwards of",
         "larger than", "over")  # fmt: skip
UNDER = ("less than", "less than", "less than", "lower than", "below", "under", "smaller than",
          "<", "beneath", "short of", "under", "below")  # fmt: skip
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WITHIN_VISIT = (
    "within the same hospital visit", "during the same hospital visit",
    "in the same hospital visit", "in the same hospital encounter",
    "during the same hospital encounter", "within the same hospital stay",
    "in the same hospital stay", "within the same hospital encounter",
    "during the same admission", "in the same admission", "during the same hospitalization",
    "during the same visit", "in the same encounter", "within the same hospital admission",
    "that same admission", "that same hospital stay", "on the same admission", "same visit",
    "still in the same stay", "on the same hospital stay", "during that admission",
)  # fmt: skip
WITHIN_DAY = ("on the same day", "within the same day", "during the same day", "in the same day",
               "that same day", "the same day", "on that very day", "still that day")  # fmt: skip
WITHIN_MONTH = ("within the same month", "in the same month", "during the same month",
                 "within the same month", "in the same month", "in the same calendar month",
                 "the same month")  # fmt: skip
SAME_TIME = ("at the same time", "at the same time", "simultaneously", "at the same moment",
              "concurrently", "together at the same time", "at one and the same time",
              "at the very same time", "at the same timestamp")  # fmt: skip
# Which time filters each context draws, with weights; see TimeSampler.
TIME_WEIGHTS: dict[str, dict[str, int]] = {
    "visit": {
        "none": 14, "visit": 22, "in_year": 7, "since_year": 7, "in_month": 9, "since_month": 9,
        "in_day": 4, "since_day": 4, "since_ago": 12, "this_year": 6, "last_year": 6,
        "this_month": 4, "last_month": 5, "today": 3, "yesterday": 3, "at_month": 8, "at_md": 4,
        "at_day": 5, "before": 1, "until_ago": 1, "rare_visit": 1, "since_md": 4, "before_md": 2,
    },
    "icu": {
        "none": 13, "icu": 24, "visit": 8, "in_year": 4, "since_year": 4, "in_month": 7,
        "since_month": 7, "in_day": 9, "since_day": 9, "since_ago": 12, "this_year": 4,
        "last_year": 4, "this_month": 4, "last_month": 5, "today": 4, "yesterday": 4,
        "at_month": 5, "at_md": 8, "at_day": 9, "before": 1, "until_ago": 1, "since_md": 4,
        "before_md": 2,
    },
    "group": {
        "none": 18, "in_year": 20, "since_year": 20, "since_ago": 14, "this_year": 14,
        "last_year": 14, "in_month": 3, "since_month": 3, "this_month": 2, "last_month": 2,
        "in_day": 1, "since_day": 1, "before": 2, "at_month": 4, "today": 1, "yesterday": 1,
        "since_md": 3, "before_md": 2, "until_ago": 1, "at_md": 1,
    },
    "stay": {
        "visit": 70, "none": 10, "in_year": 3, "this_year": 2, "last_year": 2, "rare_visit": 2,
    },
    "admission": {
        "none": 16, "in_year": 16, "since_year": 16, "since_ago": 14, "this_year": 10,
        "last_year": 10, "in_month": 4, "since_month": 4, "this_month": 2, "last_month": 2,
        "before": 2, "since_md": 2, "before_md": 1, "at_month": 2,
    },
}  # fmt: skip
TIME_WEIGHTS["group_icu"] = TIME_WEIGHTS["group"]
TIME_WEIGHTS["new"] = TIME_WEIGHTS["visit"]
TIME_WEIGHTS["admission_rare"] = TIME_WEIGHTS["admission"] | {"none": 130}
TIME_WEIGHTS["admission_visit"] = TIME_WEIGHTS["admission"] | {"visit": 22}

HIGHEST = ("maximum", "maximum", "highest", "highest", "largest", "peak", "greatest", "max", "top",
           "maximal")  # fmt: skip
LOWEST = ("minimum", "minimum", "lowest", "lowest", "smallest", "min", "nadir", "trough", "minimal")

# How people say when; {} is a date or a stretch of time.
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August",
    "September", "October", "November", "December",
)  # fmt: skip
IN_TIME = ("in", "in", "in", "in", "in", "during", "throughout", "within", "any time in")
SINCE = ("since", "since", "since", "since", "since", "since", "from", "starting from")
SINCE_DATE = (
    *["since {}"] * 8, "starting {}", "starting from {}", "from {} onwards", "from {} on",
    "{} onwards", "since {}", "beginning {}", "from {} to now", "between {} and now",
)  # fmt: skip
BEFORE = (
    *["before {}"] * 4, "prior to {}", "until before {}", "ahead of {}",
    "up to but not including {}",
)  # fmt: skip
PAST = (
    "in the past {}", "in the last {}", "over the last {}", "over the past {}",
    "within the last {}", "within the past {}", "during the past {}", "during the last {}",
    "the past {}", "for the past {}", "these past {}", "in these last {}", "last {}", "past {}",
    "not more than {} ago", "less than {} ago", "going back {}", "no longer than {} ago",
    "over the course of the last {}", "in the preceding {}",
)  # fmt: skip
UNTIL_AGO = (
    "until {} ago", "until {} ago", "up to {} ago", "before {} ago", "more than {} ago",
    "over {} ago", "longer than {} ago", "at least {} ago", "{} ago or earlier", "{} or more ago",
)  # fmt: skip
PAST_ONE = (
    "in the past {}", "over the past {}", "within the past {}", "during the past {}",
    "for the past {}", "the past {}", "in the preceding {}", "past {}",
)  # fmt: skip
# No time at all is mostly not said; these say so and change nothing.
ANY_TIME = (
    "on record", "on file", "to date", "so far", "in the chart", "at all times", "in the records",
    "in the database", "over all time", "in our data",
)  # fmt: skip
RELATIVE = {
    "this_year": (
        "this year", "this year", "this year", "in this year", "during this year",
        "throughout this year", "so far this year", "in the current year", "within this year",
        "this calendar year", "since the start of the year", "since the beginning of the year",
        "since the year began", "year to date", "YTD", "this yr", "since the start of this year",
    ),
    "last_year": (
        "last year", "last year", "last year", "in the last year", "during the last year",
        "in the previous year", "during the previous year", "the previous year",
        "throughout last year", "the year before this one", "the prior year", "last yr",
        "in the previous calendar year", "last calendar year", "all of last year",
    ),
    "this_month": (
        "this month", "this month", "this month", "in this month", "during this month",
        "in the current month", "so far this month", "throughout this month", "within this month",
        "since the start of the month", "since the beginning of this month", "month to date",
        "this calendar month",
    ),
    "last_month": (
        "last month", "last month", "last month", "in the last month", "during the last month",
        "in the previous month", "during the previous month", "the previous month",
        "on last month", "throughout last month", "the prior month", "the month before this one",
        "in the previous calendar month", "all of last month",
    ),
    "today": (
        "today", "today", "today", "on today", "so far today", "during today", "earlier today",
        "since midnight", "today so far", "on this day", "in the course of today",
    ),
    "yesterday": (
        "yesterday", "yesterday", "yesterday", "on yesterday", "during yesterday",
        "the day before today", "in the course of yesterday", "yesterday, at any hour",
    ),
}  # fmt: skip
NTH = {
    "first": ("first", "first", "first", "first", "initial", "very first", "earliest", "1st"),
    "last": ("last", "last", "last", "last", "most recent", "latest", "final", "newest"),
    "second": ("second", "2nd"),
    "second_last": (
        "second to last", "second-to-last", "penultimate", "next to last", "last but one",
    ),
}  # fmt: skip
NOW_IN = {
    "hospital": (
        "this admission", "this stay", "this time around", "on this hospitalization",
        "during this inpatient stay", "since the current admission began", "this hosp stay",
        "while in the hospital now", "since coming in this time", "on the present admission",
    ),
    "ICU": (
        "this ICU stay", "while in the ICU now", "since coming to the ICU this time",
        "during this unit stay", "on this ICU admission", "this time in the ICU",
    ),
}  # fmt: skip
