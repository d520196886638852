"""Questions about one chest X-ray in the manner of MIMIC-CXR-VQA (Bae et al. 2023, B.2.2).

Three things are kept even: the answers of each template (its entropy is driven up: of the answers
that a question has over the images, the rarest so far is taken), the questions of each image (each
template once at most, images asked least first), and the questions of each template.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ehrqa_cli.contracts.images import Relation
from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, CATEGORY_OF, OBJECTS
from ehrqa_cli.sets.making.attempts import Attempts
from ehrqa_cli.sets.making.files import Plain
from ehrqa_cli.sets.making.shares import Turns
from ehrqa_cli.sets.own.films import Film, Pool
from ehrqa_cli.sets.own.vqa_templates import SINGULAR, TEMPLATES, VqaTemplate, vqa_templates
from ehrqa_cli.sets.pairs.cxr_vocabulary import CATEGORY_WORDS, words_of
from ehrqa_cli.sets.pairs.image_wording import tidy
from ehrqa_cli.sets.pairs.images import SLOT
from ehrqa_cli.sets.pairs.paraphrase import Paraphrases
from ehrqa_cli.vqa import Program, Unparsed, parse
from ehrqa_cli.vqa.evaluate import names, truth

_TRIES = 40
_EVEN = 30  # tries in which yes and no are kept even
_WORDINGS = 12
_PARAPHRASED = 0.5  # of the questions of a template that has paraphrases
_LOOKED_AT = 96  # images that one draw of a question is tried on
_ANCHORED = 0.75
Values = dict[str, str]


@dataclass
class Counts:
    """What was made so far."""

    images: Counter[int] = field(default_factory=Counter)
    asked: set[tuple[int, int]] = field(default_factory=set)
    answers: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, record: Plain) -> None:
        """Count a question."""
        self.images[record["study_id"]] += 1
        self.asked.add((record["template_index"], record["study_id"]))
        self.answers[record["template_index"]][record["key"]] += 1


class VqaQuestions(Attempts):
    """The attempts of a set of questions about one X-ray each."""

    def __init__(
        self, pool: Pool, size: int, seed: int, paraphrases: Paraphrases | None = None
    ) -> None:
        self._pool = pool
        self._templates = {_name(t.index): t for t in vqa_templates(seed, said=paraphrases)}
        super().__init__(Turns(tuple(self._templates), seed), size, seed)
        self._counts = Counts()
        self._rows = {film.study: row for row, film in enumerate(pool.films)}

    @property
    def templates(self) -> Sequence[str]:
        """The names of all templates, as the card counts them."""
        return tuple(f"{t.content_type}: {t.text}" for t in self._templates.values())

    def _count(self, name: str, record: Plain) -> None:
        del name
        self._counts.add(record)

    def _new(self, name: str) -> Plain:
        template = self._templates[name]
        rng = random.Random(f"{self._seed} attempt {self._number}")
        why: Counter[str] = Counter()
        for turn in range(_TRIES):
            films = self._least_asked(template.index, rng)
            if not films:
                why["every image has been asked"] += 1
                break
            made = self._question(template, films, rng, even=turn < _EVEN)
            if isinstance(made, dict):
                return {"id": f"v{self._number + 1:06d}", **made, "tries": turn + 1}
            why[made] += 1
        return {"failed": f"{template.content_type}: {template.text}", "why": dict(why)}

    def _least_asked(self, index: int, rng: random.Random) -> list[Film]:
        """Images this template has not been used on: of a random lot the least asked first."""
        films = self._pool.films
        lot = films if len(films) <= 4 * _LOOKED_AT else rng.sample(films, 4 * _LOOKED_AT)
        counts = self._counts
        free = [f for f in lot if (index, f.study) not in counts.asked]
        order = {f.study: (counts.images[f.study], rng.random()) for f in free}
        return sorted(free, key=lambda f: order[f.study])[:_LOOKED_AT]

    def _question(
        self, template: VqaTemplate, films: Sequence[Film], rng: random.Random, *, even: bool
    ) -> Plain | str:
        values = self._values(template.text, films[0], rng)
        if values is None:
            return "no such finding"
        program = canonical_program(template.index, tuple(sorted(values.items())))
        answers = self._answers(program, films)
        if not answers:
            return "no answer"
        film, answer = self._rarest(template.index, films, answers)
        if even and program.verify and self._too_often(template.index, answer[0]):
            return "answer too frequent"
        split = self._pool.splits[film.study]
        question = _worded(template, split, values, program, rng)
        if question is None:
            return "no wording is understood"
        return {
            "study_id": film.study,
            "image_id": film.image,
            "patient_id": film.owner,
            "split": split,
            "question": question,
            "template_text": canonical_text(template.index, values),
            "template": template.text,
            "template_index": template.index,
            "family": template.content_type,
            "content_type": template.content_type,
            "semantic_type": program.semantic_type,
            "arguments": values,
            "answer": list(answer),
            "key": ", ".join(answer),
        }

    def _values(self, text: str, film: Film, rng: random.Random) -> Values | None:
        """Values of a template's slots: mostly from what an image shows, so that the answer is
        not nearly always no."""
        shown = self._pool.present[film.study] if rng.random() < _ANCHORED else ()
        first = rng.choice(shown) if shown else None
        found: Values = {}
        for name in dict.fromkeys(SLOT.findall(text)):
            kind = name.split("_")[0]
            seen = first if name in (kind, f"{kind}_1") else _beside(first, kind, shown, rng)
            for _ in range(8):
                value = _value(kind, seen, rng)
                if value not in found.values():
                    found[name] = value
                    break
                seen = None
            else:
                return None
        if "attribute_1" in found and "category" in found:  # which disease: one that is one
            found["category"] = CATEGORY_OF[found["attribute_1"]]
            if CATEGORY_OF[found["attribute_2"]] != found["category"]:
                return None
        return found

    def _answers(self, program: Program, films: Sequence[Film]) -> dict[int, tuple[str, ...]]:
        """The answer of each image that gives one that is surely so and not empty."""
        matrix = self._pool.matrix
        rows = [self._rows[f.study] for f in films]
        found: dict[int, tuple[str, ...]] = {}
        if program.verify:
            said = truth(program, matrix)
            for film, row in zip(films, rows, strict=True):
                if bool(said.yes[row]) == bool(said.maybe[row]):
                    found[film.study] = ("yes" if said.yes[row] else "no",)
            return found
        sets = sorted(names(program, matrix).items())
        for film, row in zip(films, rows, strict=True):
            if any(bool(t.yes[row]) != bool(t.maybe[row]) for _, t in sets):
                continue
            held = tuple(name for name, t in sets if t.yes[row])
            if held:
                found[film.study] = held
        return found

    def _too_often(self, index: int, answer: str) -> bool:
        counts = self._counts.answers[index]
        return counts[answer] > counts["no" if answer == "yes" else "yes"]

    def _rarest(
        self, index: int, films: Sequence[Film], answers: Mapping[int, tuple[str, ...]]
    ) -> tuple[Film, tuple[str, ...]]:
        """The image whose answer the template has had least; of those the least asked."""
        counts = self._counts.answers[index]
        place = {film.study: at for at, film in enumerate(films)}
        study = min(answers, key=lambda s: (counts[", ".join(answers[s])], place[s]))
        return films[place[study]], answers[study]


def entropies(counts: Mapping[str, Counter[str]]) -> dict[str, dict[str, float]]:
    """By template the entropy of its answers in bits, and the highest that as many different
    answers could have."""
    found = {}
    for name, answers in sorted(counts.items()):
        total = sum(answers.values())
        bits = -math.fsum(n / total * math.log2(n / total) for n in answers.values())
        found[name] = {"bits": round(bits, 4), "highest": round(math.log2(len(answers)), 4)}
    return found


def canonical_text(index: int, values: Mapping[str, str]) -> str:
    """A template filled with names as the vocabulary spells them; categories as people say."""

    def fill(name: str) -> str:
        value = values[name]
        if name.startswith("category"):
            return CATEGORY_WORDS[value][0 if index in SINGULAR else 1]
        return value

    return SLOT.sub(lambda m: fill(m[1]), TEMPLATES[index - 1][1])


@lru_cache(maxsize=50_000)
def canonical_program(index: int, values: tuple[tuple[str, str], ...]) -> Program:
    """What a filled template computes."""
    return parse(canonical_text(index, dict(values)))


def _beside(
    first: Relation | None, kind: str, shown: Sequence[Relation], rng: random.Random
) -> Relation | None:
    """What else an image shows: of a second object the same finding, else at the same object."""
    if first is None:
        return None
    same = 1 if kind == "object" else 0
    near = [r for r in shown if r[same] == first[same] and r != first]
    return rng.choice(near) if near else None


def _value(kind: str, seen: Relation | None, rng: random.Random) -> str:
    if kind == "viewpos":
        return rng.choice(("AP", "PA"))
    if kind == "gender":
        return rng.choice(("male", "female"))
    if kind == "object":
        return seen[0] if seen else rng.choice(tuple(OBJECTS))
    attribute = seen[1] if seen else rng.choice(tuple(ATTRIBUTES))
    return CATEGORY_OF[attribute] if kind == "category" else attribute


def _worded(
    template: VqaTemplate, split: str, values: Values, program: Program, rng: random.Random
) -> str | None:
    """A wording of the split that is understood as the template is; one that is not (a synonym
    that means more than one thing, say) is no fair question."""
    own = template.paraphrased[split]
    for _ in range(_WORDINGS):
        pool = template.wordings[split]
        # Of a group that is kept back no clause may be left over for rule-made sentences.
        if own and (not pool or rng.random() < _PARAPHRASED):
            pool = own
        wording = rng.choice(pool)
        text = tidy(SLOT.sub(lambda m: _said(m[1], values[m[1]], rng), wording))
        text = text[:1].upper() + text[1:]
        try:
            if parse(text) == program:
                return text
        except Unparsed:
            continue
    return None


def _said(name: str, value: str, rng: random.Random) -> str:
    kind = name.split("_")[0]
    return value if kind in ("viewpos", "gender") else words_of(kind, value, rng)


def _name(index: int) -> str:
    return f"program_{index}"
