"""A session as its users have it: the parts, and the doors to the path of a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ehrqa_cli.contracts.types import Answer, Question
from ehrqa_cli.engine.ask import ask
from ehrqa_cli.engine.many import ask_many
from ehrqa_cli.engine.question_run import OnEvent
from ehrqa_cli.engine.session_parts import SessionParts
from ehrqa_cli.engine.taught import Entry
from ehrqa_cli.engine.teaching import run_reading, teach


class Session(SessionParts):
    """Everything that is needed to answer questions, and ``ask`` and ``ask_many`` with it."""

    def ask(
        self,
        question: str | Question,
        *,
        patient_id: int | None = None,
        study_id: int | None = None,
        choices: Mapping[str, str] | None = None,
        as_of: str | None = None,
        on_event: OnEvent | None = None,
    ) -> Answer:
        """Answer one question: `engine.ask`. The named values are for a question given as text.

        Raises UsageError for a question that cannot be asked, Cancelled after ``cancel``.
        """
        if isinstance(question, str):
            options = tuple((choices or {}).items())
            question = Question(
                question, patient_id=patient_id, study_id=study_id, choices=options, as_of=as_of
            )
        return ask(question, self, on_event)

    def run_reading(self, held: Answer, on_event: OnEvent | None = None) -> Answer:
        """Run the reading of a withheld answer, unchecked: `engine.teaching.run_reading`."""
        return run_reading(held, self, on_event)

    def teach(self, answer: Answer) -> Entry:
        """Keep the reading of a tentative answer for its wording: `engine.teaching.teach`."""
        return teach(answer, self)

    def ask_many(
        self,
        questions: Iterable[str | Question],
        *,
        workers: int | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> Iterator[Answer]:
        """The answers to ``questions`` in their order, as `ask` would give them: see
        `engine.many.ask_many`."""
        given = (Question(q) if isinstance(q, str) else q for q in questions)
        return ask_many(given, self, workers=workers, on_warning=on_warning)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
