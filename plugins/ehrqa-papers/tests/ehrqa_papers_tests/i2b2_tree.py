"""A made-up folder of annotated notes in the layouts of i2b2's challenges.

Places are found in the text by the words, as annotators do; nothing here is from i2b2.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

MEDICATION = """\
Discharge Medications for note {n}:
1. Aspirin 81 mg po daily for chest pain.
2. Insulin lispro 10 units subcutaneous with meals.
3. Vancomycin 1 gm iv q12h for 7 days.
The wound infection called for the vancomycin.
He continues on his home regimen .
"""
RELATIONS = """\
Admission note {n} .
The patient came with severe chest pain .
An EKG showed atrial fibrillation .
It was treated with metoprolol and it improved .
Heparin caused thrombocytopenia .
Warfarin was held because of a bleeding ulcer .
A chest ct was done to rule out a pulmonary embolism .
His mother had breast cancer .
Chest pain was relieved by nitroglycerin .
He denies fever .
"""
RISK = """\
Record date: 2085-03-0{n}

Blood pressure 160/90 today, 155/85 last week.
Hgb A1c 8.2 in March. LDL was 142.
He takes lisinopril for hypertension.
Smokes one pack a day.
"""


def at(text: str, words: str, line: int | None = None) -> tuple[str, str]:
    """The words as annotators write them, and their place: "3:0 3:1"."""
    wanted = words.lower().split()
    for number, content in enumerate(text.split("\n"), 1):
        tokens = content.lower().split()
        for start in range(len(tokens) - len(wanted) + 1):
            if tokens[start : start + len(wanted)] == wanted and line in (None, number):
                end = start + len(wanted) - 1
                return words.lower(), f"{number}:{start} {number}:{end}"
    raise AssertionError(f"{words!r} is not in the note")


def entry(name: str, text: str, words: str, line: int | None = None) -> str:
    said, place = at(text, words, line)
    return f'{name}="{said}" {place}'


def medication(folder: Path, stem: str, n: int) -> None:
    text = MEDICATION.format(n=n)
    (folder / stem).write_text(text)
    rows = (
        {"m": "aspirin", "do": "81 mg", "mo": "po", "f": "daily", "r": "chest pain."},
        {"m": "insulin lispro", "do": "10 units", "mo": "subcutaneous", "f": "with meals."},
        {"m": "vancomycin", "do": "1 gm", "mo": "iv", "f": "q12h", "du": "for 7 days."},
        {"m": "the vancomycin.", "r": "wound infection"},
    )
    lines = []
    for row in rows:
        parts = [entry(name, text, words) for name, words in row.items()]
        parts += [f'{k}="nm"' for k in ("do", "mo", "f", "du", "r") if k not in row]
        lines.append("||".join([*parts, 'ln="list"']))
    (folder / f"{stem}.i2b2.entries").write_text("\n".join(lines) + "\n")


def relations(folder: Path, stem: str, n: int) -> None:
    text = RELATIONS.format(n=n)
    for kind in ("txt", "concept", "ast", "rel", "chains"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / "txt" / f"{stem}.txt").write_text(text)

    def c(words: str, line: int | None = None) -> str:
        return entry("c", text, words, line)

    concepts = [("an ekg", "test"), ("metoprolol", "treatment"), ("atrial fibrillation", "problem")]
    assertions = [("severe chest pain", "present"), ("fever", "absent"),
                  ("a pulmonary embolism", "possible"),
                  ("breast cancer", "associated_with_someone_else")]  # fmt: skip
    related = [
        ("an ekg", "TeRP", "atrial fibrillation", None),
        ("metoprolol", "TrAP", "it", 4),
        ("metoprolol", "TrIP", "it", 4),
        ("heparin", "TrCP", "thrombocytopenia", None),
        ("warfarin", "TrNAP", "a bleeding ulcer", None),
        ("a chest ct", "TeCP", "a pulmonary embolism", None),
        ("nitroglycerin", "TrIP", "chest pain", 9),
    ]
    write = {
        "concept": [f'{c(w)}||t="{t}"' for w, t in concepts],
        "ast": [f'{c(w)}||t="problem"||a="{a}"' for w, a in assertions],
        "rel": [f'{c(a)}||r="{r}"||{c(b, line)}' for a, r, b, line in related],
        "chains": [
            f'{c("atrial fibrillation")}||{c("it", 4)}||t="coref problem"',
            f'{c("severe chest pain")}||{c("chest pain", 9)}||t="coref problem"',
        ],
    }
    ends = {"concept": "con", "ast": "ast", "rel": "rel", "chains": "txt.chains"}
    for kind, lines in write.items():
        (folder / kind / f"{stem}.{ends[kind]}").write_text("\n".join(lines) + "\n")


def risk(folder: Path, patient: int, n: int) -> None:
    text = "\n\n\n" + RISK.format(n=n)
    tags = []
    found = (
        ("HYPERTENSION", {"indicator": "high bp."}, "160/90"),
        ("HYPERTENSION", {"indicator": "high bp."}, "155/85"),
        ("HYPERTENSION", {"indicator": "mention"}, "hypertension"),
        ("DIABETES", {"indicator": "A1C"}, "A1c 8.2"),
        ("HYPERLIPIDEMIA", {"indicator": "high LDL"}, "LDL was 142"),
        ("MEDICATION", {"type1": "ACE inhibitor", "type2": ""}, "lisinopril"),
        ("SMOKER", {"status": "current"}, "Smokes one pack a day"),
    )
    for k, (tag, about, words) in enumerate(found):
        own = {**about, **({"time": "before DCT"} if tag != "SMOKER" else {})}
        shown = " ".join(f'{name}="{value}"' for name, value in own.items())
        start = text.index(words)
        place = f'start="{start}" end="{start + len(words)}" text="{words}"'
        tags.append(f'<{tag} id="DOC{k}" {shown}><{tag} id="M{k}" {place} {shown}/></{tag}>')
    nowhere = 'start="-1" end="-1" text="" indicator="not present"'
    tags.append(
        f'<FAMILY_HIST id="DOC9" indicator="not present"><FAMILY_HIST {nowhere}/></FAMILY_HIST>'
    )
    body = f"<TEXT><![CDATA[{text}]]></TEXT><TAGS>{''.join(tags)}</TAGS>"
    (folder / f"{patient}-0{n}.xml").write_text(f"<?xml version='1.0'?><root>{body}</root>")


def classes(folder: Path, count: int) -> None:
    smokers = "".join(
        f'<RECORD ID="{k}"><SMOKING STATUS="{("CURRENT SMOKER", "NON-SMOKER")[k % 2]}"/>'
        f"<TEXT>{escape('He smokes.' if k % 2 == 0 else 'He does not smoke.')} {k}</TEXT></RECORD>"
        for k in range(1, count + 1)
    )
    (folder / "smoking.xml").write_text(f"<ROOT>{smokers}</ROOT>")
    docs = "".join(
        f'<doc id="{k}"><text>Weight {90 + k} kg.</text></doc>' for k in range(1, count + 1)
    )
    (folder / "obesity_records.xml").write_text(f"<root><docs>{docs}</docs></root>")
    judged = "".join(f'<doc id="{k}" judgment="{"YN"[k % 2]}"/>' for k in range(1, count + 1))
    (folder / "obesity_annotations.xml").write_text(
        f'<diseaseset><diseases source="intuitive"><disease name="Obesity">{judged}</disease>'
        "</diseases></diseaseset>"
    )


def tree(folder: Path, notes: int = 6) -> Path:
    """Some notes of every challenge."""
    for name in ("medication", "relations", "risk", "classes"):
        (folder / name).mkdir(parents=True)
    for n in range(1, notes + 1):
        medication(folder / "medication", f"1{n:03d}", n)
        relations(folder / "relations", f"record-{n}", n)
        risk(folder / "risk", 200 + n // 2, 1 + n % 2)
    classes(folder / "classes", notes)
    return folder
