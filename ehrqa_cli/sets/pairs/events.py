"""Events as people speak of them: the pieces that free compositions are made of.

Every text is a wording (wording.py) in which ``@`` stands for the number that tells the second
event of a question from the first.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EventPhrase:
    """One kind of event. ``past``: "patients who ..."; ``never``: the same denied; ``base``:
    "did the patient ..."; ``noun``: after "before", "after" and the like; ``form``: the event."""

    form: str
    past: str
    never: str
    base: str
    noun: str

    def numbered(self, text: str, number: str) -> str:
        """One of the texts with the event's number filled in."""
        return text.replace("@", number)


_ANY_ROUTE = "(via|by|through) (the |){route@} (route|)"

EVENTS: dict[str, EventPhrase] = {
    "dx": EventPhrase(
        "dx {dx@}",
        "(were <dxd> {dx@}*4|had {dx@}|had a diagnosis of {dx@})",
        "(were (never|not) <dxd> {dx@}*3|never had {dx@})",
        "(have|get) (a diagnosis of {dx@}|{dx@}|a {dx@} diagnosis)",
        "(a diagnosis of {dx@}|the diagnosis of {dx@}|being diagnosed with {dx@}*2)",
    ),
    "proc": EventPhrase(
        "proc {proc@}",
        "(underwent|received|had) (a |){proc@}",
        "(never|did not) (undergo|receive|have) (a |){proc@}",
        "(undergo|receive|have) (a |){proc@}",
        "(a |the |undergoing (a |)|having (a |)|){proc@}",
    ),
    "rx": EventPhrase(
        "rx {drug@}",
        "(were <presc> {drug@}*4|received {drug@}|got {drug@}|were on {drug@})",
        "were (never|not) <presc> {drug@}",
        "(get|receive) (a prescription for |){drug@}",
        "(being <presc> {drug@}*2|a prescription of {drug@}|the prescription of {drug@}"
        "|receiving {drug@}|starting {drug@})",
    ),
    "rx_route": EventPhrase(
        "rx {drug@} route {route@}",
        f"(were <presc>|received) {{drug@}} {_ANY_ROUTE}",
        f"were (never|not) <presc> {{drug@}} {_ANY_ROUTE}",
        f"(get|receive) {{drug@}} {_ANY_ROUTE}",
        f"(being <presc>|receiving) {{drug@}} {_ANY_ROUTE}",
    ),
    "lab": EventPhrase(
        "lab {lab@}",
        "(had|received|underwent) (a |){lab@} <labt>",
        "(never|did not) (have|receive|get) (a |){lab@} <labt>",
        "(have|receive|get) (a |){lab@} <labt>",
        "(a |the |having (a |)){lab@} <labt>",
    ),
    "lab_value": EventPhrase(
        "lab {lab@} [cmp@] {lab_value@}",
        "had (a |an |){lab@} (value |level |result |)[cmp@] {lab_value@}",
        "never had (a |an |){lab@} (value |level |)[cmp@] {lab_value@}",
        "have (a |an |){lab@} (value |level |result |)[cmp@] {lab_value@}",
        "(a |having a |){lab@} (value |level |)[cmp@] {lab_value@}",
    ),
    "lab_abnormal": EventPhrase(
        "lab {lab@} abnormal",
        "had an abnormal {lab@} (value|result|level|)",
        "never had an abnormal {lab@} (value|result|)",
        "have an abnormal {lab@} (value|result|)",
        "(an |having an )abnormal {lab@} (value|result|)",
    ),
    "lab_high": EventPhrase(
        "lab {lab@} high",
        "had (a high|an elevated) {lab@} (value|result|level|)",
        "never had (a high|an elevated) {lab@} (value|)",
        "have (a high|an elevated) {lab@} (value|level|)",
        "(a high|an elevated) {lab@} (value|level|)",
    ),
    "lab_low": EventPhrase(
        "lab {lab@} low",
        "had a low {lab@} (value|result|level|)",
        "never had a low {lab@} (value|)",
        "have a low {lab@} (value|level|)",
        "a low {lab@} (value|level|)",
    ),
    "vital_value": EventPhrase(
        "vital {vital@} [cmp@] {vital_value@}",
        "had a {vital@} (reading |)[cmp@] {vital_value@}",
        "never had a {vital@} [cmp@] {vital_value@}",
        "have a {vital@} (reading |)[cmp@] {vital_value@}",
        "a {vital@} (reading |)[cmp@] {vital_value@}",
    ),
    "specimen": EventPhrase(
        "specimen {specimen@}",
        "had (a |){specimen@} <culture>",
        "never had (a |){specimen@} <culture>",
        "have (a |){specimen@} <culture>",
        "(a |the |having a ){specimen@} <culture>",
    ),
    "mtest": EventPhrase(
        "mtest {mtest@}",
        "(had|received|underwent) (a |){mtest@} test",
        "(never|did not) (have|receive) (a |){mtest@} test",
        "(have|receive|undergo) (a |){mtest@} test",
        "(a |the |having a ){mtest@} test",
    ),
    "organism": EventPhrase(
        "organism {organism@}",
        "(grew {organism@}|had {organism@} (in a culture|found|isolated)|had a culture with"
        " {organism@})",
        "never (grew|had) {organism@}",
        "(grow|have) {organism@}",
        "(growing {organism@}|a culture with {organism@})",
    ),
    "intake": EventPhrase(
        "intake {intake@}",
        "(had|received|were given) (a |){intake@} (intake|input)",
        "never (had|received) (a |){intake@} (intake|input)",
        "(have|receive) (a |){intake@} (intake|input)",
        "(a |the |receiving a |){intake@} (intake|input)",
    ),
    "careunit": EventPhrase(
        "transfer {careunit@}",
        "(stayed in|were in|were transferred to) (the |careunit |){careunit@}",
        "(never stayed in|were never in) (the |careunit |){careunit@}",
        "(stay in|go to) (the |careunit |){careunit@}",
        "(a stay in|being transferred to|being in|a transfer to) (the |careunit |){careunit@}",
    ),
    "icustay": EventPhrase(
        "icustay",
        "(were (in|admitted to) the ICU|stayed in the ICU|had an ICU stay|went to the ICU)",
        "(were never|never were) in the ICU",
        "(go to the ICU|stay in the ICU|have an ICU stay)",
        "(an ICU stay|being admitted to the ICU|an ICU admission)",
    ),
    "from": EventPhrase(
        "admission from {admloc@}",
        "were admitted (via|from|through) (the |a |){admloc@}",
        "were never admitted (via|from|through) (the |a |){admloc@}",
        "get admitted (via|from|through) (the |a |){admloc@}",
        "(an admission|being admitted) (via|from|through) (the |a |){admloc@}",
    ),
    "type": EventPhrase(
        "admission type {admtype@}",
        "had (a|an) {admtype@} admission",
        "never had (a|an) {admtype@} admission",
        "have (a|an) {admtype@} admission",
        "(a|an) {admtype@} admission",
    ),
    "to": EventPhrase(
        "discharge to {dischloc@}",
        "were discharged to (a |){dischloc@}",
        "were never discharged to (a |){dischloc@}",
        "get discharged to (a |){dischloc@}",
        "(being discharged|a discharge) to (a |){dischloc@}",
    ),
}
# The events without an article: after "first", "with", "no".
BARE = {
    "dx": "(diagnosis of {dx@}|{dx@} diagnosis|{dx@})",
    "proc": "{proc@}( procedure|)",
    "rx": "(prescription (of|for) {drug@}|{drug@} (prescription|order)|order (of|for) {drug@})",
    "rx_route": f"(prescription of {{drug@}}|{{drug@}} order) {_ANY_ROUTE}",
    "lab": "{lab@} <labt>",
    "lab_value": "{lab@} (value|level|result|) [cmp@] {lab_value@}",
    "lab_abnormal": "abnormal {lab@} (value|result|)",
    "lab_high": "(high|elevated) {lab@} (value|result|)",
    "lab_low": "low {lab@} (value|result|)",
    "vital_value": "{vital@} (reading|) [cmp@] {vital_value@}",
    "specimen": "{specimen@} <culture>",
    "mtest": "{mtest@} test",
    "organism": "(culture (with|growing) {organism@}|{organism@} (culture|isolate))",
    "intake": "{intake@} (intake|input)",
    "careunit": "(stay in|transfer to) (the |){careunit@}",
    "icustay": "ICU (stay|admission)",
    "from": "admission (via|from|through) (the |){admloc@}",
    "type": "{admtype@} admission",
    "to": "discharge to (a |){dischloc@}",
}
EVENT_WEIGHTS = {
    "dx": 10, "proc": 8, "rx": 10, "rx_route": 3, "lab": 6, "lab_value": 5, "lab_abnormal": 2,
    "lab_high": 2, "lab_low": 2, "vital_value": 2, "specimen": 3, "mtest": 3, "organism": 3,
    "intake": 3, "careunit": 4, "icustay": 3, "from": 1, "type": 1, "to": 1,
}  # fmt: skip

WHO = (
    ("<people>", ""),
    ("({gender} patients*3|[gender:noun]*2)", "{gender}"),
    ("patients (aged|of age|in the age group) [aged]", "aged [aged]"),
    ("(patients|people) (older than|over|above|over the age of) {older}", "older {older}"),
    ("(patients|people) (younger than|under|below|under the age of) {younger}",
     "younger {younger}"),
    ("{gender} patients (aged|of age|in the age group) [aged]", "{gender} aged [aged]"),
    ("({gender} patients|[gender:noun]) (older than|over|above) {older}",
     "{gender} older {older}"),
)  # fmt: skip
WHO_WEIGHTS = (10, 3, 3, 2, 1, 2, 1)

NAMED = {
    "dx": ("(diagnoses|conditions|diseases)", "(diagnosed|made)"),
    "proc": ("(procedures|operations)", "(performed|done)"),
    "rx": ("(drugs|medications|medicines)", "(prescribed|ordered)"),
    "lab": ("(lab tests|laboratory tests|labs)", "(ordered|performed|done)"),
    "specimen": ("(specimens|specimens tested)", "(tested|taken)"),
    "mtest": ("<micros>", "(ordered|performed)"),
    "organism": ("(organisms|bacteria)", "(found|isolated)"),
}
