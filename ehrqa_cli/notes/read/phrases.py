"""Phrases by which a line says whose a thing is, when, and whether at all, beside those of
`find/stance_triggers.txt`, which reach to the left or to the right by themselves; and those of a
question that ask for such. Used by `speaking`."""

from __future__ import annotations

import re

# Of others than the patient: "her roommate had influenza", but not "his wife says that he fainted".
OTHER = re.compile(
    r"\b(?:wife|husband|spouse|partner|room-?mate|flat-?mate|neighbou?r|co-?worker|colleague"
    r"|friend|(?:boy|girl)friend|"
    r"fianc[eé]e?|sons?|daughters?|child(?:ren)?|bab(?:y|ies)|infant|neonate|twin|newborn"
    r"|contacts?|passengers?|classmates?|lad(?:y|ies)|fellow patients?|next bed|another patient"
    r"|other patients?|"
    r"donor|driver|mother|father|mom|dad|sisters?|brothers?|aunts?|uncles?|grand\w+|[mp]g[mf]"
    r"|cousins?"
    r"|(?:him|her)self)\b",
    re.I,
)
PATIENT = re.compile(
    r"\b(?:he|she|they|pt|patient|who|whom|which|i|we|admitted|denies|known|pmh|history)\b",
    re.I,
)
PRONOUN = re.compile(
    r"^\W*(?:but |and |so |then |now |today )?(he|she|they|his|her|their)\b",
    re.I,
)
# What follows a thing and makes something else of it: "stroke unit", "DVT prophylaxis".
COMPOUND = re.compile(
    r"^\W{0,3}(?:prophyla\w+|screen\w*|vaccin\w*|immuni[sz]\w*|precautions?|clinics?|unit|ward"
    r"|risk|protocol|specialist|"
    r"nurses?|team|service|society|education|counsel+ing|assessment|scores?|scales?"
    r"|questionnaire|test\w*|panel|serolog\w*|"
    r"titers?|antibod\w+|antigen|program(?:me)?|referral|consult\w*|follow[ -]?up|surveillance"
    r"|prevention|cessation)\b",
    re.I,
)
AHEAD = re.compile(
    r"\b(?:risks?(?: factors?)?\s+(?:of|for)|(?:prevent\w*|prophyla\w+|screen\w*|vaccin\w*"
    r"|immuni[sz]\w*|test\w*|monitor\w*|"
    r"watch\w*|surveillance|precautions?|counsel+ed|educat\w+|warned|worr\w+|fear\w*|asked"
    r"|refer\w*|consider\w*|discuss\w*|"
    r"offered)\s+(?:of|for|against|about|on|regarding|with|to|as)?)\W*(?:\w+\W+){0,4}$",
    re.I,
)
# It was so and is no more: no answer to what is so.
ENDED = re.compile(
    r"\b(?:stop+(?:ed|s)?|discontinu\w*|held|hold(?:ing)?|quit|ceased|former(?:ly)?|ex|d/c'?d"
    r"|off|resolved|previously|remote|"
    r"until|weaned|removed|no longer|gave up|given up)\b",
    re.I,
)
NOT_TAKEN = re.compile(
    r"\b(?:allerg\w+|intoleran\w+|anaphyla\w+|hives|avoid\w*|adverse|hold(?:ing)?)\b",
    re.I,
)
# "Echo was to be arranged, NOT yet done": what follows denies that it was done, unless it has a
# thing of its own to speak of ("echo done, stress test not done").
LEFT_UNDONE = (
    r"(?:not|never|n't)\s+(?:yet\s+|been\s+|actually\s+|then\s+|be\s+|to\s+be\s+|in fact\s+"
    r"|as yet\s+)*(?:done|placed|put in|needed|required|performed|given|started|taken|issued|booked"
    r"|used|inserted|carried out|pursued|necessary|indicated|completed|had)\b"
)
UNDONE = re.compile(rf"\b{LEFT_UNDONE}", re.I)
NOT_DONE = re.compile(
    r"(?:^|[,;:(–-]|\b(?:and|but|it|this|that|which|so|yet))\s*"
    rf"(?:(?:was|were|is|has|have|had|did|could|been|it|she|he)\s+)*{LEFT_UNDONE}",
    re.I,
)
# "Cysts, one of which did not fit": what follows denies something else.
OTHERWISE = re.compile(
    r"^[^.;]{0,60}?\b(?:did|does|do|is|was|are|were|has|have|had)(?:\s+not|n't)\s+(?!(?:yet|been"
    r"|be|being|clearly|definitely|"
    r"seen|found|present|noted|identified|evident|detected|demonstrated|visuali[sz]ed"
    r"|appreciated|done|performed|given|taken|"
    r"started|needed|required|used|placed|indicated|confirmed|reported|recorded|felt|thought"
    r"|part)\b)\w+",
    re.I,
)
DENIAL = re.compile(
    r"\b(?:no|not|never|denie[sd]|denying|without|neither|nor|negative|n't)\b",
    re.I,
)
# "She did not sleep and so surgery was ...": a verb's denial ends with its clause.
TOO_FAR = re.compile(
    r"(?:\b(?:did|does|do|was|were|is|are|has|had|have|could|would|can)\s+not|n't)\b"
    r"(?:(?!\b(?:no|not|nor|never|without|denie[sd])\b).)*"
    r"(?:,\s+(?:and\s+|so\s+|but\s+)|\band so\b|\bwith\b|\bwhich\b|;)"
    r"(?:(?!\b(?:no|not|nor|never|without|denie[sd])\b).)*$",
    re.I,
)
# To be looked out for, and what was thought of or put off, right behind the thing.
IF = re.compile(
    r"\b(?:if|in case|unless|whenever|contact|call (?:us|your|the|for|if)|return (?:to|for|if)"
    r"|come back|seek|look out for|signs? of|symptoms of|warn\w*)\b[^.;]*$",
    re.I,
)
HELD = re.compile(
    r"^\W*(?:(?:was|were|is|has been|had been)\s+)?(?:held|withheld|considered|deferred|refused"
    r"|declined|offered|discussed|requested|talked|thought|discarded|dismissed|refuted|discounted"
    r"|to (?:be|give|start|follow)|later|plan\w*|start|only if|=|no\b|none\b|nil\b|never\b|\?)"
    r"|^[^.;]{0,40}\b(?:only if|to give|later|to follow)\b",
    re.I,
)
AHEAD_SECTIONS = frozenset(
    {"follow-up", "discharge instructions", "transitional issues", "pending"}
)
REACTION = re.compile(
    r"\b(?:allerg\w+|react\w*|rash\w*|hives|itch\w*|intoleran\w+|anaphyla\w+)", re.I
)
BOX = re.compile(r"\[\s?[xX✓]?\s?\]|[☐☑□]")
ALLERGY = re.compile(r"\b(?:allerg|intoleran|anaphyla|react)", re.I)
NEAR = 45  # characters in which an end or a reaction goes with a thing
NEVER_TESTED = re.compile(
    r"\b(?:not|never|n't)\s+(?:been\s+)?(?:tested|screened|checked|evaluated|assessed|examined"
    r"|asked)\b",
    re.I,
)
UNTICKED = re.compile(
    r"\b(?:states|says|claims|labelled|listed)\b[^.;]{0,20}[\"“']$|(?:\[\s?\]|\(\s?\)|☐"
    r"|□)[^\[\](☐☑□]{0,30}$"
)
PRESENT = re.compile(
    r"^\W*(?:does|do|is|are|any)\b|\b(?:still|current\w*|now|at present|today)\b",
    re.I,
)
BEFORE = re.compile(
    r"\b(?:(?:prior to|before) (?:this|the|coming|admission|that|his|her)|previous(?:ly)?"
    r"|earlier|in the past|already)\b",
    re.I,
)
DURING = re.compile(
    r"\b(?:during|while (?:in|he|she|an)|in (?:the )?hospital|(?:this|the|his|her) (?:stay"
    r"|admission))\b",
    re.I,
)
YEAR = re.compile(r"\b(?:19|20|21)\d\d\b")
PAST = re.compile(
    r"\b(?:history of|hx|h/o|ago|former\w*|known|chronic|aged?|in (?:19|20|21)\d\d|childhood|s/p"
    r"|status post)\b",
    re.I,
)
# "Ruled out": said so far from the thing that its reach is not sure.
TAKEN_BACK = re.compile(
    r"\b(?:ruled out|exclud\w+|de-?label\w*|disprov\w+|wrong(?:ly)?|erroneous\w*|mistaken\w*"
    r"|in error|incorrect\w*|not confirmed|removed from|"
    r"not carried forward|unfounded|turned out (?:not )?to be)\b",
    re.I,
)
SOMETIMES = re.compile(
    r"\b(?:since|now|today|currently|at discharge|on discharge|no longer|no further|no more"
    r"|no new|overnight|this morning|at present|"
    r"on arrival|on admission|at the moment|by then|afterwards?|before|again|recurren\w*|further"
    r"|yesterday|tonight|this (?:week|visit|time))\b",
    re.I,
)
EVER = re.compile(r"\b(?:ever|histor\w+|previous\w*|prior|past|before)\b", re.I)
PLANS = re.compile(
    r"\b(?:plan\w*|schedul\w*|recommend\w*|advis\w*|arrang\w*|book\w*|refer\w*|pending|due"
    r"|upcoming|going to|supposed|"
    r"will|should|must)\b",
    re.I,
)
RELATIVE = re.compile(
    r"(?:grand)?(?:mother|father|parent)s?|mom|dad|(?:half-)?(?:sister|brother|sibling)s?|aunts?"
    r"|uncles?|cousins?|"
    r"nieces?|nephews?|[mp]g[mf]|maternal|paternal|relatives?|family|familial|fhx?|sons?"
    r"|daughters?",
    re.I,
)
KIN = re.compile(r"^(?:family(?: history)?|familial|relatives?|kin|siblings?|parents?|runs? in)$")
