"""What may be measured on the benchmarks of this package, by --system."""

from __future__ import annotations

from ehrqa_cli.evaluate.systems import ABSTAIN, GOLD

_WHOLE = "the gold answers: 100 where the files are whole"
SPIDER = {GOLD: _WHOLE, ABSTAIN: "no query for any question"}
EMR_EVIDENCE = {
    "bm25": "lines by BM25",
    "vectors": "lines by sentence vectors",
    "reader": "what the note reader cites",
    GOLD: _WHOLE,
    ABSTAIN: "no line for any question",
}
# By the names that the tables have.
EMR_CLASSES = {
    "majority": "majority",
    "tfidf": "TF-IDF + logistic regression",
    "cues": "cue sentences",
    GOLD: _WHOLE,
    ABSTAIN: "no class for any record",
}
EMR_FORMS = {
    "hm-1": "HM-1",
    "hm-2": "HM-2",
    "sequence": "sequence model",
    GOLD: GOLD,
    ABSTAIN: ABSTAIN,
}
