"""How a linked question becomes tokens; the trainer and the run time share exactly this.

The text between references goes to a byte-level BPE (the tokenizers library in training,
llama.cpp's own at run time). References, their types and the form's lexemes are single tokens
found by this module alone, never by a tokenizer: a question that spells ``[value]`` or ``</s>``
is plain text to the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

START, FORM, EOS = "<s>", "<form>", "</s>"
EOS_LEXEME = "<eos>"
MAX_REFS = 16
REFS = tuple(f"#{k}" for k in range(1, MAX_REFS + 1))

# Ids that exist nowhere, as the linker writes them.
UNKNOWN = ("<nopat>", "<nostudy>")

# A reference as the linker writes it: one or more types, then its number; or an unknown id.
_REFERENCE = re.compile(rf"\s*(?:((?:<[a-z_]+>)+)(#(?:1[0-6]|[1-9]))(?!\d)|({'|'.join(UNKNOWN)}))")
_TYPE = re.compile(r"<[a-z_]+>")


def lexeme_token(lexeme: str) -> str:
    """The vocabulary's name of a lexeme: ``[value]``; a reference keeps its own (``#1``)."""
    if lexeme == EOS_LEXEME:
        return EOS
    return lexeme if lexeme in REFS else f"[{lexeme}]"


def special_tokens(types: Iterable[str], lexemes: Iterable[str]) -> list[str]:
    """All tokens outside the BPE, in the order in which they follow it in the vocabulary."""
    names = [START, FORM, EOS, *UNKNOWN, *(f"<{t}>" for t in types), *REFS]
    names += [lexeme_token(w) for w in lexemes]
    return list(dict.fromkeys(names))


def pieces(text: str, types: frozenset[str] | set[str]) -> list[tuple[bool, str]]:
    """Split into (is_special, text). Plain pieces start with one space, so that every word
    has the same tokens wherever it stands."""
    found: list[tuple[bool, str]] = []
    text = " ".join(text.lower().split())
    position = 0

    def plain(part: str) -> None:
        if part.strip():
            glued = found and not part.startswith(" ")
            found.append((False, part.rstrip() if glued else " " + part.strip()))

    for match in _REFERENCE.finditer(text):
        names = _TYPE.findall(match[1] or "")
        if not all(n[1:-1] in types for n in names):
            continue
        plain(text[position : match.start()])
        found += [(True, n) for n in (*names, match[2] or match[3])]
        position = match.end()
    plain(text[position:])
    return found


def encode_question(
    text: str, ids: Mapping[str, int], bpe: Callable[[str], Sequence[int]]
) -> list[int]:
    """Token ids of a linked question, from ``<s>`` to ``<form>``."""
    types = {n[1:-1] for n in ids if n.startswith("<") and n.endswith(">")} - {"s", "form"}
    out = [ids[START]]
    for special, part in pieces(text, types):
        if special:
            out.append(ids[part])
        else:
            out.extend(bpe(part))
    return [*out, ids[FORM]]


def encode_form(form: str, ids: Mapping[str, int]) -> list[int]:
    """Token ids of a form whose values are references, closed by ``</s>``.

    Raises KeyError for a word that is no lexeme.
    """
    return [*(ids[lexeme_token(w)] for w in form.split()), ids[EOS]]
