"""The dictionaries: what codes and item ids are called, and which of them are imported."""

from __future__ import annotations

from dataclasses import dataclass, field

from ehrqa_cli.ehr.mimic.files import Converted, Fields
from ehrqa_cli.ehr.mimic.options import ImportOptions
from ehrqa_cli.ehr.mimic.values import Texts, whole

ICD_COLUMNS = ("icd_code", "icd_version", "long_title")
LAB_COLUMNS = ("itemid", "label")
ITEM_COLUMNS = ("itemid", "label", "abbreviation", "linksto")
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
    """Converts dictionary rows, and remembers which codes and items there are."""

    options: ImportOptions
    texts: Texts
    diagnoses: dict[str, str] = field(default_factory=dict)
    procedures: dict[str, str] = field(default_factory=dict)
    labs: dict[str, int] = field(default_factory=dict)
    items: dict[str, int] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    _titles: set[str | None] = field(default_factory=set)
    _procedure_titles: set[str | None] = field(default_factory=set)

    def code(self, icd_code: str, version: str) -> str:
        """``icd9|4019``: the code as the EHRSQL schema writes it, unique over both versions."""
        return f"icd{version}|{self.texts[icd_code] or ''}"

    def procedure(self, row: Fields) -> Converted:
        """A row of d_icd_procedures; to be read before the diagnoses."""
        return self._icd(row, self.procedures, self._procedure_titles)

    def diagnosis(self, row: Fields) -> Converted:
        """A row of d_icd_diagnoses."""
        if self.options.drop_duplicate_titles and self.texts[row[2]] in self._procedure_titles:
            return "a procedure has the same title"
        return self._icd(row, self.diagnoses, self._titles)

    def _icd(self, row: Fields, codes: dict[str, str], titles: set[str | None]) -> Converted:
        raw, version, long_title = row
        title = self.texts[long_title]
        if self.options.drop_duplicate_titles:
            if title in titles:
                return _SAME_TITLE
            titles.add(title)
        code = self.code(raw, str(whole(version, "icd_version")))
        if title is None:
            return "no title"
        codes[code] = code
        return code, title

    def lab(self, row: Fields) -> Converted:
        """A row of d_labitems."""
        key, label = row
        number = whole(key, "itemid")
        name = self.texts[label]
        if self.options.drop_ambiguous_names:
            if (name or "").lower() in _LABS:
                return _AMBIGUOUS
            if not label:
                return "no name"
            self.taken.add(name or "")
        self.labs[key] = number
        return number, name

    def item(self, row: Fields) -> Converted:
        """A row of d_items."""
        key, label, short, table = row
        number = whole(key, "itemid")
        if table not in _EVENTS:
            return "an item of a table that is not imported"
        name = self.texts[label]
        if name is None:
            return "no name"
        if self.options.drop_ambiguous_names:
            if name.lower() in _ITEMS:
                return _AMBIGUOUS
            if table == "inputevents":
                self.taken.add(name)
        self.items[key] = number
        return number, name, self.texts[short] or name, self.texts[table]

    def finish(self) -> None:
        """Forget what only the dictionaries needed."""
        self._titles.clear()
        self._procedure_titles.clear()
