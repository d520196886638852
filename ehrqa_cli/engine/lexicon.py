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
wt pls plz thx thanks kindly whats who's where's how's gimme lemme wanna curious wonder* wondering
hx w wo fu yo y o hadm subj rec req info would i'll we'd we're let's
along alongside respective* together across overall among amongst amid regardless roughly
approx* about exact precis* simply quick* briefly ask asking tell
far entire whole
each every both either neither
entr*
yes/no true false bool* binary
"""

# What each word of the grammar may be called. Words shared by several stand with each of them.
LEXEMES: dict[str, str] = {
    # heads
    "count": "count* number* total tally quantif* frequen* often amount size headcount volume",
    "count_patients": "count* number* total tally unique distinct different amount headcount"
    " cohort size",
    "count_visits": "count* number* total tally unique distinct different admi* amount",
    "count_names": "count* number* total tally unique distinct different kinds amount",
    "visits": "admi* hadm* hospitali* encounter* id ids identifier*",
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
    "median": "median* middle midpoint",
    "max": "costliest priciest longest max* highest greatest most largest top peak"
    " upper amount* volume*",
    "min": "cheapest shortest nadir min* lowest least smallest lower bottom amount* volume*",
    **{
        f"{word}_length": f"{spoken} length* los long longer last* duration stay* day* hour* time"
        for word, spoken in {
            "avg": "avg average* mean typical*",
            "max": "max* longest most",
            "median": "median*",
            "min": "min* shortest least",
            "sum": "total* sum combined cumulative altogether",
        }.items()
    },
    **{
        f"{word}_age": f"{spoken} age* old year*"
        for word, spoken in {
            "avg": "avg average* mean",
            "max": "max* oldest highest",
            "min": "min* youngest lowest",
        }.items()
    },
    **{
        f"{word}_wait": f"{spoken} wait* delay* time between gap interval* day* hour* until"
        " till after"
        for word, spoken in {
            "avg": "avg average* mean typical*",
            "max": "max* longest",
            "min": "min* shortest",
        }.items()
    },
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
    "patients": "id ids identifier* mrn mrns per by each",
    "place": "anatomic* location* where region* area*",
    "view": "view* projection position",
    "sex": "gender sex",
    # kinds
    "person": "gender sex birth* born dob alive living",
    "admission": "admi* hospitali* enter* entry entered attend* inpatient* episode* arriv* arrival*"
    " came come presented hadm*",
    "discharge": "discharg* sent leave* left depart* releas* dispo* going home d/c dc",
    "icustay": "icu icus intensive care unit* admi* critical*",
    "transfer": "careunit* care unit* ward* transfer* moved admi* icu",
    "dx": "dx diagnos* disease* condition* illness* disorder* problem* suffer* affected",
    "proc": "procedure* proc procs surger* surgical operation* operated undergo* underw* perform*"
    " treatment* carried conduct*",
    "icu": "icu icus intensive care unit*",
    "rx": "drug* rx meds med medic* prescri* pre ribed dose* order* administ* receiv* script*"
    " treat* purchas* pharm* agent* therap* start* written",
    "lab": "lab* chem* value* serum plasma draw* drawn specimen* collect* test* body count*"
    " amount* examin* level* order* conduct* perform* blood receiv*",
    "vital": "vital* sign* body blood pressure heart rate temperature saturation weight* height*"
    " weigh* respirat* bp spo mean systolic diastolic tall",
    "intake": "drip* gtt* iv hung ran run running titrat* rate* amount* pump* transfus* fed"
    " feed* medic* drug* dose* dosage* input* intake* fluid* infus* receiv* volume* amount*",
    "output": "out put urine drained dump* made produc* excret* output* fluid* volume* amount*"
    " drain*",
    "specimen": "cx micro* sent send collect* specimen* examin* sample* culture* microb* test*"
    " swab*",
    "mtest": "microb* test* culture* lab* perform* conduct* receiv*",
    "organism": "grow* isolat* positive infect* bug* pathogen* culture* organism* test* examin*"
    " body microb* bacteri* grow* grew culture*"
    " germ* detect* discover* found",
    "bill": "cost* bill* charge* expens* pay* paid price* spen* expenditure*",
    "death": "die* dea* mortal* pass* dod decease* expire* demise* fatal*",
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
    "after": "once start* after* follow* subsequent* later post since then receiv* next",
    "followed": "after* follow* subsequent* later then",
    "before": "before prior preced* previous* earlier",
    "with": "who that also having plus whose during same simultaneous* along together also with"
    " while concurrent*",
    "without": "without not no never lack* absen* neither nor didn't free minus except",
    "notfollowed": "without not no never after*",
    "involving": "involv*",
    "samevisit": "same",
    "sameday": "same day",
    "samemonth": "same month",
    "sametime": "same",
    "sameperiod": "same",
    "within": "day* month* year* hour* week*",
    "current": "current* now present* still ongoing in-house inhouse right active*",
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
    "female": "female* women woman girl* lady ladies gender sex",
    "male": "male* men man boy* gentlem* gender sex",
    "over": "greater more above higher exceed* over larger",
    "under": "less lower below under smaller fewer",
    "atleast": "least more minimum",
    "atmost": "most less maximum",
    "abnormal": "abnormal* out range outside reference limit* flag* normal",
    "high": "high* above elevated upper limit* reference range normal exceed*",
    "low": "low* below lower limit* reference range normal decreas*",
    "peers": "same age group among compar* rank*",
    "times": "once twice thrice",
    "times_atleast": "once twice thrice least more",
    "plus": "plus add* sum total combined together",
    "ratio": "ratio* proportion* fraction* share* divid* per average* mean rate*",
    "percent": "percent* % proportion* share* fraction* rate* portion",
    "days_between": "day* between gap interval* elapse* pass* long time from until till to apart"
    " later after before delay* lag* wait*",
    "hours_between": "hour* between gap interval* elapse* pass* long time from until till to apart"
    " later after before delay* lag* wait*",
    "beside": "respective* each both versus vs compar* side",
    "in_hours": "hour* hr hrs",
    "also": "also plus along alongside respective* together including correspond*",
    "by": "by per each every group* broken breakdown split stratif* across according respective*"
    " distribut* separate*",
    "most": "most highest largest greatest top max* common* frequen* leading biggest longest",
    "least": "least lowest smallest fewest bottom min* shortest rare*",
    "keys": "which who",
    "values": "number* count* figure*",
    "died": "die* dea* death* expire* mortal* decease* pass* fatal* non-surviv* demise* ended",
    "alive": "alive surviv* living lived left leave discharg*",
    "longer": "longer long more over exceed* least last* stay* above beyond",
    "shorter": "shorter short less under within below fewer last* stay* brief*",
    "aged_from": "age* old older least or above over up year* from between adult*",
    "aged_to": "age* old younger most or below under up year* to between",
    "for_dx": "diagnos* dx condition* disease*",
    "for_proc": "procedure* proc procs surger* operation*",
    "for_rx": "drug* medic* med meds prescri* pharm* rx",
    "for_lab": "lab labs laborator* test*",
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


# Conditions that leave rows out: a form has one only where the question speaks of it.
_CONDITIONS = frozenset(
    {"current", "today", "yesterday", "this_year", "last_year", "this_month", "last_month"}
    | {"female", "male", "died", "alive", "abnormal", "high", "low", "second", "third"}
    | {"second_last", "without", "notfollowed", "none", "longer", "shorter"}
)

# What speaks of them beside their lexemes: "in this stay" is the current one.
_SPOKEN = {"current": "this", "this_year": "yr", "last_year": "yr"}


def added(question: str, form: str) -> str | None:
    """A condition of the printed ``form`` that no word of the question accounts for, or None."""
    spoken = [w.lower() for w in re.findall(r"[^\W\d_]+(?:[/-][^\W\d_]+)*", question)]
    spoken += [part for word in spoken for part in re.split("[/-]", word)]
    words = form.split()
    for word in words:
        if word not in _CONDITIONS or (word == "current" and words[0].endswith("_since")):
            continue  # what has gone by since an admission goes by in the one that is not over
        if not any(_matches(w, LEXEMES[word], _SPOKEN.get(word, "")) for w in spoken):
            return word
    return None


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
