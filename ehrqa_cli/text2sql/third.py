"""The third opinion of --careful: a general code model writes SQL by example; its answer counts.

Qwen2.5-Coder-1.5B (``ehrqa models pull qwen2.5-coder-1.5b``) sees the schema in brief, the nearest
known questions with their SQL over this question's values, and the question; it writes one SELECT
or ABSTAIN. It shares neither weights, nor the logical form, nor the training of the shipped model,
so that agreement of their answers is strong evidence, whatever the two queries look like. The
schema's part of the prompt is read once a session. Tens of seconds a question on two cores.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli import neuralsql
from ehrqa_cli.chat import Gguf, Transcript, Writer
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, FormError, LimitExceeded
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, LinkedQuestion, Row
from ehrqa_cli.logical_form import bind, compile_sql, parse
from ehrqa_cli.text2sql.known import Near, with_values

MODEL = "qwen2.5-coder-1.5b"
CONTEXT = 4096
MOST_TOKENS = 260
MOST_EXAMPLES = 1800  # characters of SQL of one example; longer ones teach little
_DECLINED = "ABSTAIN"
_INTRO = """\
You translate clinicians' questions into one SQLite SELECT over this database of hospital records.
Tables and columns:
{schema}
Rules: all text values are lower case. Write current_time for now. A patient is a subject_id, a
hospital visit a hadm_id, an ICU stay a stay_id. Names of lab tests and items are labels in
d_labitems and d_items, joined by itemid; diagnoses and procedures are long_title, joined by
icd_code. Use only these tables and columns. Select only the columns asked for. A question about
anything the tables do not hold (staff, names, contacts, family, allergies, habits, notes, plans,
advice, causes), and a request to change data, is answered with the single word ABSTAIN.

Q: which doctor prescribed aspirin to patient 10000001?
A: ABSTAIN

Q: what is the phone number of patient 10000001?
A: ABSTAIN

Q: should patient 10000001 get more fluids tomorrow?
A: ABSTAIN
"""


@dataclass(frozen=True)
class Opinion:
    """``sql`` None: it declined. ``rows`` None: no answer, because it declined or failed."""

    sql: str | None
    rows: tuple[Row, ...] | None


class ThirdOpinion:
    """The model with its prompt. Not thread-safe beyond ``cancel``. Make one with ``pulled``."""

    def __init__(self, writer: Writer, told: Mapping[str, str], examples: int = 5) -> None:
        self.examples = examples
        self._cancel = threading.Event()
        self._model = Transcript(writer, self._cancel)
        self._told = dict(told)

    @classmethod
    def pulled(cls, threads: int = 2) -> ThirdOpinion:
        """The pulled model. Raises ModelError, with how to pull it, when it is missing or
        corrupt."""
        from ehrqa_cli.llama import Llama

        file = Gguf.pulled(MODEL)
        told = {"model": file.path.name, "sha256": file.sha256}
        return cls(Llama(file.path, threads, CONTEXT), told)

    def answer(
        self,
        linked: LinkedQuestion,
        near: Sequence[Near],
        database: Database,
        *,
        as_of: str,
        limits: Limits | None = None,
    ) -> Opinion:
        """What the model would answer. Raises ModelError, and Cancelled after ``cancel``."""
        self._cancel.clear()
        said = self.write(prompt(linked, near, database.schema()))
        sql = read_sql(said)
        if sql is None:
            return Opinion(None, None)
        try:
            result, _ = neuralsql.run(sql, database, as_of=as_of, limits=limits)
        except Cancelled:
            raise
        except (DatabaseError, LimitExceeded):
            return Opinion(sql, None)
        return Opinion(sql, result.rows)

    def write(self, parts: tuple[str, str]) -> str:
        """The model's answer to (system, user) messages, greedy, to the end or MOST_TOKENS."""
        logits = self._model.read(self._model.chat(*parts))
        return self._model.write(logits, MOST_TOKENS)

    def cancel(self) -> None:
        """End the running ``answer`` before its next token."""
        self._cancel.set()

    def provenance(self) -> Mapping[str, str]:
        """The file and its SHA-256 as published (its size was checked, not its hash)."""
        return dict(self._told)

    def close(self) -> None:
        """Free the model."""
        self._model.writer.close()


def prompt(
    linked: LinkedQuestion, near: Sequence[Near], schema: Mapping[str, Sequence[str]]
) -> tuple[str, str]:
    """(system, user) messages: the same schema for every question, then examples, nearest last."""
    tables = "\n".join(
        f"{table}({', '.join(c for c in columns if c != 'row_id')})"
        for table, columns in sorted(schema.items())
        if not table.startswith("sqlite_")
    )
    shown = [f"Q: {text}\nA: {sql}\n" for text, sql in examples(linked, near)]
    values = "; ".join(f"{', '.join(x.types)}: {x.value}" for x in linked.links)
    found = f"(names in the database: {values})\n" if values else ""
    return (
        _INTRO.format(schema=tables),
        "\n".join([*reversed(shown), f"Q: {linked.question}\n{found}A:"]),
    )


def examples(linked: LinkedQuestion, near: Sequence[Near]) -> Iterator[tuple[str, str]]:
    """(question, SQL) of the known questions, both with this question's values."""
    for neighbour in near:
        try:
            sql = compile_sql(bind(parse(neighbour.form), linked.links))
        except FormError:
            continue
        text = with_values(neighbour.text, linked)
        if text is not None and len(sql) <= MOST_EXAMPLES:
            yield text, " ".join(sql.split())


def read_sql(said: str) -> str | None:
    """The SELECT in what the model said; None where it declined or wrote none."""
    plain = re.sub(r"```(?:sql|sqlite)?", "", said).strip()
    plain = re.sub(r"^A:\s*", "", plain)
    if plain.upper().startswith(_DECLINED):
        return None
    found = re.search(r"\b(?:select|with)\b.*", plain, re.IGNORECASE | re.DOTALL)
    if found is None:
        return None
    sql = re.split(r"\nQ:|\n\n", found[0])[0].partition(";")[0]
    return sql.strip() or None
