"""Made-up answers of every kind, and what they rest on."""

from __future__ import annotations

from pathlib import Path

from ehrqa_cli.contracts.types import Answer, Question, Result, Scope, Status
from ehrqa_cli.engine.chat.about import About
from ehrqa_cli.engine.chat.complete import Completion
from ehrqa_cli.engine.chat.patient import Admission, LabSeries, Medication, PatientSummary
from ehrqa_cli.engine.chat.values import Turn
from ehrqa_cli.engine.chat.views import Evidence, Finding, ImageView, NoteLine, NoteView
from ehrqa_cli.tui.picture import Grey

ABOUT = About(
    "demo.sqlite", "2100-12-31 23:59:00", "local", images="vision", coverage="14 findings"
)


def turn(number: int, typed: str, answer: Answer, asked: str = "", **parts: object) -> Turn:
    """A turn about patient 7."""
    given: dict[str, object] = {"patient_id": 7, "at": "2026-01-01 10:00:00", **parts}
    return Turn(number, typed, asked or typed, answer, **given)  # type: ignore[arg-type]


_ROW = {"kind": "row", "table": "labevents", "key": {"row_id": 12}}
TABLE = turn(
    1,
    "and the one before that?",
    Answer(
        Question("last sodium of patient 7?", patient_id=7),
        Status.ANSWERED,
        text="Value of last lab test sodium, patient 7: 141.5.",
        value=141.5,
        columns=("valuenum", "charttime"),
        rows=((141.5, "2100-01-03 00:00:00"), (140.0, None)),
        confidence=0.9871,
        logical_form='value last lab "sodium" patient 7',
        description="value of last lab test sodium, patient 7",
        neuralsql="SELECT valuenum FROM labevents WHERE subject_id = 7 AND charttime<current_time",
        executed_sql="SELECT valuenum FROM labevents WHERE subject_id = 7",
        evidence=(_ROW,),
        timings={"link": 0.004, "total": 0.07},
    ),
    asked="last sodium of patient 7?",
    carried=("patient 7", "sodium"),
)
ROWS = Evidence(
    rows=(
        (
            "labevents",
            Result(
                ("row_id", "subject_id", "charttime", "valuenum", "valueuom"),
                ((12, 7, "2100-01-03 00:00:00", 141.5, "meq/l"),),
            ),
        ),
    )
)

DECLINED = turn(
    2,
    "what is the phone number of patient 7?",
    Answer(
        Question("what is the phone number of patient 7?"),
        Status.ABSTAINED,
        text="I don't know. The database does not record this.",
        reason_kind="classifier",
        reason_public="not_recorded",
        reason="The database does not record this.",
        suggestions=("What is the gender of patient 7?", "When was patient 7 admitted?"),
        timings={"total": 0.11},
    ),
)
FAILED = turn(
    3,
    "how many patients are there?",
    Answer(
        Question("how many patients are there?"),
        Status.FAILED,
        text="Failed: the database is damaged.",
        error={"message": "the database is damaged", "hint": "restore it from a copy"},
    ),
)

NOTE = turn(
    4,
    "why was spironolactone not begun?",
    Answer(
        Question("why was spironolactone not begun?", patient_id=7),
        Status.ANSWERED,
        scope=Scope.NOTE,
        text="Spironolactone was not started because of potassium of 5.4.",
        confidence=0.81,
        evidence=(
            {"kind": "note", "note_id": "7-DS-1", "start": 200, "end": 259, "excerpt": "..."},
        ),
        timings={"total": 0.31},
    ),
)
_CITED = "Spironolactone was not started because of potassium of 5.4."
NOTES = Evidence(
    notes=(
        NoteView(
            "7-DS-1",
            7,
            "2100-01-05",
            "discharge summary",
            (
                *(NoteLine(f"Line {n}: nothing of note.") for n in range(1, 41)),
                NoteLine("Heart failure: " + _CITED, ((15, 15 + len(_CITED)),)),
                *(NoteLine(f"Line {n}: nothing of note.") for n in range(42, 60)),
            ),
            first_marked=40,
        ),
    )
)

IMAGE = turn(
    5,
    "does study 50018554 show an effusion?",
    Answer(
        Question("does study 50018554 show an effusion?", study_id=50018554),
        Status.ANSWERED,
        scope=Scope.IMAGE,
        text="Yes.",
        value=1,
        columns=("pleural effusion",),
        rows=((1,),),
        confidence=0.93,
        evidence=(
            {
                "kind": "image",
                "study_id": 50018554,
                "finding": "pleural effusion",
                "location": "left lung",
                "probability": 0.93,
            },
        ),
        timings={"total": 0.2},
    ),
)


def _thorax(size: int = 64) -> Grey:
    """A bright ring around a dark middle: something to recognise."""
    pixels = bytearray()
    for y in range(size):
        for x in range(size):
            far = ((x - size / 2) ** 2 + (y - size / 2) ** 2) ** 0.5 / (size / 2)
            pixels.append(max(0, min(255, int(255 * far if far < 1 else 40))))
    return Grey(size, size, bytes(pixels))


IMAGES = Evidence(
    images=(
        ImageView(
            50018554,
            Path("50018554.png"),
            (
                Finding("pleural effusion", "left lung", 0.93, True),
                Finding("pneumothorax", None, 0.02, False),
            ),
            view="AP",
            sex="F",
            picture=_thorax(),
        ),
    )
)
PATIENT = PatientSummary(
    7,
    sex="f",
    age=50,
    born="2050-01-01 00:00:00",
    admissions=(
        Admission(71, "2100-12-20 08:00:00", None, "emergency", "emergency room", None),
        Admission(70, "2100-01-01 00:00:00", "2100-01-05 00:00:00", "urgent", "clinic", "home"),
    ),
    admissions_in_all=2,
    medications=(Medication("heparin", "5000 units", "sc", "2100-12-20 09:00:00"),),
    labs=(
        LabSeries(
            "sodium",
            "meq/l",
            141.5,
            "2100-01-03 00:00:00",
            (138.0, 135.0, 140.0, 141.5),
            ("2100-01-01", "2100-01-02", "2100-01-02", "2100-01-03"),
        ),
        LabSeries("creatinine", "mg/dl", 1.0, "2100-01-03 00:00:00", (1.0, 1.0), ("", "")),
    ),
    notes=1,
)


def complete(line: str, cursor: int | None) -> tuple[Completion, ...]:
    """Completes words that begin with so."""
    start = line[:cursor].rfind(" ") + 1
    word = line[start:cursor]
    if len(word) < 2 or not "sodium".startswith(word):
        return ()
    return (
        Completion("sodium", "lab", start, cursor),
        Completion("sodium chloride", "drug", start, cursor),
    )
