"""Everyday names of vital signs and of the emergency room, which every question writer uses.

They are linked with or without ``fuzzy``, and only to strings that this database has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

# label candidates (the first that exists is meant) and the names people use
_NAMES: list[tuple[tuple[str, ...], str]] = [
    (("heart rate",), "heart rate|heart rates|heartrate|heart beat|heartbeat|pulse|pulse rate|hr"),
    (
        ("respiratory rate", "respiratory rate (total)", "respiratory rate (spontaneous)"),
        "respiratory rate|respiration rate|respirations rate|resp rate|resp. rate|breathing rate|"
        "rate of breathing|respiration|respirations|rr|respiratory frequency",
    ),
    (
        ("o2 saturation pulseoxymetry", "arterial o2 saturation", "sao2", "spo2"),
        "spo2|sao2|sp o2|sa o2|o2 saturation|o2 sat|o2 sats|oxygen saturation|oxygen sat|"
        "pulse oximetry|pulse oxymetry|pulse ox|pulseox|pulse oximeter|sats|oximetry|"
        "peripheral oxygen saturation|blood oxygen saturation|blood oxygen level|blood oxygen",
    ),
    (
        ("temperature celsius", "temperature fahrenheit", "temperature"),
        "temperature|body temperature|temp|body temp|core temperature",
    ),
    (
        ("temperature fahrenheit",),
        "temperature in fahrenheit|fahrenheit temperature|temperature f",
    ),
    (
        (
            "arterial blood pressure systolic",
            "non invasive blood pressure systolic",
            "art bp systolic",
            "systolic blood pressure",
        ),
        "systolic blood pressure|systolic bp|systolic pressure|systolic|sbp|sys bp|"
        "blood pressure systolic|bp systolic|arterial systolic blood pressure|"
        "systolic arterial blood pressure|systolic arterial pressure|arterial systolic pressure|"
        "arterial line systolic|systolic arterial line",
    ),
    (
        (
            "arterial blood pressure diastolic",
            "non invasive blood pressure diastolic",
            "art bp diastolic",
            "diastolic blood pressure",
        ),
        "diastolic blood pressure|diastolic bp|diastolic pressure|diastolic|dbp|dia bp|"
        "blood pressure diastolic|bp diastolic|arterial diastolic blood pressure|"
        "diastolic arterial blood pressure|diastolic arterial pressure|arterial diastolic pressure",
    ),
    (
        (
            "arterial blood pressure mean",
            "non invasive blood pressure mean",
            "art bp mean",
            "mean blood pressure",
        ),
        "mean blood pressure|mean bp|mean arterial pressure|mean arterial blood pressure|"
        "mean pressure|map|blood pressure mean|bp mean|arterial mean pressure|mbp",
    ),
    (
        ("daily weight", "admission weight (kg)", "weight", "admission weight (lbs.)"),
        "weight|weights|body weight|daily weight|weigh|weighed|weighs|weighing|body mass",
    ),
    (("admission weight (kg)", "admission weight (lbs.)"), "admission weight"),
    (("height (cm)", "height"), "height|heights|body height|how tall|stature|tall"),
]


_EMERGENCY = ("emergency room", "emergency department", "emergency room admit")
_EMERGENCY_NAMES = ("er", "e.r.", "e.r", "emergency room", "emergency rooms")


def entries(strings: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str, str]]:
    """(type, name, value) for the names whose value is among the database's ``strings``."""
    present = {label.lower(): label for label in strings.get("vital", ())}
    for candidates, names in _NAMES:
        label = next((present[c] for c in candidates if c in present), None)
        if label is not None:
            yield from (("vital", name, label) for name in names.split("|"))
    places = {place.lower(): place for place in strings.get("admloc", ())}
    place = next((places[c] for c in _EMERGENCY if c in places), None)
    if place is not None:
        yield from (("admloc", name, place) for name in _EMERGENCY_NAMES)
