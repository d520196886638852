"""Drugs by ingredient and by class: what the drug strings of a record mean.

A name such as ``Piperacillin/Tazobactam (Zosyn)`` is read from left to right: at each word the
longest name of a drug, whatever salt, strength or brand follows. The facts are in ``data/``:
``drugs.tsv`` (ingredients, forms, combinations), ``drug_classes.tsv`` and ``drug_words.tsv``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from ehrqa_cli.concepts.names import lists, table
from ehrqa_cli.contracts.concepts import Concept, Item

TABLES = frozenset({"prescriptions", "pharmacy", "emar", "emar_detail", "inputevents"})
SOURCE = "the program's own table of drugs"
FLUIDS = frozenset({"crystalloids", "hypertonic saline", "dextrose fluids", "water products"})
WATER = frozenset({"water products"})
WITH_FLUIDS = FLUIDS | {"electrolytes", "nutrition"}
SHOWN = 12

_TOKEN = re.compile(r"[a-z0-9][a-z0-9.]*%?")
_PLURAL = re.compile(r"ies$|(?:(?<=sh)|(?<=ch)|(?<=ss)|(?<=x))es$|(?<![su])s$")
_SALT_GAP = re.compile(r"[\s(,.]*")


@dataclass(frozen=True)
class _Drug:
    """A line of drugs.tsv."""

    name: str
    classes: tuple[str, ...]
    others: tuple[str, ...]
    parts: tuple[str, ...]


@dataclass(frozen=True)
class _Class:
    """A line of drug_classes.tsv; ``local`` says where a local form counts instead."""

    name: str
    phrases: tuple[str, ...]
    wider: tuple[str, ...]
    local: dict[str, str]


def _lines(file: str) -> Iterator[list[tuple[str, ...]]]:
    """The records of a data file, each field as the list that it is."""
    return ([*map(lists, record)] for record in table(file, 4))


@cache
def _drugs() -> dict[str, _Drug]:
    return {n[0]: _Drug(n[0], c, o, p) for n, c, o, p in _lines("drugs.tsv")}


@cache
def _classes() -> dict[str, _Class]:
    found = {}
    for name, phrases, wider, local in _lines("drug_classes.tsv"):
        found[name[0]] = _Class(name[0], phrases, wider, dict(x.split("=") for x in local))
    return found


def _plain(text: str) -> str:
    """Lower case, with a strength as one word: ``.9 %`` is ``0.9%``."""
    return re.sub(r"(?<![\d.])\.(?=\d)", "0.", re.sub(r"(?<=\d)\s+%", "%", text.lower()))


def _tokens(text: str) -> list[tuple[str, int, int]]:
    return [(m[0].rstrip("."), m.start(), m.end()) for m in _TOKEN.finditer(text)]


def _words(text: str) -> tuple[str, ...]:
    return tuple(token for token, _, _ in _tokens(_plain(text)))


@cache
def _names() -> dict[str, dict[tuple[str, ...], str]]:
    """First word -> all words of a name as records write it -> the drug."""
    names: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)
    for drug in _drugs().values():
        for name in (drug.name, *(o.lstrip("!") for o in drug.others if o[0] != "~")):
            words = _words(name)
            names[words[0]].setdefault(words, drug.name)
    return dict(names)


@cache
def _forms() -> tuple[dict[str, frozenset[str]], frozenset[tuple[str, ...]]]:
    """The words of each local form, and the salts."""
    lists = {kind[0]: words for kind, words, *_ in _lines("drug_words.tsv")}
    salts = frozenset(map(_words, lists.pop("salt")))
    return {kind: frozenset(words) for kind, words in lists.items()}, salts


def _longest(words: Sequence[str], at: int) -> tuple[str, int]:
    """The drug whose name is the longest one from here, and the number of its words."""
    best, size = "", 0
    for name, drug in _names().get(words[at], {}).items():
        if len(name) > size and tuple(words[at : at + len(name)]) == name:
            best, size = drug, len(name)
    return best, size


@lru_cache(maxsize=65536)
def _read(name: str) -> tuple[tuple[str, ...], str]:
    """The drugs that a name holds, narrowest ones only, and the local form that it shows."""
    text = _plain(name)
    tokens = _tokens(text)
    words = [token for token, _, _ in tokens]
    forms, salts = _forms()
    found: list[str] = []
    at = 0
    after = False
    while at < len(words):
        drug, size = _longest(words, at)
        joined = after and bool(_SALT_GAP.fullmatch(text[tokens[at - 1][2] : tokens[at][1]]))
        salt = max((n for n in (1, 2) if tuple(words[at : at + n]) in salts), default=0)
        if joined and salt >= size and salt:
            at += salt
            continue
        after = bool(drug)
        if drug and drug not in found:
            found.append(drug)
        at += size or 1
    form = next((kind for kind, marks in forms.items() if not marks.isdisjoint(words)), "")
    return _narrowest(found), form


def _narrowest(found: Sequence[str]) -> tuple[str, ...]:
    """Without what another of them implies, without the carrier of another drug."""
    for combination in _combinations().get(frozenset(found), ()):
        found = [combination]
    implied = {part for drug in found for part in _all_parts(drug) if part != drug}
    kept = [drug for drug in found if drug not in implied]
    carried = any(not _with_wider(_own_classes(drug)) & WITH_FLUIDS for drug in kept)
    carriers = FLUIDS if carried else WATER
    rest = tuple(drug for drug in kept if not carriers & set(_own_classes(drug)))
    return rest or tuple(kept)


@cache
def _combinations() -> dict[frozenset[str], tuple[str, ...]]:
    """Ingredients -> the combination of them; none where two have the same."""
    made: dict[frozenset[str], tuple[str, ...]] = {}
    for drug in _drugs().values():
        if len(drug.parts) > 1:
            key = frozenset(drug.parts)
            made[key] = () if key in made else (drug.name,)
    return made


@cache
def _all_parts(drug: str) -> tuple[str, ...]:
    """The drug and, in turn, all that it consists of or is a form of."""
    parts = [drug]
    for part in parts:
        parts += [p for p in _drugs()[part].parts if p not in parts]
    return tuple(parts)


@cache
def _own_classes(drug: str) -> tuple[str, ...]:
    """The classes of a drug; of a combination without its own those of its parts."""
    line = _drugs()[drug]
    return line.classes or tuple(c for part in line.parts for c in _own_classes(part))


def _with_wider(classes: Iterable[str]) -> set[str]:
    """The classes and all that are wider."""
    todo, seen = list(classes), set[str]()
    while todo:
        seen.add(name := todo.pop())
        todo += [wider for wider in _classes()[name].wider if wider not in seen]
    return seen


@cache
def _placed(name: str, form: str) -> str:
    """The class in which a drug of this class counts when its name shows a local form."""
    line = _classes()[name]
    if form in line.local:
        return "" if line.local[form] == "-" else line.local[form]
    for wider in line.wider:
        if (placed := _placed(wider, form)) != wider:
            return placed
    return name


@cache
def _classes_in(drug: str, form: str) -> frozenset[str]:
    """All classes that a drug in this form belongs to."""
    placed = (_placed(name, form) for name in _own_classes(drug))
    return frozenset(_with_wider(name for name in placed if name))


def ingredients(name: str) -> tuple[str, ...]:
    """The ingredients of a drug by the name that a record gives it, in the order of the name.

    ``Losartan Potassium-HCTZ 50 mg`` has losartan and hydrochlorothiazide. A carrier ("in 0.9%
    sodium chloride") is none. Empty: no drug of the table is named.
    """
    parts = (p for drug in _read(name)[0] for p in _all_parts(drug) if not _drugs()[p].parts)
    return tuple(dict.fromkeys(parts))


def resolve(items: Sequence[Item]) -> list[Concept]:
    """A concept for every ingredient, form, combination and class, with its items of this record.

    Items of other tables than TABLES are ignored; those without a known drug are in no concept.
    """
    of_drug: dict[str, dict[Item, None]] = defaultdict(dict)
    of_class: dict[str, dict[Item, None]] = defaultdict(dict)
    drugs_in: dict[str, dict[str, None]] = defaultdict(dict)
    for item in sorted((i for i in items if i.table in TABLES), key=lambda i: -i.rows):
        drugs, form = _read(item.name or str(item.code))
        for drug in drugs:
            for part in _all_parts(drug):
                of_drug[part][item] = None
            for name in _classes_in(drug, form):
                of_class[name][item] = None
                drugs_in[name][drug] = None
    taken = {phrase for name in _classes() for phrase in _class_phrases(name)}
    concepts = [_drug_concept(d, tuple(of_drug[d.name]), taken) for d in _drugs().values()]
    for name in _classes():
        phrases, members = _class_phrases(name), tuple(of_class[name])
        about = _about(name, drugs_in[name])
        concepts.append(Concept("drug", name, phrases, members, about, SOURCE))
    return [concept for concept in concepts if concept.phrases]


def _drug_concept(drug: _Drug, items: tuple[Item, ...], taken: set[str]) -> Concept:
    names = [drug.name, *(o.lstrip("~") for o in drug.others if o[0] != "!")]
    if len(drug.parts) == 2 and _combinations()[frozenset(drug.parts)]:
        names += [" ".join(drug.parts), " ".join(reversed(drug.parts))]
    phrases = tuple(p for p in dict.fromkeys(map(_phrase, names)) if p not in taken)
    classes = f" ({', '.join(drug.classes)})" if drug.classes else ""
    if len(drug.parts) > 1:
        about = f"combination: {' + '.join(drug.parts)}{classes}"
    else:
        about = f"{'form of ' + drug.parts[0] if drug.parts else 'ingredient'}{classes}"
    return Concept("drug", drug.name, phrases, items, about, SOURCE)


@cache
def _drug_phrases() -> frozenset[str]:
    return frozenset(_phrase(n) for d in _drugs().values() for n in (d.name, *d.others))


@cache
def _class_phrases(name: str) -> tuple[str, ...]:
    """What a class is called; one of its singulars that names a drug ("penicillin") is left out."""
    if name.startswith("other "):
        return ()
    plural = {p.lstrip("="): p[0] != "=" for p in (name, *_classes()[name].phrases)}
    single = (_PLURAL.sub(_singular, plural_) for plural_, has_one in plural.items() if has_one)
    drugs = _drug_phrases()
    phrases = [*map(_phrase, plural), *(p for p in map(_phrase, single) if p not in drugs)]
    return tuple(dict.fromkeys(phrases))


def _singular(ending: re.Match[str]) -> str:
    return "y" if ending[0] == "ies" else ""


def _about(name: str, here: Iterable[str]) -> str:
    """The drugs of a class that occur here, the commonest first; else some that it would have."""
    shown = [_shown(drug, name) for drug in here]
    head = "class: " if shown else "class, none here: "
    shown = list(dict.fromkeys(shown or [d for d in _drugs() if name in _classes_in(d, "")]))
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return head + ", ".join(shown[:SHOWN]) + more


def _shown(drug: str, name: str) -> str:
    """A form by its ingredient, if that is of the class too."""
    parts = _drugs()[drug].parts
    return parts[0] if len(parts) == 1 and name in _classes_in(parts[0], "") else drug


def _phrase(name: str) -> str:
    """A name as people type it: lower case, single spaces, of punctuation only ``% . / #``."""
    return " ".join(re.sub(r"[^\w%./#]+", " ", _plain(name).replace("'s", "s")).split())
