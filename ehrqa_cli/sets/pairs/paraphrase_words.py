"""What stands for a template's slots while it is paraphrased: made-up values that read naturally.

A small model keeps "patient 4711" and "in 2019" far better than ``{patient_id}`` and
``[time_filter_global1]``. The values are constants: no patient's data is in a prompt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ehrqa_cli.sets.pairs.slots import canonical

SLOT = re.compile(r"\$?[\[{][a-z_0-9]+[\]}]")
_STAND_INS = {
    "p": "4711", "study_id": "50312", "study_id2": "50787",
    "tg": "in 2019", "tg2": "in 2021", "ex": "second", "ex2": "third", "tw": "within two months",
    "object": "left lung", "object_2": "spine", "attribute": "pneumonia",
    "attribute_2": "atelectasis", "category": "diseases", "category_2": "devices",
    "dx": "hypertension", "dx2": "anemia", "proc": "hip replacement", "proc2": "tracheostomy",
    "drug": "aspirin", "drug2": "warfarin", "drug3": "insulin", "n_rank": "five", "lab": "sodium",
    "lab_value": "141", "vital": "heart rate", "vital_value": "97", "aged": "40-49", "per": "days",
    "unit": "monthly", "agg": "average", "intake": "dextrose", "gender": "female",
    "specimen": "urine", "mtest": "mrsa screen", "output": "gastric tube", "n_times": "two times",
    "surv": "1 year", "careunit": "neurology", "route": "oral", "sort": "highest",
    "abbrev": "CABG", "admloc": "emergency room", "viewpos": "AP", "cmp": "less",
}  # fmt: skip
_NEW = "newly detected"  # of images: ${comparison} is no comparison of values
# How else a stand-in may be said: the slot takes the place of the whole of it. Categories also come
# in the singular; the slot is filled with whichever the vocabulary has.
_SAID_AS = {
    "category": "diseases?", "category_2": "devices?",
    "tg": "(?:in|during) (?:the year )?2019", "tg2": "(?:in|during) (?:the year )?2021",
    "tw": "within (?:two|2) months", "n_rank": "(?:five|5)", "sort": "(?:highest|maximum)",
}  # fmt: skip
_TIDIED = (
    ("Has_verb", "Has"), ("are_verb", "are"), ("is_verb", "is"),
    ("any abnormality", "any abnormalities"), ("list all abnormality", "list all abnormalities"),
    ("list all common abnormality", "list all common abnormalities"),
)  # fmt: skip


@dataclass(frozen=True)
class Spelled:
    """A template as the model sees it, and which words stand for which slots (slot, words, how
    often the template has it)."""

    text: str
    stand_ins: tuple[tuple[str, str, int], ...]

    def slotted(self, said: str) -> str | None:
        """``said`` with the slots for their stand-ins; None when one is missing or comes more
        often than in the template (once is enough of a patient named twice)."""
        for slot, words, count in sorted(self.stand_ins, key=lambda s: -len(s[1])):
            pattern = _pattern(slot, words)
            found = len(pattern.findall(said))
            if not 1 <= found <= count or (found != count and _name(slot) != "p"):
                return None
            said = pattern.sub(lambda _match, slot=slot: slot, said)  # type: ignore[misc]
        return said

    def without(self, said: str) -> str:
        """``said`` without the stand-ins: the words that are the model's own."""
        for slot, words, _ in sorted(self.stand_ins, key=lambda s: -len(s[1])):
            said = _pattern(slot, words).sub(" _ ", said)
        return said


def spell(template: str) -> Spelled:
    """A template with stand-ins for its slots. Raises KeyError for a slot that has none."""
    counts = Counter(SLOT.findall(template))
    words = {slot: _stand_in(slot) for slot in counts}
    text = template
    for old, new in _TIDIED:
        text = text.replace(old, new)
    text = SLOT.sub(lambda match: words[match[0]], text)
    text = re.sub(r"\s+([?.,])", r"\1", " ".join(text.split()))
    return Spelled(text, tuple((slot, words[slot], n) for slot, n in counts.items()))


def filled(wording: str, spelled: Spelled) -> str:
    """A wording of the same slots with the same stand-ins."""
    words = {slot: said for slot, said, _ in spelled.stand_ins}
    return SLOT.sub(lambda match: words.get(match[0], match[0]), wording)


def slots_of(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """The slots of each text, sorted."""
    return [tuple(sorted(set(SLOT.findall(text)))) for text in texts]


def _stand_in(slot: str) -> str:
    return _NEW if slot == "${comparison}" else _STAND_INS[_name(slot)]


def _name(slot: str) -> str:
    plain = slot.strip("${}[]")
    if plain.startswith(("object", "attribute", "category")):
        return plain.removesuffix("_1")
    return canonical(plain)


def _pattern(slot: str, words: str) -> re.Pattern[str]:
    body = re.escape(words) if slot == "${comparison}" else _SAID_AS.get(_name(slot))
    return re.compile(rf"(?<![\w-])(?:{body or re.escape(words)})(?![\w-])", re.IGNORECASE)
