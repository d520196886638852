"""What stands for a template's slots while it is paraphrased: made-up values that read naturally.

A small model keeps "patient 4711" and "in 2019" far better than ``{patient_id}`` and
``[time_filter_global1]``. The values are constants: no patient's data is in a prompt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli.sets.data import table
from ehrqa_cli.sets.pairs.slots import canonical

SLOT = re.compile(r"\$?[\[{][a-z_0-9]+[\]}]")
_TABLE = table("pairs/words/paraphrase")
_STAND_INS: Mapping[str, str] = _TABLE["stand_in"]
_SAID_AS: Mapping[str, str] = _TABLE["said_as"]
_NEW = "newly detected"  # of images: ${comparison} is no comparison of values


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
    for old, new in _TABLE["tidied"]:
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
