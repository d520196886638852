"""The words by which a comparison of a note with the tables is recognised."""

from __future__ import annotations

import re

from ehrqa_cli.engine.mixed.types import ComparedKind


def _words(text: str) -> re.Pattern[str]:
    """Any of the alternatives, one a line, as whole words."""
    return re.compile(rf"\b(?:{'|'.join(text.split())})\b".replace("_", r"\s+"), re.I)


NOTE = re.compile(
    r"\b(?:(?:discharge|clinic|progress|admission|written|d/?c|hospital)\s+)?"
    r"(?:summary|summaries|notes?|letter|narrative|free[- ]text|dictation|write-?up)(?:'s|s')?\b"
    r"|\bdischarge (?:medications?|meds?|diagnos[ei]s|med(?:ication)? list|dose|paperwork)\b",
    re.I,
)
# The tables, for certain; and words that notes are asked about too.
TABLE = re.compile(
    _words(
        r"order(?:ed|s)? prescri(?:bed|ptions?|bing) labs? measur(?:ed|ements?) coded codes? "
        r"coding icd(?:-?\d+)? billed billing tables? database structured emr ehr mar "
        r"lab(?:oratory)?_(?:results?|values?|system|data|records?|table) problem_list"
    ).pattern
    + r"|\b(?:last|latest|first|most recent|highest|lowest|peak)\s+(?:lab\s+)?(?:one|value|result|"
    r"level|dose|draw|test|\w+\s+(?:value|result|level))\b",
    re.I,
)
MAYBE_TABLE = _words(r"charted record(?:ed|s)? drawn resulted given administered")
DIFFER = _words(
    r"differ(?:s|ent|ence|ences|ing)? discrepan\w+ disagree\w* mismatch\w* conflict\w* "
    r"contradict\w* inconsistent deviat\w+ at_odds apart not_(?:the_same|match|agree)"
)
SAME = _words(
    r"same match(?:es|ed|ing)? agree(?:s|d|ment)? consistent equal(?:s|led)? identical "
    r"correspond(?:s|ing)? tall(?:y|ies) concord\w* square[sd]?_with reconcile\w* line[sd]?_up"
)
PERHAPS_SAME = _words(
    r"in_line confirm(?:s|ed)? in_accord compare[sd]? comparison versus vs against"
)
ALSO = _words(
    r"also too as_well in_both both_in missing_from absent_from show(?:s|n)?_up appear(?:s|ed)? "
    r"found_in present_in listed_in captured included reflected ever backed supported borne_out "
    r"anybody anyone actually described back(?:s|ed)?_up "
    r"in_the_(?:\w+_){0,2}(?:tables?|database|orders|prescriptions|codes|labs)"
)
HIGHER = _words(r"higher more greater larger bigger above exceed(?:s|ed)? over")
LOWER = _words(r"lower less smaller below under")
THAN = _words(r"than exceed(?:s|ed)? above below")
ASKS_VALUES = re.compile(r"^\s*(?:how|what|by how much|compare|show|list|contrast|give)\b", re.I)
ASKS_BOTH = re.compile(r"\b(?:versus|vs)\b|\b(?:each|both)\s+(?:say|give|list|hold|show)s?\b", re.I)
ASKS_YES_NO = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|can|could|would|any)\b[^;:]*\?"
    r"|^\s*(?:is|are|was|were|do|does|did|has|have|check (?:if|whether)|tell me (?:if|whether))\b",
    re.I,
)
CLAUSE = re.compile(r"[.;:]\s+|,\s+(?:and\s+)?(?=(?:is|was|does|did|has|do|are|were)\b)", re.I)
TABLE_FIRST = re.compile(
    r"\b(?:last|latest|first|most recent|highest|lowest|peak|ordered|prescribed|measured|orders?|"
    r"prescription)\b.*\b(?:higher|lower|more|less|greater|smaller|above|below|exceeds?)\b",
    re.I,
)
# Reading the tables first: "is the coded X also mentioned in the note?"
ASKED_OF_NOTE = re.compile(
    r"\b(?:also|too|as well|mentioned|named|appear\w*|show\w*|found|documented|listed|included|"
    r"reflected|present|missing|absent|supported|confirmed|borne out|backed)\b[^,;?]{0,40}$",
    re.I,
)
# A thing that the tables hold: "the coded hypertension".
HELD = re.compile(
    r"\b(?:the|a|this|his|her|an)\s+(?:coded|billed|ordered|prescribed)\s+"
    r"(?!as\b|too\b|also\b|diagnos[ei]s\b(?! of)|codes?\b|dose|order|drugs\b|med)\w",
    re.I,
)
DOSE = re.compile(
    r"\b(?:dos(?:e|es|age|ing)|strength|amount|how (?:much|many (?:mg|units)))\b", re.I
)
ROUTE = re.compile(r"\b(?:route|by mouth|orally|intravenously|how .{1,40} (?:given|taken))\b", re.I)
FREQUENCY = re.compile(
    r"\b(?:frequency|how often|how many times (?:a|per) day|dosing schedule)\b", re.I
)
CUES = (
    (
        ComparedKind.DIAGNOSIS,
        _words(r"diagnos\w+ cod(?:e|es|ed|ing) icd\S* billed billing problem_list conditions?"),
    ),
    (
        ComparedKind.LAB,
        _words(r"measur\w+ labs? laboratory value level result\w* drawn count reading figure"),
    ),
    (
        ComparedKind.MEDICATION,
        _words(
            r"dos(?:e|es|age) route frequency order(?:ed|s)? prescri\w+ medicat\w+ meds? drugs? "
            r"tablets? mar"
        ),
    ),
)
ADMISSION = re.compile(
    r"\b(?:(?:on|at|upon) (?:admission|arrival|presentation)|(?:home|admission|initial) "
    r"(?:dose|meds?|medications?|labs?|value|\w+ (?:level|value))|before admission)\b",
    re.I,
)
DISCHARGE = re.compile(
    r"\b(?:(?:on|at|upon) discharge|discharge (?:dose|meds?|medications?|labs?|value|med list)"
    r"|discharged on)\b",
    re.I,
)
FIRST = _words(r"first earliest initial")
HIGHEST = _words(r"highest maximum peak max")
LOWEST = _words(r"lowest minimum nadir min")
# Conditions that neither side's question would carry.
CONDITION = re.compile(
    r"\b(?:yesterday|today|this (?:year|month|week)|last (?:year|month|week)|days? ago|"
    r"(?:first|last) (?:hospital )?(?:visit|stay|admission)|(?:second|third) \w+|icu|average|mean|"
    r"median|total|sum|how many times)\b",
    re.I,
)
SEVERAL = re.compile(
    r"\b(?:anything|any (?:drugs?|medications?|medicines?|meds|diagnos[ei]s|conditions?)|which "
    r"(?:drugs?|medications?|medicines?|diagnos[ei]s)|all (?:of )?(?:the|his|her)|everything)\b",
    re.I,
)
_NAME = r"([\w'-]+(?:\s[\w'-]+){0,5}?)"
# A subject that the database does not know by this name, in the place where it would stand.
SPOKEN = {
    ComparedKind.MEDICATION: (
        re.compile(rf"\bdose of {_NAME}(?=\s+(?:in|on|at|from|according|per|the)\b)", re.I),
        re.compile(
            r"\b(?:the|his|her|is|was|does)\s+([\w-]+)\s+(?:dos(?:e|age)|route|frequency)\b", re.I
        ),
    ),
    ComparedKind.LAB: (),
    ComparedKind.DIAGNOSIS: (
        re.compile(
            rf"\b(?:diagnos[ei]s (?:of|for)|codes? for) {_NAME}(?=\s+(?:in|on|from|that|which|also|"
            r"named|mentioned|listed|according|coded|is|per|of)\b)",
            re.I,
        ),
        re.compile(
            r"^\s*(?:is|was|are|were)\s+(?:the\s+)?" + _NAME + r"\s+(?:in|from|of|named|mentioned|"
            r"listed|on|also)\b",
            re.I,
        ),
    ),
}
