"""Questions about what the image of one named study is like: its view, the sex it shows, widths.

The image reader's own words say them whole (MIMIC-CXR-VQA's types plane, gender and size), so that
they need no logical form. EHRXQA has no template for the first two, since its tables hold both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ehrqa_cli.contracts.images import ImageReader
from ehrqa_cli.contracts.types import PatientScope, Question, Result, Scope
from ehrqa_cli.engine.question_run import Run
from ehrqa_cli.engine.route import Route

_TYPES = ("plane", "gender", "size")
_NAMED = re.compile(
    r"(?:given|in|on|for|of|looking at)\s+(?:the\s+)?"
    r"(?:(?:chest\s+)?x-?ray\s+|cxr\s+|image\s+of\s+)?(?:the\s+)?study\s+(?P<study>\d{1,18})\s*,\s*"
    r"(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class OneStudy:
    """What is asked of one study, and how to tell the answer."""

    study: int
    text: str
    verify: bool

    @property
    def neuralsql(self) -> str:
        """The call that asks it."""
        quoted = self.text.replace("'", "''")
        return f"SELECT FUNC_VQA('{quoted}', {self.study})"


def one_study(question: Question, graphs: ImageReader | None) -> OneStudy | None:
    """The question as one of this kind; None for every other."""
    if graphs is None:
        return None
    named = _NAMED.fullmatch(question.text)
    study = int(named["study"]) if named else question.study_id
    text = named["rest"] if named else question.text
    if study is None:
        return None
    asked = graphs.ask(text)
    if asked.content_type not in _TYPES:
        return None
    return OneStudy(study, text, asked.verify)


def take(run: Run, one: OneStudy) -> str:
    """Take the question as it is, with no model's help: the call that asks it."""
    route = Route(Scope.IMAGE, PatientScope.SINGLE, "it asks what one image is like")
    run.known = replace(run.known, route=route, neuralsql=one.neuralsql)
    return one.neuralsql


def tell(run: Run, one: OneStudy, result: Result) -> str:
    """The answer as a sentence."""
    del run
    values = [row[0] for row in result.rows]
    if one.verify and values in ([0], [1]):
        return f"Study {one.study}: {'yes' if values == [1] else 'no'}."
    return f"Study {one.study}: {', '.join(map(str, values))}."
