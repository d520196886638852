"""Natural wording to programs, in words of our own and in the builder's."""

from __future__ import annotations

import random
import re

import pytest

from ehrqa_cli.logical_form import parse as parse_form
from ehrqa_cli.logical_form.form import Items, Lit, Select
from ehrqa_cli.sets.pairs.cxr_vocabulary import draw
from ehrqa_cli.sets.pairs.image_templates import image_templates
from ehrqa_cli.vqa import Unparsed, parse
from ehrqa_cli.vqa.program import Expr, Leaf, join

READ = [
    ("Is there pneumonia in the left lower lobe?", "exists pneumonia at left lower lung zone"),
    ("cardiomegaly?", "exists enlarged cardiac silhouette"),
    ("Is the heart enlarged?", "exists enlarged cardiac silhouette at cardiac silhouette"),
    ("Is there no pneumothorax?", "exists no ( pneumothorax )"),
    ("Is the spine normal?", "exists no ( abnormality at spine )"),
    (
        "Are both lungs clear?",
        "exists no ( ( abnormality at left lung or abnormality at right lung ) )",
    ),
    (
        "Is there consolidation in the left and right lung?",
        "exists ( consolidation at left lung and consolidation at right lung )",
    ),
    (
        "Is there edema in either lung?",
        "exists ( pulmonary edema/hazy opacity at left lung or "
        "pulmonary edema/hazy opacity at right lung )",
    ),
    (
        "Are there bilateral pleural effusions?",
        "exists ( pleural effusion at left lung and pleural effusion at right lung )",
    ),
    ("Do you see a left-sided rib fracture?", "exists rib fracture at left chest wall"),
    (
        "Is there blunting of the right costophrenic angle?",
        "exists costophrenic angle blunting at right costophrenic angle",
    ),
    (
        "Is there atelectasis in the left lung or pneumonia in the right lung?",
        "exists ( atelectasis at left lung or pneumonia at right lung )",
    ),
    ("Is there scoliosis without hernia?", "exists ( scoliosis without hernia )"),
    (
        "Is there neither a PICC nor a chest tube?",
        "exists no ( ( picc or chest tube ) )",
    ),
    ("What lines and tubes are in place?", "name tubesandlines"),
    ("List all diseases and devices.", "name ( disease or device )"),
    (
        "Which findings do the neck and the trachea have in common?",
        "name ( abnormality at neck and abnormality at trachea )",
    ),
    (
        "What diseases does the left lung show that the right lung does not?",
        "name ( disease at left lung without disease at right lung )",
    ),
    (
        "List all diseases that are absent from the mediastinum.",
        "name no ( disease at mediastinum )",
    ),
    ("Where is the PICC line?", "place picc"),
    ("List all anatomical locations without pneumonia.", "place no ( pneumonia )"),
    (
        "Which lung has the hernia?",
        "place ( hernia at left lung or hernia at right lung )",
    ),
    ("Is this not an AP film?", "view PA"),
    ("Is the patient a woman?", "sex female"),
    ("Is the CTR over 55%?", "wide_heart > 0.55"),
    ("Is the heart narrower than half the thorax?", "wide_heart < 0.5"),
    ("Does the mediastinum exceed a third of the chest width?", "wide_mediastinum > 0.333"),
    ("What is the cardiothoracic ratio?", "heart_ratio"),
    ("What is the CTR of this film?", "heart_ratio"),
    ("What is the mediastinum to thorax ratio?", "mediastinum_ratio"),
]  # fmt: skip
DECLINED = [
    ("Is there an air bronchogram in the left lung?", "unknown_finding"),
    ("What is the size of the mass in cm?", "unknown_finding"),
    ("How many nodules are there?", "unknown_finding"),
    ("Does the CT show pneumonia?", "unknown_finding"),
    ("Is this a lateral view?", "unknown_finding"),
    ("Has the pneumonia grown?", "unknown_finding"),
    ("Is it raining?", "unknown_finding"),
    ("Is there anything in the left lung?", "not_understood"),
    ("", "not_understood"),
    ("x " * 400, "not_understood"),
    ("Is there pneumonia and atelectasis or edema?", "ambiguous"),
    ("Is there atelectasis in the left lung and pneumonia?", "ambiguous"),
    ("Is there a right IJ line?", "ambiguous"),
]
SLOT = re.compile(r"\$?[{\[]([a-z_0-9]+)[}\]]")


@pytest.mark.parametrize(("question", "program"), READ)
def test_read(question: str, program: str) -> None:
    assert str(parse(question)) == program
    assert str(parse(question.upper())) == program


