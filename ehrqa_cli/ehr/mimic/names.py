"""The dictionaries: what codes and item ids are called, and which of them are imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ehrqa_cli.ehr.mimic.fields import Made, code_of
from ehrqa_cli.ehr.mimic.files import Converted, Converter, Fields
from ehrqa_cli.ehr.mimic.options import ImportOptions
from ehrqa_cli.ehr.mimic.values import Dates, Texts, whole

_EVENTS = ("chartevents", "inputevents", "outputevents")
_SAME_TITLE = "an earlier code has the same title"
_AMBIGUOUS = "its name is also that of another kind of thing"

# The labs and items that EHRSQL-2024 leaves out because of their names, found by comparing its
# dictionaries with MIMIC-IV's. The rule behind the list is not published: most are drugs too.
_AMBIGUOUS_LABS = (
    "potassium, lidocaine, folate, quinidine, vancomycin, digoxin, insulin, procainamide,"
    " phenobarbital, zinc, amikacin, progesterone, d, primidone, methotrexate, acetaminophen,"
    " gentamicin, fentanyl, test, heparin, factor viii"
)
_AMBIGUOUS_ITEMS = (
    "magnesium, amikacin, gentamicin, vancomycin, tobramycin, procainamide, lidocaine, digoxin,"
    " phenobarbital, albumin, thrombin"
)
_LABS = frozenset(_AMBIGUOUS_LABS.split(", "))
_ITEMS = frozenset(_AMBIGUOUS_ITEMS.split(", "))


@dataclass
class Names:
    """Converts dictionary rows, and remembers which codes and items there are.

    ``items`` are those of ``d_items`` that may have events in the tables of EHRSQL, ``labels`` the
    names of all items of the ICU; keys are as in the files.
    """

    options: ImportOptions
    texts: Texts
    labels: dict[str, str | None]
    diagnoses: set[str | None] = field(default_factory=set)
    procedures: set[str | None] = field(default_factory=set)
    labs: set[str] = field(default_factory=set)
    items: dict[str, int] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    _procedure_titles: set[str | None] = field(default_factory=set)

    def converter(self, made: Made, dates: Dates) -> Converter:
        """Of the rows of a dictionary; procedures are to be read before diagnoses."""
        make: dict[str, Callable[[Made, Dates], Converter]] = {
            "d_icd_procedures": self._procedures,
            "d_icd_diagnoses": self._diagnoses,
            "d_labitems": self._labs,
            "d_items": self._items,
        }
        return make[made.table.name](made, dates)

    def _procedures(self, made: Made, _dates: Dates) -> Converter:
        return self._icd(made, self.procedures, self._procedure_titles, set())

    def _diagnoses(self, made: Made, _dates: Dates) -> Converter:
        return self._icd(made, self.diagnoses, set(), self._procedure_titles)

    def _icd(
        self, made: Made, codes: set[str | None], titles: set[str | None], others: set[str | None]
    ) -> Converter:
        """``others`` are titles of procedures. Every code and title comes once: nothing to keep."""
        code, title = made.at("icd_code"), made.at("long_title")
        version, once = made.columns.index("icd_version"), self.options.drop_duplicate_titles
        text, versions = self.texts.make, {"9", "10"}

        def convert(row: Fields) -> Converted:
            name, known = text(row[title]), text(code_of(row[code], row[version]))
            if row[version] not in versions:
                whole(row[version], "icd_version")
            if once:
                if name in others:
                    return "a procedure has the same title"
                if name in titles:
                    return _SAME_TITLE
                titles.add(name)
            if name is None:
                return "no title"
            codes.add(known)
            return known, name

        return convert

    def _labs(self, made: Made, dates: Dates) -> Converter:
        item, label = made.at("itemid"), made.at("label")

        def convert(row: Fields) -> Converted:
            values = made.values(row, dates)
            name = values[label]
            if self.options.drop_ambiguous_names:
                if (name or "").lower() in _LABS:
                    return _AMBIGUOUS
                if not row[label]:
                    return "no name"
                self.taken.add(name or "")
            self.labs.add(row[item])
            return values

        return convert

    def _items(self, made: Made, dates: Dates) -> Converter:
        item, label, linksto = made.at("itemid"), made.at("label"), made.at("linksto")

        def convert(row: Fields) -> Converted:
            name, table = self.texts[row[label]], row[linksto]
            self.labels[row[item]] = name
            if self.options.drop_other_items and table not in _EVENTS:
                return "an item of another table"
            if name is None:
                return "no name"
            values = made.values(made.joined(row), dates)
            if self.options.drop_ambiguous_names:
                if name.lower() in _ITEMS:
                    return _AMBIGUOUS
                if table == "inputevents":
                    self.taken.add(name)
            self.items[row[item]] = values[item]
            return values

        return convert
