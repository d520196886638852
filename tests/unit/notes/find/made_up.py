"""Notes of three made-up patients, and sentence vectors that cost nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ehrqa_cli.notes.find.embed import WIDTH, Embedder

if TYPE_CHECKING:
    from ehrqa_cli.notes.find.embed import Vectors

DRAIN = "A chest tube was placed on the left for a large effusion."
NOTES: list[dict[str, Any]] = [
    {
        "note_id": "11-DS-1",
        "patient_id": 11,
        "charttime": "2150-01-05",
        "text": "Chief Complaint: Shortness of breath\n\nHospital Course:\n"
        f"{DRAIN} It drained 1.2 liters and was pulled on day 4.\n"
        "He was diuresed with furosemide 40 mg IV twice daily.\n\n"
        "Discharge Medications:\n1. Torsemide 20 mg PO daily\n2. Aspirin 81 mg PO daily\n",
    },
    {
        "note_id": "11-DS-2",
        "patient_id": 11,
        "charttime": "2152-07-01",
        "text": "Chief Complaint: Fall\n\nHospital Course:\nX-ray of the wrist showed a fracture.\n"
        "The torsemide dose was raised to 40 mg daily because of swelling.\n",
    },
    {
        "note_id": "12-DS-1",
        "patient_id": 12,
        "charttime": "2149-03-02",
        "text": "Hospital Course:\nPneumonia was treated with ceftriaxone. There was an effusion, "
        "but no chest tube was needed.\n\nFamily History:\nMother had breast cancer.\n",
    },
    {
        "note_id": "13-DS-1",
        "patient_id": 13,
        "charttime": "2149-04-02",
        "text": "Hospital Course:\nThe gallbladder was taken out. She went home on day 2.\n",
    },
]


class Numbers(Embedder):
    """Vectors drawn from the text: the same text, the same vector, and no model."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = [_drawn(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, WIDTH), dtype=np.float32)


def _drawn(text: str) -> Vectors:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=WIDTH).astype(np.float32)
    unit: Vectors = vector / np.float32(np.linalg.norm(vector))
    return unit
