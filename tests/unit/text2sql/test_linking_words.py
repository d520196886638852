"""Clinicians' own words against a made-up index of strings as hospitals write them.

Each line: type | what people say | the string that is meant. The first list was written before the
last work on the rules, the second after it and never used to change them: it measures recall.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.text2sql.linking import Linker

FIRST = """
drug | lasix | furosemide
drug | Tylenol | acetaminophen
drug | zosyn | piperacillin-tazobactam
drug | vanco | vancomycin
drug | Coumadin | warfarin
drug | lovenox | enoxaparin sodium
drug | asa | aspirin
drug | hctz | hydrochlorothiazide
drug | ntg | nitroglycerin
drug | lopressor | metoprolol tartrate
drug | toprol xl | metoprolol succinate xl
drug | metop | metoprolol tartrate
drug | kcl | potassium chloride
drug | mag sulfate | magnesium sulfate
drug | synthroid | levothyroxine sodium
drug | lipitor | atorvastatin
drug | crestor | rosuvastatin calcium
drug | Plavix | clopidogrel
drug | eliquis | apixaban
drug | protonix | pantoprazole
drug | zofran | ondansetron
drug | Ativan | lorazepam
drug | haldol | haloperidol
drug | seroquel | quetiapine fumarate
drug | keppra | levetiracetam
drug | neurontin | gabapentin
drug | dilaudid | hydromorphone
drug | percocet | oxycodone-acetaminophen
drug | benadryl | diphenhydramine
drug | spiriva | tiotropium bromide
drug | colace | docusate sodium
drug | miralax | polyethylene glycol
drug | Flagyl | metronidazole (flagyl)
drug | cipro | ciprofloxacin hcl
drug | rocephin | ceftriaxone
drug | pepcid | famotidine
drug | norvasc | amlodipine
drug | zestril | lisinopril
drug | coreg | carvedilol
drug | paracetamol | acetaminophen
drug | solumedrol | methylprednisolone sodium succ
drug | kayexalate | sodium polystyrene sulfonate
drug | lantus | insulin glargine
drug | glucophage | metformin (glucophage)
drug | acetaminophin | acetaminophen
drug | furosamide | furosemide
drug | metronidazol | metronidazole (flagyl)
drug | levothyroxin | levothyroxine sodium
drug | amlodipene | amlodipine
drug | gabapentine | gabapentin
drug | vancomycine | vancomycin
drug | clopidogrel bisulfate | clopidogrel
lab | hgb | hemoglobin
lab | hct | hematocrit
lab | plt | platelet count
lab | wbc count | white blood cells
lab | k | potassium
lab | na | sodium
lab | bicarb | bicarbonate
lab | creat | creatinine
lab | bun | urea nitrogen
lab | serum sodium | sodium
lab | sgot | asparate aminotransferase (ast)
lab | SGPT | alanine aminotransferase (alt)
lab | alk phos | alkaline phosphatase
lab | tbili | bilirubin, total
lab | trop | troponin t
lab | bnp | ntprobnp
lab | crp | c-reactive protein
lab | sed rate | sedimentation rate
lab | a1c | % hemoglobin a1c
lab | inr | inr(pt)
lab | ldl | cholesterol, ldl, calculated
lab | hdl | cholesterol, hdl
lab | tsh | thyroid stimulating hormone
lab | ft4 | thyroxine (t4), free
lab | mag | magnesium
lab | phos | phosphate
lab | ionized calcium | free calcium
lab | ldh | lactate dehydrogenase (ld)
lab | cpk | creatine kinase (ck)
lab | tibc | iron binding capacity, total
lab | lactic acid | lactate
lab | retic count | reticulocyte count, automated
lab | pco2 | pco2
lab | urine sodium | sodium, urine
lab | total bilirubin | bilirubin, total
lab | creatinin | creatinine
lab | hemaglobin | hemoglobin
lab | haemoglobin | hemoglobin
lab | albumen | albumin
lab | troponine | troponin t
vital | hr | heart rate
vital | resp rate | respiratory rate
vital | sbp | arterial blood pressure systolic
vital | map | arterial blood pressure mean
vital | sats | o2 saturation pulseoxymetry
vital | temp | temperature celsius
vital | wt | daily weight
dx | htn | unspecified essential hypertension
dx | hld | hyperlipidemia, unspecified
dx | t2dm | type 2 diabetes mellitus without complications
dx | copd | chronic airway obstruction, not elsewhere classified
dx | ckd | chronic kidney disease, unspecified
dx | esrd | end stage renal disease
dx | uti | urinary tract infection, site not specified
dx | ptsd | posttraumatic stress disorder
dx | gerd | esophageal reflux
dx | osa | obstructive sleep apnea (adult)(pediatric)
dx | afib | atrial fibrillation
dx | chf | congestive heart failure, unspecified
dx | aki | acute kidney failure, unspecified
dx | heart attack | acute myocardial infarction, unspecified
dx | nstemi | subendocardial infarction, initial episode of care
dx | gi bleed | hemorrhage of gastrointestinal tract, unspecified
dx | gout | gout, unspecified
dx | pneumona | pneumonia, organism unspecified
dx | kidney stones | calculus of kidney
dx | low potassium | hypopotassemia
dx | hypothyroidism | hypothyroidism, unspecified
dx | hep c | chronic hepatitis c without mention of hepatic coma
proc | egd | esophagogastroduodenoscopy [egd] with closed biopsy
proc | lap chole | laparoscopic cholecystectomy
proc | lp | spinal tap
proc | dialysis | hemodialysis
proc | intubation | insertion of endotracheal tube
proc | peg | percutaneous [endoscopic] gastrostomy [peg]
proc | bronch | fiber-optic bronchoscopy
proc | a-line | arterial catheterization
organism | c diff | clostridium difficile
organism | c. dif | clostridium difficile
organism | e. coli | escherichia coli
organism | mrsa | positive for methicillin resistant staph aureus
organism | pseudomonas | pseudomonas aeruginosa
organism | klebsiella | klebsiella pneumoniae
specimen | blood cx | blood culture
specimen | bal | bronchoalveolar lavage
specimen | csf | csf;spinal fluid
mtest | ucx | urine culture
dischloc | snf | skilled nursing facility
dischloc | ltac | chronic/long term acute care
dischloc | home with vna | home health care
dischloc | ama | against advice
admloc | osh | transfer from hospital
admloc | clinic | clinic referral
careunit | micu | medical intensive care unit (micu)
careunit | sicu | surgical intensive care unit (sicu)
careunit | ccu | coronary care unit (ccu)
route | by mouth | po
route | subq | sc
output | urine output | foley
output | jp drain | jackson pratt #1
intake | prbc | packed red blood cells
intake | levophed | norepinephrine
intake | propofol drip | propofol
"""

SECOND = """
drug | Bumex | bumetanide
drug | aldactone | spironolactone
drug | Cozaar | losartan potassium
drug | diovan | valsartan
drug | cardizem | diltiazem
drug | tenormin | atenolol
drug | inderal | propranolol
drug | zocor | simvastatin
drug | Xarelto | rivaroxaban
drug | brilinta | ticagrelor
drug | Effient | prasugrel
drug | nexium | esomeprazole
drug | prilosec | omeprazole
drug | reglan | metoclopramide
drug | phenergan | promethazine
drug | compazine | prochlorperazine
drug | zoloft | sertraline
drug | prozac | fluoxetine
drug | lexapro | escitalopram oxalate
drug | cymbalta | duloxetine
drug | wellbutrin | bupropion
drug | zyprexa | olanzapine
drug | abilify | aripiprazole
drug | depakote | divalproex (delayed release)
drug | dilantin | phenytoin sodium
drug | lyrica | pregabalin
drug | topamax | topiramate (topamax)
drug | ambien | zolpidem tartrate
drug | xanax | alprazolam
drug | oxycontin | oxycodone sr (oxycontin)
drug | ultram | tramadol
drug | toradol | ketorolac
drug | motrin | ibuprofen
drug | narcan | naloxone
drug | Advair | fluticasone-salmeterol diskus (100/50)
drug | duonebs | ipratropium-albuterol neb
drug | singulair | montelukast
drug | mucinex | guaifenesin er
drug | claritin | loratadine
drug | augmentin | amoxicillin-clavulanic acid
drug | unasyn | ampicillin-sulbactam
drug | keflex | cephalexin
drug | maxipime | cefepime
drug | merrem | meropenem
drug | levaquin | levofloxacin
drug | z-pak | azithromycin
drug | diflucan | fluconazole
drug | plaquenil | hydroxychloroquine sulfate
drug | epogen | epoetin alfa
drug | renvela | sevelamer carbonate
drug | phoslo | calcium acetate
drug | lovenox shots | enoxaparin sodium
drug | amoxicilin | amoxicillin
drug | atorvastatine | atorvastatin
drug | pantoprazol | pantoprazole
drug | oxycodon-acetaminophen | oxycodone-acetaminophen
drug | spironolactine | spironolactone
drug | gabapentn | gabapentin
drug | prednizone | prednisone
drug | lorazapam | lorazepam
drug | warfarine | warfarin
lab | hb | hemoglobin
lab | crit | hematocrit
lab | platelets | platelet count
lab | white count | white blood cells
lab | cl | chloride
lab | hco3 | bicarbonate
lab | scr | creatinine
lab | blood urea nitrogen | urea nitrogen
lab | blood sugar | glucose
lab | alt | alanine aminotransferase (alt)
lab | ast | asparate aminotransferase (ast)
lab | direct bili | bilirubin, direct
lab | esr | sedimentation rate
lab | hba1c | % hemoglobin a1c
lab | proBNP | ntprobnp
lab | tropt | troponin t
lab | ck-mb | creatine kinase, mb isoenzyme
lab | vit b12 | vitamin b12
lab | pth | parathyroid hormone
lab | afp | alpha-fetoprotein
lab | cea | carcinoembyronic antigen (cea)
lab | total protein | protein, total
lab | anc | absolute neutrophil count
lab | d dimer | d-dimer
lab | paco2 | pco2
lab | ica | free calcium
lab | trigs | triglycerides
lab | uric acid level | uric acid
lab | fibrinogen | fibrinogen, functional
lab | urine creatinine | creatinine, urine
lab | serum albumin | albumin
lab | creatinin | creatinine
lab | potasium | potassium
lab | biliribin | bilirubin, total
lab | magnesum | magnesium
lab | thyroid stimulating hormon | thyroid stimulating hormone
vital | pulse | heart rate
vital | rr | respiratory rate
vital | dbp | arterial blood pressure diastolic
vital | systolic bp | arterial blood pressure systolic
vital | spo2 | o2 saturation pulseoxymetry
vital | body temperature | temperature celsius
vital | body weight | daily weight
dx | high blood pressure | unspecified essential hypertension
dx | diabetes type 2 | type 2 diabetes mellitus without complications
dx | cad | coronary atherosclerosis of native coronary artery
dx | dvt | acute venous embolism and thrombosis of unspecified deep vessels of lower extremity
dx | pe | other pulmonary embolism and infarction
dx | stroke | cerebral infarction, unspecified
dx | tia | unspecified transient cerebral ischemia
dx | seizures | other convulsions
dx | bph | benign prostatic hyperplasia without lower urinary tract symptoms
dx | pna | pneumonia, organism unspecified
dx | sepsis | sepsis
dx | anemia | anemia, unspecified
dx | iron deficiency anemia | iron deficiency anemia, unspecified
dx | depression | depressive disorder, not elsewhere classified
dx | anxiety | anxiety state, unspecified
dx | obesity | obesity, unspecified
dx | low sodium | hyposmolality and/or hyponatremia
dx | cirrhosis | cirrhosis of liver without mention of alcohol
dx | crohn's | regional enteritis of unspecified site
dx | lupus | systemic lupus erythematosus
dx | acute renal failure | acute kidney failure, unspecified
dx | sleep apnea | unspecified sleep apnea
dx | diverticulosis | diverticulosis of colon (without mention of hemorrhage)
dx | psoriasis | psoriasis, unspecified
dx | atelectasis | pulmonary collapse
dx | ascites | other ascites
dx | hyperkalaemia | hyperkalemia
dx | rhabdo | rhabdomyolysis
dx | acute pancreatits | acute pancreatitis
dx | osteoperosis | osteoporosis, unspecified
dx | hypothyroidsm | hypothyroidism, unspecified
dx | broken ribs | closed fracture of rib(s), unspecified
dx | alcohol withdrawl | alcohol withdrawal
proc | lumbar puncture | spinal tap
proc | hd | hemodialysis
proc | bronchoscopy | fiber-optic bronchoscopy
proc | thoracentesis | thoracentesis
proc | appy | other appendectomy
proc | ptca | percutaneous transluminal coronary angioplasty [ptca]
proc | left heart cath | left heart cardiac catheterization
proc | colonoscpy | colonoscopy
organism | cdiff | clostridium difficile
organism | staph aureus | staph aureus coag +
organism | coag neg staph | staphylococcus, coagulase negative
organism | candida | candida albicans
organism | e. faecalis | enterococcus faecalis
specimen | sputum cx | sputum
specimen | stool sample | stool
mtest | gram stains | gram stain
mtest | c diff pcr | c. difficile pcr
dischloc | nursing home | skilled nursing facility
dischloc | ltach | chronic/long term acute care
dischloc | hospice care | hospice
admloc | outside hospital | transfer from hospital
admloc | the ed | emergency room
careunit | cvicu | cardiac vascular intensive care unit (cvicu)
careunit | neuro icu | neuro surgical intensive care unit (neuro sicu)
careunit | step-down neuro | neuro stepdown
route | iv push | iv
route | nasogastric tube | ng
output | foley output | foley
output | emesis | emesis
intake | ffp | fresh frozen plasma
intake | precedex | dexmedetomidine (precedex)
intake | normal saline | nacl 0.9%
"""

DECOYS = {
    "drug": "acetaminophen (liquid)|acetaminophen iv|fentanyl patch|fentanyl citrate|"
    "vancomycin oral liquid|heparin|aspirin ec|divalproex (delayed release)|prednisone|"
    "sertraline|hydroxyzine|"
    "hydralazine|clonazepam|clonidine patch 0.2 mg/24 hr|metformin xr (glucophage xr)",
    "lab": "creatinine, urine|albumin, pleural|bilirubin, direct|hematocrit, calculated|"
    "glucose, csf|cholesterol, ldl, measured|thyroxine (t4)|potassium, urine|"
    "lactate dehydrogenase, ascites|po2",
    "dx": "essential (primary) hypertension|other and unspecified hyperlipidemia|"
    "hypotension, unspecified|old myocardial infarction|hyperkalemia|"
    "chronic kidney disease, stage v|sepsis|"
    "personal history of pulmonary embolism|hyperpotassemia|"
    "acute kidney failure with tubular necrosis",
    "proc": "colonoscopy|(aorto)coronary bypass of two coronary arteries|"
    "(aorto)coronary bypass of three coronary arteries",
    "organism": "staph aureus coag +|staphylococcus, coagulase negative",
    "specimen": "urine|stool|swab",
    "output": "void|jackson pratt #2",
}

FRAMES = {
    "drug": ("was 10018081 given {}?", "when was {} last prescribed to patient 10018081"),
    "lab": ("last {} of patient 10018081", "what was the highest {} in 2100"),
    "vital": ("average {} of patient 10018081 yesterday",),
    "dx": ("how many patients have {}?", "was patient 10018081 ever diagnosed with {}"),
    "proc": ("did patient 10018081 have {} in 2100", "how many people underwent {}"),
    "organism": ("did {} grow in any culture of patient 10018081",),
    "specimen": ("last {} sent for culture",),
    "mtest": ("when was the {} of patient 10018081 last done",),
    "dischloc": ("how many patients were discharged to {}",),
    "admloc": ("was patient 10018081 admitted from {}",),
    "careunit": ("patients who stayed in the {}",),
    "route": ("what was given via {}",),
    "output": ("total {} of patient 10018081",),
    "intake": ("how much {} was infused today",),
}


def lines(text: str) -> list[tuple[str, str, str]]:
    found = []
    for line in text.strip().splitlines():
        kind, phrase, value = (part.strip() for part in line.split(" | "))
        found.append((kind, phrase, value))
    return found


def index_of(checks: Iterable[tuple[str, str, str]]) -> ValueIndex:
    strings: dict[str, set[str]] = {kind: set(text.split("|")) for kind, text in DECOYS.items()}
    for kind, _, value in checks:
        strings.setdefault(kind, set()).add(value)
    return ValueIndex(
        {kind: tuple(sorted(values)) for kind, values in strings.items()},
        patients=frozenset({10018081}),
        years=(2100, 2100),
    )


@pytest.fixture(scope="module")
def linker() -> Linker:
    return Linker(index_of([*lines(FIRST), *lines(SECOND)]))


def missed(linker: Linker, checks: list[tuple[str, str, str]]) -> list[tuple[str, str, object]]:
    """(frame, meant, links) of every check of which a frame is not linked as meant."""
    out = []
    for kind, phrase, value in checks:
        for frame in FRAMES[kind]:
            text = frame.format(phrase)
            links = linker.link(text).links
            if not any(kind in link.types and link.value == value for link in links):
                out.append((text, value, [(x.types, x.value) for x in links]))
    return out


def test_words_known_beforehand(linker: Linker) -> None:
    assert missed(linker, lines(FIRST)) == []


def test_words_written_afterwards(linker: Linker) -> None:
    checks = lines(SECOND)
    unlinked = {meant for _, meant, _ in missed(linker, checks)}
    assert len(unlinked) <= 0.05 * len(checks), unlinked


def test_what_is_plainly_meant_is_hardly_doubted(linker: Linker) -> None:
    links = [
        link
        for kind, phrase, value in (*lines(FIRST), *lines(SECOND))
        for link in linker.link(FRAMES[kind][0].format(phrase)).links
        if link.value == value and link.how == "alias"
    ]
    assert len(links) > 150
    assert all(0.95 <= link.quality < 1.0 for link in links), links


def test_a_name_and_its_brand_in_parentheses_are_one_value(linker: Linker) -> None:
    linked = linker.link("was 10018081 given furosemide (Lasix) or Tylenol (acetaminophen)?")
    assert [link.value for link in linked.links[1:]] == [
        *("furosemide", "furosemide"), *("acetaminophen", "acetaminophen")
    ]  # fmt: skip


def test_opposites_are_never_misspellings(linker: Linker) -> None:
    linked = linker.link("patients with hypokalmia, hypertnsion")
    values = {link.value for link in linked.links}
    assert not values & {"hyperkalemia", "hypotension, unspecified"}


def test_one_word_for_several_procedures_or_strengths_is_ambiguous(linker: Linker) -> None:
    assert linker.link("patients who underwent CABG").unknown == (("ambiguous", "cabg"),)