@pytest.mark.parametrize(("question", "kind"), DECLINED)
def test_declined_with_a_reason(question: str, kind: str) -> None:
    with pytest.raises(Unparsed) as caught:
        parse(question)
    assert caught.value.reason.kind == kind
    assert caught.value.reason.sentence.endswith(".")


@pytest.mark.parametrize(
    ("question", "content", "semantic"),
    [
        ("Is there atelectasis?", "presence", "verify"),
        ("Is the neck abnormal?", "abnormality", "verify"),
        ("List all devices.", "attribute", "query"),
        ("Which is seen, a PICC or an IJ line?", "attribute", "choose"),
        ("Where is the goiter?", "anatomy", "query"),
        ("Which one shows it, the neck or the trachea: goiter?", "anatomy", "choose"),
        ("Which is abnormal, the neck or the trachea?", "abnormality", "choose"),
        ("Which view is it?", "plane", "query"),
        ("Is it AP or PA?", "plane", "choose"),
        ("Is the patient male?", "gender", "verify"),
        ("Is the cardiothoracic ratio above 1/2?", "size", "verify"),
    ],
)
def test_types(question: str, content: str, semantic: str) -> None:
    program = parse(question)
    assert (program.content_type, program.semantic_type) == (content, semantic)


def _expected(form: Select) -> Expr | None:
    items, places = form.event.items, form.event.places
    if items is None:
        return None

    def read(found: Items | None) -> tuple[list[str | None], str]:
        if found is None:
            return [None], "and"
        values = [str(a.value) for a in found.args if isinstance(a, Lit)]
        return list(values), next((op for op in found.ops if op != "*"), "and")

    (names, op), (spots, place_op) = read(items), read(places)
    each = [
        join(op, list(dict.fromkeys(Leaf(str(name), spot) for name in names))) for spot in spots
    ]
    return join(place_op, each)


def test_the_builders_wordings_mean_their_forms() -> None:
    """Phrase banks written for another reader; synonyms drawn at random."""
    rng = random.Random(3)
    wrong: list[str] = []
    count = 0
    for template in image_templates():
        if not template.form.endswith("of ( study {study_id} )"):
            continue
        for wording in template.wordings[::2]:
            drawn: dict[str, tuple[str, str]] = {"study_id": ("50000014", "50000014")}

            def value(
                match: re.Match[str], of: int, drawn: dict[str, tuple[str, str]] = drawn
            ) -> str:
                name = match[1]
                while name not in drawn:
                    new = draw(name.split("_")[0].rstrip("0123456789"), rng)
                    if new[0] not in [old for old, _ in drawn.values()]:
                        drawn[name] = new
                found = drawn[name][of]
                return found if of or name == "study_id" else f'"{found}"'

            form = parse_form(SLOT.sub(lambda m: value(m, 0), template.form))
            question = SLOT.sub(lambda m: value(m, 1), wording)
            assert isinstance(form, Select)
            count += 1
            try:
                program = parse(question)
            except Unparsed:
                wrong.append(question)
                continue
            kind = form.event.kind
            ask = kind if kind.startswith("wide") else form.head
            if (program.ask, program.expr) != (ask, _expected(form)):
                wrong.append(question)
    assert count > 250
    assert len(wrong) <= count * 0.02, wrong


@pytest.mark.parametrize(
    "question",
    [
        "How is cardiomegaly determined?",
        "How would pneumonia look?",
        "Why is there an effusion?",
        "When is an AP view used?",
        "Will there be an effusion?",
        "Are effusions common?",
        "Is pneumothorax a type of effusion?",
        "How do you know that the cardiothoracic ratio is above 1/2?",
    ],
)
def test_what_holds_in_general_is_no_question_about_an_image(question: str) -> None:
    with pytest.raises(Unparsed) as raised:
        parse(question)
    assert raised.value.reason.kind == "general"


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What position is the patient in for this image?", "not_understood"),
        ("Is the trachea midline?", "unknown_finding"),
        ("Is there an aortic aneurysm?", "unknown_finding"),
        ("How many nodules are there?", "unknown_finding"),
    ],
)
def test_what_no_reader_sees_is_not_read_as_something_else(question: str, kind: str) -> None:
    with pytest.raises(Unparsed) as raised:
        parse(question)
    assert raised.value.reason.kind == kind


def test_words_of_general_questions_stand_in_others_too() -> None:
    assert str(parse("What is the view position of this patient's film?")) == "view"
    assert str(parse("Which abnormalities do the lungs have in common?")).startswith("name")


def test_what_is_not_seen_is_named_with_its_place() -> None:
    with pytest.raises(Unparsed, match="“trachea midline” is not among"):
        parse("Is the trachea midline?")
