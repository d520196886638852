"""Words of questions themselves: never taken for a misspelt or shortened value."""

from __future__ import annotations

_TEXT = """
able abnormal about above according across actual actually acute additional address administered
administration admission admissions admit admitted adult advance affected after afterward
afterwards again against age aged ages ago alive all allowed already also always among amount
amounts and another answer any anyone anything appear appointment approximately are around
arranged asked assigned associated available average averaged avoid aware based basis because
become been before began begin being below best between beyond bill billed billing birth blood
body bone born both brain brought but calculate calculated call called came can cannot care
careunit carried case cases cause caused change changed changes charge charged charges charted
charting check checked chest chronic clinic clinical clinician code coded codes column come coming
common commonly compare compared comparing comparison completed complication condition conditions
conducted confirm consume consumed consumption contains correct correctly corresponds cost costs
could count counted counting country culture cultured cultures current currently daily data
database date dates day days death deaths decrease decreased define definition delete delivered
department departments describe detected determine diagnose diagnosed diagnoses diagnosing
diagnosis did died differ difference different discharge discharged discharges discovered disease
diseases display distinct doctor doctors documented does doing done dosage dosages dose doses
dosing down drawn drip drop drug drugs due duration during each ear earlier earliest effect
effects either elapsed else email emergency encounter encounters ended enter entered entire
episode episodes estimate ever every exact exactly exam examination examined example except
executed exist existing expect expected expenditure expense expenses experience experienced
expired explain export expose exposed extra eye fall family fashion fast female females fetch few
file final finally find finding findings finished first floor follow followed following foot for
found frequency frequent frequently from full further gave gender general generate get gets
getting give given gives giving goes going gone good got gotten great greater greatest grew group
grow grown growth guidance had hand happen happened happening has have having head health heart
held hello help her here high higher highest him his history home hospital hospitalised
hospitalization hospitalized hospitals hour hourly hours house how however icu identification
identified identify image images include included includes including increase increased incurred
indicate indicated indicating individual individuals infection infections inform information
initial initially inpatient input inputs inquire insert inside instance instances instead
instruction insurance intake intakes intensive into invasive involve involved involves involving
item items its itself just keep kidney kind kinds know known lab label labels laboratory labs
language large largest last lasted lasting late later latest learn least leave leaving left length
less let level levels like list listed listing liver location locations long longer longest look
looking looks lot low lower lowest lung made majority make male males many matches maximal maximum
may maybe mean means measure measured measurement measurements measuring median medical medication
medications medicine medicines meds member mention mentioned method methods might mild min minimal
minimum minute minutes missing model moderate month monthly months more morning mortality most
mother moved much name named names near neck need needed needs negative never new newest newly
next night nobody non none normal not note noted notes nothing now number numbers nurse nurses
nursing obtained occasion occasions occur occurred occurrence occurrences occurring offered often
old older oldest once one ones only onto open operation operations order ordered ordering orders
organism organisms other others our out outcome outpatient output outputs outside over overall own
pain parent parents part particular passed past patient patients patients' pay peak people per
percent percentage percentile percentiles perform performed performing period periods person
persons phone physician place placed plan please point portion positive possible prepare prepared
prescribe prescribed prescribing prescription prescriptions presence present presented presenting
presently pressure prevalent previous previously price priced prices prior probably problem
problems procedure procedures proceed process produced product proper proportion protocol provide
provided providing pulled purchase put quantity question quick quickly range rank ranked ranking
rate rates rather ratio reach reached read reading readings really reason receive received
receiving recent recently recommended record recorded records refer referred referring refers
regarding regular regularity regularly related relation relative release remained remember remove
report reported reports requested required resistant respective result resulted resulting results
retrieve return returned reveal rhythm right room rooms route routes row rows same sample samples
save saw say scan scans schedule scheduled search second section see seen select send sensitive
sensitivity sent separate service services set severe sex share she shift shifts short should show
showed showing shown shows side similar since sing single site size skin small some somebody
someone something song soon sort specific specifically specify specimen specimens spend spent
stable staff start started starting state status stay stayed staying stays still stop stopped
stored studies study subject subsequent such suffer suffered suffering suffers suggest sum supply
surgeries surgery surgical system table take taken takes taking tally tell ten term terms test
tested testing tests than thank thanks that the their them then there therefore these they thing
things think third this those though through throughout tie till time times today together told
tomorrow took top total totals toward transfer transferred transfers treat treated treating
treatment treatments trend tried try turned twice two type types typical typically under undergo
undergoing undergone underwent unique unit units unknown until update upon use used uses using
usual usually value values various ventilated ventilation ventilator very via view visit visited
visiting visits vital vitals volume volumes wait want wanted ward wards was way ways weather week
weekly weeks well went were what whatever when whenever where whether which while who whole whom
whose why will with within without work worth would write wrong year yearly years yes yesterday
yet you young younger youngest your zero
"""
QUESTION_WORDS = frozenset(_TEXT.split())
