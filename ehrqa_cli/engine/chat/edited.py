"""NeuralSQL of the user's own, run as the model's is and told as an answer."""

from __future__ import annotations

from dataclasses import replace

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import Cancelled, EhrqaError, UsageError
from ehrqa_cli.contracts.images import NotAnswered, VqaReason
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.engine.faults import fault
from ehrqa_cli.engine.route import route_sql
from ehrqa_cli.engine.session import Session
from ehrqa_cli.engine.text import sentence, value_of
from ehrqa_cli.engine.times import check_time


def run_neuralsql(session: Session, text: str, *, as_of: str | None = None) -> Answer:
    """The rows of one NeuralSQL SELECT under the guard and limits of the session.

    A refusal or an error of the database is a failed answer, an image that cannot be read an
    abstention. No confidence: nobody weighed the query. Raises UsageError when the text is empty
    or ``as_of`` is no time, and Cancelled.
    """
    query = text.strip()
    if not query:
        raise UsageError("the query is empty", 'write for example "SELECT count(*) FROM patients"')
    question = Question("(a query of your own)", as_of=as_of)
    try:
        now = check_time(as_of) if as_of else session.as_of
        database = session.database
        if session.cancelled.is_set():
            raise Cancelled("cancelled", "")
        if lacking := database.lacking(query):
            told = f"This database does not record {lacking}."
            raise NotAnswered(VqaReason("not_in_database", told))
        done = neuralsql.execute(
            query, database, as_of=now, limits=session.limits, graphs=session.graphs
        )
    except (Cancelled, UsageError):
        raise
    except NotAnswered as declined:
        return Answer(
            question,
            Status.ABSTAINED,
            text=f"I don't know. {declined.reason.sentence}",
            reason_kind=declined.reason.kind,
            reason=declined.reason.sentence,
            reason_public=declined.reason.kind,
            neuralsql=query,
        )
    except EhrqaError as error:
        return replace(fault(question, error), neuralsql=query)
    finally:
        session.resume()
    graphs, result = session.graphs, done.result
    images = neuralsql.image_evidence(done, graphs) if done.steps and graphs is not None else ()
    return Answer(
        question,
        Status.ANSWERED,
        scope=route_sql(query, 0, session.scope).scope,
        text=sentence(result, None) if result.rows else "The query gives no rows.",
        value=value_of(result.rows),
        columns=result.columns,
        rows=result.rows,
        truncated=result.truncated,
        neuralsql=query,
        executed_sql=done.sql,
        evidence=tuple(images),
        provenance={
            "neuralsql": query,
            "executed_sql": done.sql,
            "as_of": now,
            "database": database.fingerprint(),
            "versions": {**session.versions, **database.versions()},
            "written_by": "the user",
        },
    )
