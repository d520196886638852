"""Questions without an answer: asked of one patient, made for another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.sets.making.files import Plain
from ehrqa_cli.sets.notes.evidence import content, stands_in

_RARE = 3  # questions that may share a word before it counts as common
_ABSENT = 0.5  # of what a question is about, the share that the notes must lack
# Words in which questions of any kind are put.
_GENERAL = (
    "patient admission admitted discharge discharged hospital stay visit course note record "
    "current currently status likely main primary significant following based prior previous "
    "etiology cause reason treatment treated therapy procedure medication drug condition problem "
    "complaint diagnosis diagnosed assessment assessed change result test finding symptom sign "
    "vital presenting history management plan described reported noted performed given provided "
    "begun began start started stopped used shown found underwent reported "
    "received prescribed value level dose daily time date first last new"
)


def unanswerable(others: Sequence[Plain], notes: Sequence[Note]) -> Plain | None:
    """Of the items of other patients the one whose question and choices have most words in common
    with these notes, among those that the notes cannot answer: the right choice does not stand in
    them, nor does half of what the question is about. None where there is none."""
    words = content("\n".join(note.text for note in notes))
    common, general = _common(others), content(_GENERAL)
    best: tuple[float, str] | None = None
    by_id = {item["id"]: item for item in others}
    for item in others:
        about = content(item["question"]) - common - general
        lacking = about - words
        if not lacking or len(lacking) < _ABSENT * len(about):
            continue
        if stands_in(item["answer_text"], words):
            continue
        said = content(" ".join([item["question"], *item["choices"].values()]))
        near = len(said & words) / len(said)
        if best is None or (near, item["id"]) > best:
            best = (near, item["id"])
    return by_id[best[1]] if best else None


def _common(items: Sequence[Plain]) -> frozenset[str]:
    """Words that many questions have: they say nothing of whom a question is about."""
    counts: Counter[str] = Counter()
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for item in items:
        asked[item["question"]] |= content(item["question"])
    for words in asked.values():
        counts.update(words)
    return frozenset(word for word, n in counts.items() if n > _RARE)
