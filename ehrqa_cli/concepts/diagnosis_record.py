"""The diagnoses of a record, read as codes of ICD-9-CM and ICD-10-CM."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ehrqa_cli.concepts.icd_codes import CodeIndex, versions_of
from ehrqa_cli.concepts.icd_titles import places_of, titles, words_of
from ehrqa_cli.contracts.concepts import Item

_TABLES = re.compile(r"diagnos|condition", re.IGNORECASE)
_PROCEDURE = re.compile(r"proc", re.IGNORECASE)


class Record:
    """The diagnoses among the items of a record.

    ``own`` are all of them, ``coded`` those with (version, code) of ICD, ``uncoded`` those whose
    code is of another vocabulary: they are also in ``coded`` under what their names say.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self.uncoded: list[Item] = []
        self.coded: list[tuple[int, str, Item]] = []
        self.own = [i for i in items if _TABLES.search(i.table) and not _PROCEDURE.search(i.table)]
        # numbers longer than ICD's: then all numbers here are ids of another vocabulary
        ids = any(re.fullmatch(r"\d{6,}", str(item.code)) for item in self.own)
        read = {str(i.code): versions_of(str(i.code)) for i in self.own}
        sure = [places[0][0] for places in read.values() if len(places) == 1]
        usual = 10 if sure.count(10) > sure.count(9) else 9
        for item in self.own:
            code = str(item.code)
            places = () if ids and code.isdigit() else read[code]
            if len(places) > 1 and "," not in code:
                places = (_likelier(places, item.name, usual),)
            if not places:
                self.uncoded.append(item)
                places = tuple((10, place) for place in places_of(item.name))
            self.coded += [(version, place, item) for version, place in places]
        self.index = CodeIndex(self.coded)


def _likelier(read: Sequence[tuple[int, str]], name: str, usual: int) -> tuple[int, str]:
    """The version whose titles above the code share more words with its name, else the usual."""
    said = words_of(name)

    def shared(place: tuple[int, str]) -> tuple[int, bool]:
        version, code = place
        at = 4 if version == 9 and code[0] == "E" else 3
        known = titles(version)
        above = (known[code[:n]][0] for n in range(at, len(code) + 1) if code[:n] in known)
        return len(said & words_of(" ".join(above))), version == usual

    return max(read, key=shared)
