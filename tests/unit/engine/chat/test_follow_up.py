"""Follow-ups are completed from the question before; what stands on its own is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehrqa_cli.engine.chat.follow_up import Before, NeedsWhole, Whole, complete
from ehrqa_cli.text2sql.linking import Linker

from .linked import HER, HIM, linker

AS_OF = "2100-12-31 23:59:00"
LAST = f"what was the last creatinine value of patient {HER}?"
COUNT = "how many patients were prescribed heparin this year?"
VISIT = f"what was the last creatinine value of patient {HER} on the last hospital visit?"
STAY = f"how long was the last icu stay of patient {HER}?"
ASKED = f"was patient {HER} prescribed heparin in 2100?"
OUTPUT = f"total glucose of patient {HER} on 03/01/2100?"


@pytest.fixture(scope="module")
def link() -> Linker:
    return linker()


def whole(
    link: Linker, before: str, text: str, patient: int | None = HER, given: int | None = None
) -> Whole | None:
    return complete(text, Before(before, given), link, patient_id=patient, as_of=lambda: AS_OF)


@pytest.mark.parametrize(
    ("before", "text", "wanted"),
    [
        (LAST, "and the time before that?", LAST.replace("last", "second to last")),
        (LAST, "what about potassium?", LAST.replace("creatinine", "potassium")),
        (LAST, "What about Potassium", LAST.replace("creatinine", "Potassium")),
        (LAST, "what about his platelet count?", LAST.replace("creatinine", "platelet count")),
        (LAST, f"the same for {HIM}", LAST.replace(str(HER), str(HIM))),
        (LAST, f"and patient {HIM}'s?", LAST.replace(str(HER), str(HIM))),
        (LAST, "the same for 10099999", LAST.replace(str(HER), "10099999")),
        (LAST, "and the first?", LAST.replace("last", "first")),
        (LAST, "and the second time?", LAST.replace("last", "second")),
        (LAST, "what was the highest?", LAST.replace("last", "highest")),
        (LAST, "and on her second stay?", LAST[:-1] + " on the second hospital visit?"),
        (LAST, "during the first icu stay?", LAST[:-1] + " on the first icu visit?"),
        (LAST, "and last year?", LAST[:-1] + " last year?"),
        (LAST, "2099?", LAST[:-1] + " in 2099?"),
        (LAST, "when was that?", LAST.replace("what was", "when was")),
        (LAST, "when was it measured?", LAST.replace("what was", "when was")),
        (LAST, f"sodium in 2099 for {HIM}", None),
        (LAST, f"and sodium in 2099 for {HIM}",
         f"what was the last sodium value of patient {HIM} in 2099?"),
        (VISIT, "and on the first one?", VISIT.replace("last hospital", "first hospital")),
        (VISIT, "and the visit before?", VISIT.replace("last hospital", "second to last hospital")),
        (VISIT, "and the one before?", VISIT.replace("last crea", "second to last crea")),
        (LAST, "and what is her weight?", LAST.replace("creatinine", "weight")),
        (STAY, "and the first?", STAY.replace("last", "first")),
        (STAY, "and the stay before that", STAY.replace("last", "second to last")),
        (COUNT, "and last year?", COUNT.replace("this year", "last year")),
        (COUNT, "and in 2099?", COUNT.replace("this year", "in 2099")),
        (COUNT, "the year before?", COUNT.replace("this year", "last year")),
        (COUNT.replace("this", "last"), "and the year before that?",
         COUNT.replace("this year", "in 2098")),
        (COUNT.replace("this year", "in 01/2100"), "the month before?",
         COUNT.replace("this year", "in 12/2099")),
        (COUNT, "and warfarin?", COUNT.replace("heparin", "warfarin")),
        (COUNT, "what about women?", COUNT.replace("patients", "female patients")),
        (COUNT, "in their 60s?", COUNT.replace("patients", "patients aged 60s")),
        (ASKED, "how many times?", "how many times " + ASKED),
        (ASKED, "when?", "when " + ASKED),
        (ASKED, "how many times in 2099?", "how many times " + ASKED.replace("2100", "2099")),
        (OUTPUT, "and the day before?", OUTPUT.replace("03/01", "02/28")),
        (f"list the diagnoses of patient {HER}", "and the procedures?",
         f"list the procedures of patient {HER}"),
        (LAST, "and her gender?", f"what is the gender of patient {HER}?"),
        (COUNT, f"and the age of {HIM}?", f"what is the age of patient {HIM}?"),
        (f"what is the gender of patient {HER}?", "age?", f"what is the age of patient {HER}?"),
        (f"when was patient {HER} last admitted?", "before that?", None),
        (f"when was patient {HER} last admitted?", "and before that?",
         f"when was patient {HER} second to last admitted?"),
        ("what are the top five drugs this year?", "top ten?",
         "what are the top ten drugs this year?"),
    ],
)  # fmt: skip
def test_a_follow_up_is_completed(link: Linker, before: str, text: str, wanted: str | None):
    found = whole(link, before, text)
    if wanted is None:  # without "and" it may as well be a question of its own
        assert found is None or found.text != text
    else:
        assert found == Whole(wanted, None)


def test_the_patient_given_beside_the_text_is_replaced_there(link: Linker):
    found = whole(link, "what is her last creatinine value?", f"and for {HIM}?", given=HER)
    assert found == Whole("what is her last creatinine value?", HIM)


def test_for_her_means_the_patient_of_the_conversation(link: Linker):
    found = whole(link, LAST, "and for him?", patient=HIM)
    assert found == Whole(LAST.replace(str(HER), str(HIM)), None)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (LAST, "what about foobarine?"),
        (LAST, "and potassium and sodium?"),
        (LAST, "and got potassium?"),
        (LAST, "and for all patients?"),
        (LAST, "and on his neighbour's?"),
        (COUNT, "and the time before that?"),
        (COUNT, f"the same for {HIM}"),
        (COUNT, "and for her?"),
        (LAST, "and for her?"),  # it is hers already
        (LAST.replace("last", "second to last"), "and the time before that?"),
        ("how many patients were prescribed heparin after aspirin?", "and warfarin?"),
        ("is the last creatinine of 10018081 above the first?", "and the time before that?"),
        (f"creatinine of patients {HER} and {HIM}?", "the same for 10099999"),
    ],
)
def test_what_cannot_be_completed_needs_the_whole_question(link: Linker, before: str, text: str):
    with pytest.raises(NeedsWhole):
        whole(link, before, text)


@pytest.mark.parametrize(
    "text",
    [
        COUNT,
        f"last potassium of patient {HIM}?",
        f"what was the first value of the potassium test for patient {HIM}?",
        "and how many patients were admitted?",
        "and what is the gender of patient 10014729?",
        "count the patients prescribed warfarin",
        "why?",
        "is that normal?",
        "thanks",
        "ok thank you",
        "foobarine",
        "what is heparin for?",
    ],
)
def test_a_question_of_its_own_is_left_alone(link: Linker, text: str):
    assert whole(link, LAST, text) is None


def test_asked_in_whole_words_it_is_left_alone_where_it_does_not_fit(link: Linker):
    assert whole(link, COUNT, "and what is her weight?") is None
    assert whole(link, COUNT, "what is her weight?") is None


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=60), before=st.sampled_from([LAST, COUNT, VISIT, ASKED, "?", "x"]))
def test_any_text_ends_in_one_of_the_three_ways(text: str, before: str):
    try:
        found = whole(_LINK, before, " ".join(text.split()) or "x")
    except NeedsWhole as why:
        assert str(why)
    else:
        assert found is None or found.text


_LINK = linker()
