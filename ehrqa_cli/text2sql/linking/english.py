"""English words that look like names of values.

``ENGLISH_WORDS`` are one slip away from a drug, a lab or a disease ("window", "widow"): being
words, they are no misspellings. ``ORDINARY`` are spelt like a name of a value ("shock", "tips",
"map"): they are one only where the question speaks of that type. The first list was found by
comparing frequent English words with the curated names, not with any questions.
"""

from __future__ import annotations

_ENGLISH = """
ability abolition accolade actin activate actor actors adair addison additions admiration adopt
aether alexei alienation allegation along alsace alterations altercation ambient amend androgen
ankara anvil apart arcane argent artistic asean aspirations aspiring assaults atone autos
bachelors bacterium bader baker bales banda bangs banks bases bauer bayern beast bends betta bette
betty bezos biases bills binds bland blend blinds bling blink blond boast bonds bonita bonnie
boosts boots bounds bovine bower boyer branched brands brandy brody bronco broncos brooch brunch
buffering buses buyer cabal cadet calibrate calling callum calum canada canceled candid carbs
cardi cares carta carts cashed cathy ceiling celine chats chatted cheat cheats chieftain chlorine
chords cigars circadian clarinet cleats cliff coalition coats cobalt coders cognition coincides
colette colin collapses collusion compilation compilations compilers compiling compulsion
concealed concert concerto concerts conclusions concussions conduction confessed confession
confucian confuse confuses constituted constitution contrived conversion conversions convert
conviction cooling coral cords cores corey cortes cortex cortez cover covers cowards crane crank
creams creates creator crept crest crests cries criss crown crowns culling dales deacon decreases
deemed definite delays delicious depressions dials diameters differing difficult directions
diseased displacement disruptions dissociation disturbances divorce divorces dwells echoes
effective efficient electives eliminate elimination elite elites emerge emergence emery enable
enabled enabler enables enclose ender engine essentials ether ethos examinations executive expire
expires exposures extend faces fails fanart federally feels fences ferris fibre files fills filly
flaunting floats foils folly fools fouls fractured freshwater fuels fully furious fuses getter
glassy grassy guitar gutter hartmann heartache heartbreak heartfelt heist hemlock highs hilarious
hither hosting hotter hydra hyperbolic imran inception incubated incubation indochina induction
infer inference inflation inflection ingestion inglis injections injunction inked insulated
insulting intention intonation intuition invention irate irene irina jaden kurds lactation latch
leach levin liberation lighthearted limestone looped lyric lyrical magnetism malik manifestation
manus margarine marge margie marina marino marred marries mates matron mavis meats medal meetup
melania menace menus merge metadata metals metre microwave midas migrating minas mines minis minus
mites mitigate mobil modal moines molina monks moons moreno mouths mussolini nachos nadal natal
nauru naval nests neural neuron nicola normalize northern notre notts obsess ocular olive ontology
opened orissa oscar otter outer owned paced pacers paces packer paler palms panned paper paris
parks parts passer patchy pavilion payer peres pesto petal philips phillies phillip pikes piled
pines pipes pirate pitch pixel placer planner plans plants plata plate plates plato platt plays
plots polls pores powys precede preceded precedes precise preparing program proverb psyche psycho
purse purses ramos rayon recast recital reflex regan relax relic relics remodeling removals rental
reparations replaced replaces resistor resistors restorations restricts rests retina retinal
retriever reyes rotary saban sabine sachs sacks sauna schedules schilling scripture sealing
seating selina selling senate separates setting sevilla shack shall shelling shilling shingle
shitting shocks shook shutting siena sienna singled singles singular sinha sitting situation
situations sizing skeptic slabs smacking smalls smell smelling smoke smoked smokey smokin socks
solar solaris solutions sonia sonny sonya spectral spelling spellings spock spool squatting stabs
stall stalls stash stating statue statute steals steels steph stills stimulate stock stoke stoker
stokes stood stoop strike strikes strobe strode structured sucks sugary sunni sunny supermarkets
supra swans swaps symphonic syringes tacky talkin tallinn tellin tempe tempo tempt tenet terra
theory theres thomas thorn thorns thrash thrust tiara tickled tilts tissues titan torah trail
transferring translate traps trash tries trilogy trims trips trish trois troops tropes tropical
trott trout truss twigs ultima ultra unison unknowns utter vaginas vance varies verse verses
vested vetted vitae voiced voicing waiting washing waugh wedged weighted weighting welded wether
whigs wight window windows wither wright xerox
"""
ENGLISH_WORDS = frozenset(_ENGLISH.split())

_ORDINARY = """
ablation abscess acd acr acs add aids alcoholic alone als alt amp ams anemic angioplasty anxiety
anxious assault ast asthmatic autistic bachelor bag bal band bands bars bleed blind blindness
boost brady bypass cachectic cap cardiology cards charcoal cis clinic clinics cocaine coiling cold
collapse confused confusion cons constipated convulsion deafness deceased defibrillator dehydrated
delirious demented depressed depression des detox dex diabetic difficulty dig disorder disoriented
disturbance divorced divorcee dizziness dizzy drip dwell echo elective emergency emergent epi
epileptic essential expired exposure fainted fainting fall falls feces fell fib fits flat fleet
fleets flu gas gassy heartburn height heights hf hip hit home hospice hospital hypertensive ich
incontinent inhaler injection intubated iron knee lac levo malnourished map maps married maze
medicaid medicare medicine menthol mero metro mica morgue mouth nasal neo neuro neurology nicotine
nitro nix obese observation oncology oral other outside pacemaker pacer pad palliative para patch
pct pes planned plasma polio private pros psych psychotic pulse pulses pus ra rails reflux rehab
removal replace replaces resistance resp respiration respirations resps restraints rf roc sat
saturation saturations schedule scheduled secondary sed segs seizing selenium separated septic
shock single smoker smokers smoking solution soma stature stool stools sugars swab swabs swelling
tachy tall tap temperature thrush tips tissue tobra top trached transplant tumor unmarried urgent
urine vascular vaso vented vial void voids vomit vomiting wasting wed wedded weigh weighing weighs
widow widowed widows zinc
"""
ORDINARY = frozenset(_ORDINARY.split())
