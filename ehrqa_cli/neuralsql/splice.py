"""Answers put in the place of calls: a CTE of values for each, and what refers to it.

A yes/no call becomes ``( study IN ( SELECT study FROM vqa_1 ) )``, where vqa_1 holds the studies
answered yes, so that SQLite builds its look-up once however many rows ask. A call that gives names
and is a column of its own makes a row of each name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.neuralsql.calls import Call, Parsed
from ehrqa_cli.neuralsql.clauses import Core, Span, items
from ehrqa_cli.neuralsql.rules.vqa import closing
from ehrqa_cli.sqltext import quote

_EQUAL = frozenset({"=", "==", "IN", "LIKE", "IS"})
_UNEQUAL = frozenset({"!=", "<>"})
# In every set of studies that could be empty: NULL IN ( nothing ) would be 0, not NULL.
_NO_STUDY = -1


@dataclass(frozen=True)
class Answered:
    """What is known of one call: ``yes`` studies, or names; ``missing`` ones have no image.

    Where tables of the database answer, ``sql`` gives the studies, or (study, name), in place of
    values, ``more`` studies that count as yes as well, and ``seen`` all that have an image.
    """

    verify: bool
    yes: Sequence[int] = ()
    values: Mapping[int, Sequence[str]] = field(default_factory=dict)
    missing: Sequence[int] = ()
    sql: str = ""
    more: str = ""
    seen: str = ""


class Splicer:
    """Writes parts of a query with the calls answered so far put in; others must not be asked."""

    def __init__(self, parsed: Parsed, answered: Mapping[int, Answered]) -> None:
        self.parsed = parsed
        self.answered = answered
        self.used: dict[int, None] = {}

    def whole(self) -> str:
        """The query that runs."""
        block = self.parsed.block
        body = self.span((block.start, block.end))
        return self.with_values(body)

    def with_values(self, body: str) -> str:
        """``body`` (which may begin with WITH) after the values that it refers to."""
        if not self.used:
            return body
        values = ", ".join(self._values(k) for k in sorted(self.used))
        words = body.split(None, 2)
        if words[0].upper() != "WITH":
            return f"WITH {values} {body}"
        if words[1].upper() == "RECURSIVE":
            return f"WITH RECURSIVE {values}, {words[2]}"
        return f"WITH {values}, {body[4:].lstrip()}"

    def span(self, span: Span) -> str:
        """The text of some tokens, calls answered, SELECTs that list names widened."""
        tokens, sql = self.parsed.tokens, self.parsed.sql
        start, end = span
        if start >= end:
            return ""
        pieces: list[str] = []
        done = tokens[start].start
        for first, after, made in self._edits(span):
            begin = tokens[first].start if first < after else self._gap(first)
            pieces += [sql[done:begin], made]
            done = tokens[after - 1].end if first < after else begin
        return "".join([*pieces, sql[done : tokens[end - 1].end]])

    def _gap(self, at: int) -> int:
        """Where to insert something before token ``at``: right after the one before."""
        return self.parsed.tokens[at - 1].end

    def _edits(self, span: Span) -> list[tuple[int, int, str]]:
        """(first token, the one after, text), in order; equal ones insert before the first."""
        edits: list[tuple[int, int, str]] = []
        wrapped: list[Span] = []
        for core in self._listing(span):
            if "limit" in core.clauses:
                edits.append((core.start, core.end, self._wrapped(core)))
                wrapped.append((core.start, core.end))
            else:
                edits.append(self._join(core))
        edits += self._labels(span, wrapped)
        for call in self.parsed.inside(span):
            if not any(start <= call.span[0] < end for start, end in wrapped):
                edits.append(self._edit(call))
                wrapped.append(call.span)  # calls within its study are written with it
        return sorted(edits)

    def _labels(self, span: Span, wrapped: list[Span]) -> list[tuple[int, int, str]]:
        """A name for columns that contain a call and have none: their text would be the splice."""
        labels: list[tuple[int, int, str]] = []
        for core in {id(c.core): c.core for c in self.parsed.inside(span)}.values():
            inside = span[0] <= core.start and core.end <= span[1]
            if not inside or (core.start, core.end) in wrapped:
                continue
            for start, end in items(self.parsed.tokens, core.clauses["select"]):
                calls = [c for c in self.parsed.inside((start, end)) if c.core is core]
                if calls and self._is_unnamed((start, end)):
                    labels.append((end, end, " AS answer"))
        return labels

    def _is_unnamed(self, span: Span) -> bool:
        tokens, last = self.parsed.tokens, self.parsed.tokens[span[1] - 1]
        if last.kind == "quoted" or tokens[span[1] - 2].text.upper() == "AS":
            return False
        plain = last.text.upper() in (")", "END", "TRUE", "FALSE", "NULL")
        return plain or last.kind in ("string", "number")

    def _listing(self, span: Span) -> list[Core]:
        """SELECTs wholly in ``span`` with a column that is a call which gives names."""
        found: dict[int, Core] = {}
        for call in self.parsed.inside(span):
            core = call.core
            inside = span[0] <= core.start and core.end <= span[1]
            if self._is_column(call) and inside:
                found[core.start] = core
        return list(found.values())

    def _is_column(self, call: Call) -> bool:
        return call.item and not self.answered[call.k].verify

    def _twin(self, call: Call) -> Call | None:
        """The column with the same call: GROUP BY and ORDER BY mean its names."""
        if call.clause not in ("group", "order", "having"):
            return None
        for other in self.parsed.calls:
            same = other.question == call.question and other.study_sql == call.study_sql
            if same and other.core is call.core and self._is_column(other):
                return other
        return None

    def _columns(self, core: Core) -> list[Call]:
        return [c for c in self.parsed.calls if c.core is core and self._is_column(c)]

    def _name(self, call: Call) -> str:
        self.used[call.k] = None
        return f"{self.parsed.prefix}{call.k}"

    def _join(self, core: Core) -> tuple[int, int, str]:
        """JOIN the values at the end of FROM, so that each name makes a row."""
        joined = []
        for call in self._columns(core):
            name = self._name(call)
            joined.append((name, f"{name}.study = {self.span(call.study)}"))
        if "from" in core.clauses:
            at = core.clauses["from"][1]
            return at, at, "".join(f" JOIN {name} ON {on}" for name, on in joined)
        at = core.clauses["select"][1]
        joins = "".join(f" JOIN {name} ON {on}" for name, on in joined)
        return at, at, f" FROM ( SELECT 1 ){joins}"

    def _wrapped(self, core: Core) -> str:
        """Rows are chosen first (LIMIT), then each makes its names."""
        tokens, prefix = self.parsed.tokens, self.parsed.prefix
        inner: list[str] = []
        outer: list[str] = []
        joins: list[str] = []
        columns = {call.span[0]: call for call in self._columns(core)}
        for number, (start, end) in enumerate(items(tokens, core.clauses["select"])):
            call = columns.get(start)
            if call is None:
                text, label = self._item((start, end))
                inner.append(f"{text} AS {prefix}c{number}")
                outer.append(f"{prefix}rows.{prefix}c{number} AS {label}")
                continue
            name, study = self._name(call), f"{prefix}s{call.k}"
            inner.append(f"{self.span(call.study)} AS {study}")
            joins.append(f" JOIN {name} ON {name}.study = {prefix}rows.{study}")
            label = self.parsed.text((call.span[1], end)).strip() or "AS answer"
            outer.append(f"{name}.value {label}")
        select = core.clauses["select"][1]
        distinct = "DISTINCT " if core.distinct else ""
        rest = self.span((select, core.end))
        chosen = f"SELECT {distinct}{', '.join(inner)} {rest}"
        return (
            f"SELECT {distinct}{', '.join(outer)} FROM ( {chosen} ) AS {prefix}rows{''.join(joins)}"
        )

    def _item(self, span: Span) -> tuple[str, str]:
        """A column's expression and its name."""
        start, end = span
        tokens = self.parsed.tokens
        if end - start > 2 and tokens[end - 2].text.upper() == "AS":
            return self.span((start, end - 2)), self.parsed.text((end - 1, end))
        last = tokens[end - 1].text if end - start in (1, 3) else self.parsed.text(span)
        return self.span(span), '"' + last.replace('"', '""') + '"'

    def _edit(self, call: Call) -> tuple[int, int, str]:
        """What stands in the place of one call."""
        first, after = call.span
        known = self.answered.get(call.k)
        if known is None:  # its studies would have to be known before it is asked for them
            raise Refused(
                "FUNC_VQA stands where no value can", "write it in SELECT, ON, WHERE or HAVING"
            )
        if self._is_column(call):
            return first, after, f"{self._name(call)}.value"
        twin = self._twin(call)
        if twin is not None:
            return first, after, f"{self._name(twin)}.value"
        study = self.span(call.study)
        if known.verify:
            inside = f"SELECT study FROM {self._name(call)}"
            return first, after, self._guarded(known, study, f"{study} IN ( {inside} )")
        compared = self._compared(call)
        if compared:
            first, after, negated, condition = compared
            named = f"SELECT study FROM {self._name(call)} WHERE value COLLATE NOCASE {condition}"
            inside = f"{named} UNION ALL SELECT {_NO_STUDY}"
            way = "NOT IN" if negated else "IN"
            return first, after, self._guarded(known, study, f"{study} {way} ( {inside} )")
        name = self._name(call)
        if self._alone_in_list(call):  # x IN ( FUNC_VQA(...) )
            return first, after, f"SELECT value FROM {name} WHERE study = {study}"
        listed = f"( SELECT group_concat(value, ', ') FROM {name} WHERE study = {study} )"
        return first, after, listed

    def _guarded(self, known: Answered, study: str, test: str) -> str:
        """A study without an image is neither a yes nor a no: NULL."""
        if not known.missing:
            return f"( {test} )"
        if known.seen:
            return f"( CASE WHEN {study} IN ( {known.seen} ) THEN {test} ELSE NULL END )"
        missing = ", ".join(map(str, known.missing))
        return f"( CASE WHEN {study} IN ( {missing} ) THEN NULL ELSE {test} END )"

    def _compared(self, call: Call) -> tuple[int, int, bool, str] | None:
        """The stretch of ``call = 'x'`` and the like: (first, after, negated, condition)."""
        tokens = self.parsed.tokens
        first, after = call.span
        words = [token.text.upper() for token in tokens[after : after + 2]]
        negated = words[:1] == ["NOT"]
        at = after + negated
        sign = tokens[at].text.upper() if at < len(tokens) and tokens[at].kind == "word" else ""
        if at + 1 < len(tokens) and sign in _EQUAL | _UNEQUAL:
            operand = tokens[at + 1]
            if sign == "IN" and operand.text == "(":
                end = closing(tokens, at + 1)
                return first, end + 1, negated, f"IN {self.parsed.text((at + 1, end + 1))}"
            if operand.kind == "string":
                shown = "LIKE" if sign == "LIKE" else "="
                denied = negated or sign in _UNEQUAL
                return first, at + 2, denied, f"{shown} {quote(operand.text)}"
        if first >= 2 and tokens[first - 1].text in ("=", "==", "!=", "<>"):
            operand = tokens[first - 2]
            if operand.kind == "string":
                denied = tokens[first - 1].text in _UNEQUAL
                return first - 2, after, denied, f"= {quote(operand.text)}"
        return None

    def _alone_in_list(self, call: Call) -> bool:
        tokens = self.parsed.tokens
        first, after = call.span
        if first < 2 or after >= len(tokens):
            return False
        bracketed = tokens[first - 1].text == "(" and tokens[after].text == ")"
        return bracketed and tokens[first - 2].text.upper() == "IN"

    def _values(self, k: int) -> str:
        known = self.answered[k]
        name = f"{self.parsed.prefix}{k}"
        if known.sql:
            return self._joined(name, known)
        if known.verify:
            rows = ",".join(f"({study})" for study in known.yes or (_NO_STUDY,))
            return f"{name}(study) AS ( VALUES {rows} )"
        rows = ",".join(
            f"({study},{quote(value)})" for study, names in known.values.items() for value in names
        )
        # MATERIALIZED and of integers, so that SQLite makes an index of it once.
        values = "NULL, NULL WHERE 0"
        if rows:
            values = f"CAST(column1 AS INTEGER), column2 FROM ( VALUES {rows} )"
        return f"{name}(study, value) AS MATERIALIZED ( SELECT {values} )"

    def _joined(self, name: str, known: Answered) -> str:
        """The answers as a query on tables of the database."""
        if not known.verify:
            # In the order of the names, as answers that were read are; without a LIMIT SQLite
            # would leave the order out.
            rows = f"SELECT study_id, value FROM ( {known.sql} ) AS found"
            rows += " ORDER BY study_id, value LIMIT -1"
            return f"{name}(study, value) AS MATERIALIZED ( {rows} )"
        parts = [known.sql, *([known.more] if known.more else []), f"SELECT {_NO_STUDY}"]
        return f"{name}(study) AS ( {' UNION ALL '.join(parts)} )"
