"""Word pieces as the reference tokenizer of BERT cuts them (its output is written down here)."""

from __future__ import annotations

import pytest

from ehrqa_cli.words.wordpieces import END, MOST_TOKENS, START, token_ids

# fmt: off
REFERENCE = [
    ("Pt c/o SOB & CP x3d; BP 142/88.",
     [101, 13866, 1039, 1013, 1051, 17540, 1004, 18133, 1060, 29097, 1025, 17531, 16087, 1013, 6070,
      1012, 102]),
    ("Sjögren's syndrome, naïve", [101, 1055, 5558, 13565, 1005, 1055, 8715, 1010, 15743, 102]),
    ("metoprolol tartrate 25mg p.o. b.i.d.",
     [101, 2777, 7361, 13153, 4747, 16985, 6494, 2618, 2423, 24798, 1052, 1012, 1051, 1012, 1038,
      1012, 1045, 1012, 1040, 1012, 102]),
    ("", [101, 102]),
    ("   ", [101, 102]),
    ("esophagogastroduodenoscopy",
     [101, 9686, 7361, 3270, 3995, 12617, 13181, 8566, 10244, 15460, 3597, 7685, 102]),
    ("38.5°C — fébrile", [101, 4229, 1012, 1019, 7737, 2278, 1517, 13114, 15928, 2063, 102]),
    ("肺炎 pneumonia", [101, 100, 100, 18583, 102]),
    ("a\x00b\u200bc \ufffd", [101, 5925, 102]),
    ("x" * 101, [101, 100, 102]),
    ("😀 ok", [101, 100, 7929, 102]),
    ("µg/mL", [101, 1085, 2290, 1013, 19875, 102]),
]
# fmt: on


@pytest.mark.parametrize(("text", "ids"), REFERENCE)
def test_as_the_reference(text: str, ids: list[int]) -> None:
    assert token_ids(text) == ids


def test_a_long_text_is_cut_and_still_ends() -> None:
    ids = token_ids("word " * 5000)
    assert len(ids) == MOST_TOKENS
    assert (ids[0], ids[-1]) == (START, END)
