"""English words that the words of a logical form account for.

A content word of the question that nothing in the form accounts for is a sign that the form
answers another question ("the *resident* looking after 10039831"). The signal is soft: it is
measured and weighed with the others (engine.confidence), because no list of words is complete.
A trailing ``*`` stands for any ending.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

# Words that ask, link or are polite, and words that any question about records may hold.
COMMON = """
a an the of in on at to for from with by and or as into out up off within through via s t d me my
i im i'm i'd i've you your us we it its it's this that these those there their them they he him his
she her is isn't was wasn't were weren't are be been being am do does did didn't done has hasn't
have had having can could would please what what's whats which who whom whose when where how any
some many much each per than then so if but also just only exactly been get gets got gotten give
given giving tell show shows list find found retrieve* provide* display* inform* know let want need
like look up fetch* report reported reports check checked confirm* reveal* state see make made
calculate* compute* determine* specify indicate* describe* present return* pull gather question
patient* pt pts subject people person individual* case cases hospital* recorded record records
documented registered data database chart event* occur* happen* instance* occasion* time times
go goes went take* took taking took come came use* using way ways kind sort type types thing* term
terms there's ok okay hi hey hello thanks thank yes no been value* result* reading* measure* level*
called named name* specific* certain particular* involv* includ* contain* have's since during
throughout over between about regard* concern* relat* respect* associat* correspond* based ever
already one ones else above stay* visit* encounter* known gone observ* getting various
complet* execut* undert* assign* held anything versus exist* experienc* please
receiv* place* previous* treat* undergo* underw* perform* conduct* order* administ* among compar*
all whether seen charted logged noted
ml mg mcg g kg lb lbs cm mm mmhg mmol meq dl l iu unit units percent bpm degrees celsius fahrenheit
earlier medical typical* now refer* under expos* share* retriev* requir*
"""

# What each word of the grammar may be called. Words shared by several stand with each of them.
LEXEMES: dict[str, str] = {
    # heads
    "count": "count* number* total tally quantif* frequen* often amount",
    "count_patients": "count* number* total tally unique distinct different amount",
    "count_visits": "count* number* total tally unique distinct admi* amount",
    "count_names": "count* number* total tally unique distinct different kinds amount",
    "time": "date* day hour* month* year* moment",
    "value": "amount* quantit* dose* dosage* volume* strength* cost* price* charge* weigh* heigh*",
    "name": "title identit*",
    "route": "route* method* administ* consum* ingest* intake mode deliver* typical* means common*",
    "unit": "unit*",
    "age": "age* old year*",
    "gender": "gender sex male* female* man woman",
    "birth": "birth* born dob date day",
    "deathdate": "dea* die* dod date day pass*",
    "insurance": "insur* payer coverage cover* plan",
    "marital": "marital married marriage single widow* divorc* status",
    "language": "language* speak* spoken",
    "admission_type": "admi*",
    "admission_location": "admi* location place transfer* refer* arriv*",
    "discharge_location": "discharg* sent location destination place dispos* left leave",
    "careunit": "careunit* care unit* ward* icu",
    "length": "length* los long longer longest shorter shortest duration last* day* hour*",
    "days_since": "total pass* elapse* ago day* long past count* number* many",
    "hours_since": "total pass* elapse* ago hour* long past count* number* many",
    "exists": "ever any experienc* undergo* history normal*",
    "none": "normal* within range",
    "sum": "total* sum number quantif* overall aggregate accumulat* add* amount* quantit* volume*"
    " combined whole",
    "avg": "avg average* mean amount* volume*",
    "max": "costliest priciest longest max* highest greatest most largest top peak"
    " upper amount* volume*",
    "min": "cheapest shortest nadir min* lowest least smallest lower bottom amount* volume*",
    "avg_total": "average* mean total",
    "max_total": "max* highest greatest most largest total",
    "min_total": "min* lowest least smallest total",
    "avg_count": "average* mean number* count*",
    "max_count": "max* highest greatest most largest number* count*",
    "min_count": "min* lowest least smallest number* count*",
    "per_day": "daily day* per every",
    "per_month": "month* monthly per every",
    "per_year": "year* yearly annual* per every",
    "top": "top most common* frequen* rank* prevalent popular often regular* recurrent usual*",
    "top_mortality": "surviv* low* top most high* mortal* death* rate* rank* dead* fatal*",
    "survival": "surviv* rate alive",
    "percentile": "percentile* rank*",
    "cost": "cost* price* pricing charge* expens* bill* pay* fee* much spend* purchas*",
    "expand": "stand* mean* abbrev* expand full acronym",
    "patients": "id ids",
    "place": "anatomic* location* where region* area*",
    "view": "view* projection position",
    "sex": "gender sex",
    # kinds
    "person": "gender sex birth* born dob alive living",
    "admission": "admi* hospitali* enter* entry entered attend*",
    "discharge": "discharg* sent leave* left depart* releas*",
    "icustay": "icu icus intensive care unit* admi*",
    "transfer": "careunit* care unit* ward* transfer* moved admi* icu",
    "dx": "dx diagnos* disease* condition* illness* disorder* problem* suffer* affected",
    "proc": "procedure* proc procs surger* surgical operation* operated undergo* underw* perform*"
    " treatment* carried conduct*",
    "icu": "icu icus intensive care unit*",
    "rx": "drug* rx meds med medic* prescri* pre ribed dose* order* administ* receiv*"
    " treat* purchas*",
    "lab": "lab* test* body count* amount* examin* level* order* conduct* perform* blood receiv*",
    "vital": "vital* sign* body blood pressure heart rate temperature saturation weight* height*"
    " weigh* respirat* bp spo mean systolic diastolic tall",
    "intake": "medic* drug* dose* dosage* input* intake* fluid* infus* receiv* volume* amount*",
    "output": "output* fluid* volume* amount* drain*",
    "specimen": "specimen* examin* sample* culture* microb* test* swab*",
    "mtest": "microb* test* culture* lab* perform* conduct* receiv*",
    "organism": "organism* test* examin* body microb* bacteri* grow* grew culture*"
    " germ* detect* discover* found",
    "bill": "cost* bill* charge* expens* pay* paid price* spen* expenditure*",
    "death": "die* dea* mortal* pass* dod",
    "study": "study studies cxr x-ray* xray* radiograph* image* chest",
    "item": "abbrev* acronym stand*",
    "finding": "finding* sign* abnormal* anatom* disease* device* tube* line* lung*",
    "wide_heart": "cardiac silhouette heart wid* enlarg* cardiothoracic half thorax",
    "wide_mediastinum": "mediastin* wid* third thorax",
    # order and extremes
    "first": "first initial* oldest earliest start",
    "second": "second",
    "third": "third",
    "last": "newest last latest recent* final* most end",
    "second_last": "second last penultimate",
    "highest": "longest highest max* greatest most largest peak",
    "lowest": "shortest nadir lowest min* least smallest",
    # relations and filters
    "after": "after* follow* subsequent* later post since then receiv* next",
    "followed": "after* follow* subsequent* later then",
    "before": "before prior preced* previous* earlier",
    "with": "same simultaneous* along together also with while concurrent*",
    "without": "without not no never",
    "notfollowed": "without not no never after*",
    "involving": "involv*",
    "samevisit": "same",
    "sameday": "same day",
    "samemonth": "same month",
    "sametime": "same",
    "sameperiod": "same",
    "within": "day* month* year* hour* week*",
    "current": "current* now present* still",
    "today": "today* day",
    "yesterday": "yesterday* day last",
    "this_year": "year*",
    "last_year": "year* last previous past prior",
    "this_month": "month*",
    "last_month": "month* last previous past prior",
    "since_ago": "ago last past recent* since",
    "until_ago": "ago until before",
    "since": "since start* from after",
    "before_date": "before until prior",
    "in": "year* month* day*",
    "aged": "age* old group year* elderly",
    "older": "age* old* above over year*",
    "younger": "age* young* below under year*",
    "female": "female* women woman",
    "male": "male* men man",
    "over": "greater more above higher exceed* over larger",
    "under": "less lower below under smaller fewer",
    "atleast": "least more minimum",
    "atmost": "most less maximum",
    "abnormal": "abnormal* out range outside",
    "high": "high* above elevated",
    "low": "low* below",
    "peers": "same age group among compar* rank*",
    "times": "once twice thrice",
    "times_atleast": "once twice thrice least more",
    "minus": "differ* change* compar* minus subtract* between delta drop* rise gap plan",
    "less": "less lower smaller fewer decreas* compar* reduc* drop*",
    "greater": "greater more higher larger bigger increas* compar* exceed* heavier",
    "equal": "equal same identical",
    "except": "new add* chang* recent* newly other not except* besides",
    "union": "either",
    "intersect": "both common",
    "and": "both",
    "or": "either",
}
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
LEXEMES |= {str(n): word for n, word in enumerate(_NUMBERS, 1)}
# One form word implies others: a comparison of two values tells the time between them, etc.
_ALSO = {"minus": ("second_last",), "2": ("second", "times"), "top": ("name",)}

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@dataclass(frozen=True)
class Unused:
    """Words of a question that a form leaves unused: ``unknown`` to the whole grammar, or
    ``elsewhere``: the words of something that this form does not ask."""

    unknown: tuple[str, ...]
    elsewhere: tuple[str, ...]


def content_words(text: str, spans: Iterable[tuple[int, int]] = ()) -> list[str]:
    """Lower-cased words outside the linked ``spans``, less those any question may hold."""
    masked = list(text)
    for start, end in spans:
        masked[start:end] = " " * (end - start)
    words = (w.lower().replace("’", "'") for w in _WORD.findall("".join(masked)))
    return [w for w in words if not _matches(w.removesuffix("'s"), "", COMMON)]


def unused(words: Iterable[str], form: str) -> Unused:
    """Which content words neither a word of the printed ``form`` nor a common word explains."""
    lexemes = set(form.split())
    for word in list(lexemes):
        lexemes.update(_ALSO.get(word, ()))
    licensed = " ".join(LEXEMES[x] for x in sorted(lexemes) if x in LEXEMES)
    left = [w for w in words if not _matches(w.removesuffix("'s"), licensed, "")]
    known = [w for w in left if _matches(w.removesuffix("'s"), _everything(), "")]
    return Unused(tuple(w for w in left if w not in known), tuple(known))


@cache
def _everything() -> str:
    return " ".join(LEXEMES.values())


@lru_cache(maxsize=512)
def _lists(vocabulary: str) -> tuple[frozenset[str], tuple[str, ...]]:
    entries = vocabulary.split()
    whole = frozenset(e for e in entries if not e.endswith("*"))
    return whole, tuple(e[:-1] for e in entries if e.endswith("*"))


def _matches(word: str, *vocabularies: str) -> bool:
    for vocabulary in vocabularies:
        whole, prefixes = _lists(vocabulary)
        if word in whole or (prefixes and word.startswith(prefixes)):
            return True
    return False
