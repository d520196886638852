"""Does the answer hang on a name that also fits other items? Then it says so, or is withheld.

The query is run a second time with everything that the name fits. Where the answer stays the same,
nothing needs to be said. Where it does not, and the question gave an item's whole name, the answer
says what was counted and what was not; where it gave only a part of it, or a name that people use,
or where a "no" would become a "yes", the answer is withheld and the items are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, FormError, LimitExceeded
from ehrqa_cli.contracts.types import LinkedQuestion, Row
from ehrqa_cli.engine import confidence, meant
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.parts import Linker
from ehrqa_cli.engine.question_run import Run, Written
from ehrqa_cli.logical_form import (
    Form,
    Lit,
    Ref,
    Select,
    bind,
    commonest_item,
    compile_sql,
    items_queries,
)
from ehrqa_cli.logical_form.form import Event, Items, events, map_events, selects
from ehrqa_cli.logical_form.grammar import HEADS, KINDS
from ehrqa_cli.neuralsql import Execution
from ehrqa_cli.text2sql.linking.fuzzy import INFUSED, PRESCRIBED
from ehrqa_cli.text2sql.linking.namesakes import Namesakes, around, speaks_of

# One thing's answer from two tables is the union of sets, or either of two truths.
_JOINED = {"count_patients": "patients", "patients": "patients", "count_visits": "visits",
           "visits": "visits", "exists": "exists"}  # fmt: skip
_COUNTED = frozenset({*_JOINED, "count", "none"})
_EVENT = {"drug": "rx", "intake": "intake"}
_NOUNS = {"rx": "drug", "dx": "diagnosis", "proc": "procedure", "lab": "lab test"}
_WHERE = {"drug": "prescribed", "intake": "infused", "lab": "lab test"}
_QUOTES = tuple("\"'“‘`")
SHOWN = 4


@dataclass(frozen=True)
class Mention:
    """A value that the form counts, as the question called it, and what else that fits;
    ``quoted``: it stands in quotes, so that nothing else is meant."""

    ref: int
    kind: str
    text: str
    value: str
    found: Namesakes
    quoted: bool = False

    @property
    def others(self) -> list[str]:
        """All other values, those of the same type first, and where those of another stand."""
        return [
            value if kind == self.kind else f"{value} ({_WHERE[kind]})"
            for kind, values in self.found.also.items()
            for value in values
        ]


def check(run: Run, written: Written, done: Execution) -> str:
    """What was counted and what was not, "" where that needs no word. Withholds the answer where
    it hangs on which item was meant."""
    reading, linked, linker = written.reading, written.linked, run.session.linker
    if reading is None or done.steps:  # the images of other items would all be read
        return ""
    if not run.session.layout.ehrsql:  # a name means all that it fits
        return meant.said(reading, linked)
    rows = done.result.rows
    mentions = list(_mentions(reading.form, linked, linker))
    for mention in mentions:
        if reason := _other_table(mention, linked) or _other_words(mention, rows):
            run.check(reason)
            return ""
    said, reason = _counted(run, reading.form, linked, [m for m in mentions if m.found.also], rows)
    if reason is None:
        try:
            reason = _shared(run, reading.form, linked, linker)
        except Cancelled:
            raise
        except (FormError, DatabaseError):
            return said
    run.check(reason)
    return said


def _counted(
    run: Run, form: Form, linked: LinkedQuestion, doubtful: list[Mention], rows: Sequence[Row]
) -> tuple[str, Reason | None]:
    """What to say of the names that fit other items too, or why nothing can be said."""
    if not doubtful:
        return "", None
    wide = _wide_rows(run, form, linked, {m.ref: m for m in doubtful})
    if wide is not None and confidence.same_rows(wide, rows):
        return "", None
    vague = [m for m in doubtful if not m.found.exact or _wider(m, form)]
    turned = wide is not None and _turns(rows, wide)
    if vague or turned:
        told = _told((vague or doubtful)[0])
        return "", confidence.of_namesakes(*told, turned=turned and not vague)
    return " ".join(_said(m) for m in doubtful) + _with_them(wide), None


def instead(written: Written, reason: Reason, linker: Linker) -> Reason:
    """``reason``, or for mere doubt about a name that fits several items: which they are."""
    if reason.kind != "low_confidence" or written.reading is None:
        return reason
    for mention in _mentions(written.reading.form, written.linked, linker):
        if not mention.found.exact and mention.found.also.get(mention.kind):
            return confidence.of_namesakes(*_told(mention))
    return reason


def _mentions(form: Form, linked: LinkedQuestion, linker: Linker) -> Iterator[Mention]:
    for select in selects(form):
        for event in events(select.event):
            read = event is select.event and HEADS[select.head].of_item
            kind = KINDS[event.kind].item
            if read or event.kind == "finding" or kind is None or event.items is None:
                continue
            if any(op != "or" for op in event.items.ops):
                continue
            named = {linked.links[a.n - 1].value for a in event.items.args if isinstance(a, Ref)}
            for arg in event.items.args:
                if isinstance(arg, Ref):
                    yield _mention(arg.n, kind, named, linked, linker)


def _mention(
    ref: int, kind: str, named: AbstractSet[object], linked: LinkedQuestion, linker: Linker
) -> Mention:
    """``named`` are the values that the form counts beside it: what was asked for is no other."""
    link = linked.links[ref - 1]
    text = linked.question[link.start : link.end]
    found = linker.namesakes(text, kind, str(link.value))
    words = around(linked.text)
    given = speaks_of("drug", linked.text) and not speaks_of("lab", linked.text)
    also = {}
    for other, values in found.also.items():
        infused, prescribed = INFUSED.search(words), PRESCRIBED.search(words)
        if (kind, other) == ("drug", "intake") and prescribed and not infused:
            continue
        if (kind, other) == ("intake", "drug") and infused:
            continue
        if kind == "lab" != other and not given:
            continue
        left = tuple(v for v in values if v not in named or other != kind)
        if left:
            also[other] = left
    quoted = found.exact and linked.question[link.start - 1 : link.start] in _QUOTES
    return Mention(ref, kind, text, str(link.value), replace(found, also=also), quoted)


def _other_table(mention: Mention, linked: LinkedQuestion) -> Reason | None:
    """A lab test's name where the question speaks of giving something that is called so too, and
    "high potassium", a diagnosis or a result."""
    also = {"lab": (*_EVENT,), "dx": ("lab",)}.get(mention.kind, ())
    there = any(mention.found.also.get(kind) for kind in also)
    if there and (mention.kind == "lab" or not speaks_of("dx", linked.text)):
        return confidence.of_namesakes(mention.text, [mention.value, *mention.others], "things")
    return None


def _other_words(mention: Mention, rows: Sequence[Row]) -> Reason | None:
    """None found of what people call otherwise: "stroke", looked for under one title of many."""
    if mention.kind in ("dx", "proc") and not mention.found.part and _nothing(rows):
        return confidence.of_other_words(mention.text, mention.value)
    return None


def _nothing(rows: Sequence[Row]) -> bool:
    return [*rows] in ([(0,)], [])


def _wide_rows(
    run: Run, form: Form, linked: LinkedQuestion, doubtful: Mapping[int, Mention]
) -> Sequence[Row] | None:
    """The rows with everything that the names fit; None where that cannot be had."""
    try:
        wide = bind(_widened(form, doubtful), linked.links)
        rows: Sequence[Row] | None = _run(run, wide)
        for mention in doubtful.values():
            for kind, event in _EVENT.items():
                values = mention.found.also.get(kind, ())
                if kind == mention.kind or mention.kind not in _EVENT or not values:
                    continue
                rows = _joined(run, form, linked, mention, (event, values), rows)
        return rows
    except Cancelled:
        raise
    except (FormError, DatabaseError, LimitExceeded):
        return None


def _widened(form: Form, doubtful: Mapping[int, Mention]) -> Form:
    def widen(event: Event) -> Event:
        kind = KINDS[event.kind].item
        if event.items is None or kind is None:
            return event
        args: dict[Lit | Ref, None] = {}
        for arg in event.items.args:
            args[arg] = None
            mention = doubtful.get(arg.n) if isinstance(arg, Ref) else None
            if mention is not None and mention.kind == kind:
                args.update(dict.fromkeys(map(Lit, mention.found.also.get(kind, ()))))
        return replace(event, items=Items(tuple(args), ("or",) * (len(args) - 1)))

    return map_events(form, widen)


def _joined(
    run: Run,
    form: Form,
    linked: LinkedQuestion,
    mention: Mention,
    elsewhere: tuple[str, Sequence[str]],
    rows: Sequence[Row] | None,
) -> Sequence[Row] | None:
    """``rows`` with what the other table has ``elsewhere``, as (kind, names); None where it cannot
    be told."""
    if not isinstance(form, Select) or form.head not in _JOINED or form.group or form.also:
        return None
    if form.event.items is None or form.event.items.args != (Ref(mention.ref),):
        return None
    head = _JOINED[form.head]
    same = replace(form, head=head)
    kind, values = elsewhere
    args = tuple(map(Lit, values))
    other = replace(form.event, kind=kind, items=Items(args, ("or",) * (len(args) - 1)))
    here = _run(run, bind(_widened(same, {mention.ref: mention}), linked.links))
    there = _run(run, bind(replace(same, event=other), linked.links))
    if here is None or there is None:
        return None
    both = sorted({*here, *there}, key=str)
    if head == "exists":
        return [(int(any(row[0] for row in both)),)]
    return both if form.head == head else [(len(both),)]


def _run(run: Run, form: Form) -> Sequence[Row]:
    return _run_sql(run, compile_sql(form, run.session.layout))


def _run_sql(run: Run, sql: str) -> Sequence[Row]:
    database, as_of = run.session.database, run.known.as_of
    result, _ = neuralsql.run(sql, database, as_of=as_of, limits=run.session.limits)
    return result.rows


def _wider(mention: Mention, form: Form) -> bool:
    """Is a disease counted by one title, which is also the name of a group of them?"""
    if mention.quoted or mention.kind != "dx":
        return False
    if not isinstance(form, Select) or form.head not in _COUNTED:
        return False
    return form.event.items is not None and form.event.items.args == (Ref(mention.ref),)


def _turns(rows: Sequence[Row], wide: Sequence[Row]) -> bool:
    """Is nothing found under this name, and something under the others?"""
    return _nothing(rows) and any(any(row) for row in wide)


def _told(mention: Mention) -> tuple[str, list[str], str]:
    kind = _NOUNS.get({"drug": "rx"}.get(mention.kind, mention.kind), mention.kind)
    plural = {"diagnosis": "diagnoses"}.get(kind, f"{kind}s")
    return mention.text, [mention.value, *mention.others], plural


def _said(mention: Mention) -> str:
    shown = "; ".join(mention.others[:SHOWN])
    left = len(mention.others) - SHOWN
    more = f"; and {left} more" if left > 0 else ""
    return f"Counted: only “{mention.value}”{_where(mention)}. Not counted: {shown}{more}."


def _where(mention: Mention) -> str:
    """Where it was looked for, if there are others elsewhere."""
    elsewhere = any(kind != mention.kind for kind in mention.found.also)
    return f" ({_WHERE[mention.kind]})" if elsewhere and mention.kind in _WHERE else ""


def _with_them(wide: Sequence[Row] | None) -> str:
    if wide is None or len(wide) != 1 or len(wide[0]) != 1:
        return ""
    return f" With them it is {wide[0][0]}."


def _shared(run: Run, form: Form, linked: LinkedQuestion, linker: Linker) -> Reason | None:
    """A value of a label that several lab items share ("ph"), and not of the commonest of them."""
    for select in selects(form):
        event, items = select.event, select.event.items
        if event.kind != "lab" or items is None or len(items.args) != 1:
            continue
        arg = items.args[0]
        value = str(linked.links[arg.n - 1].value if isinstance(arg, Ref) else arg.value)
        several = linker.shared("lab", value)
        if HEADS[select.head].of_item and several > 1 and _of_another(run, select, linked, value):
            return confidence.of_shared(value, several)
    return None


def _of_another(run: Run, select: Select, linked: LinkedQuestion, label: str) -> bool:
    """Does the answer rest on other items of this label than the commonest one here?"""
    if select.head in ("max", "min"):
        way = "highest" if select.head == "max" else "lowest"
        select = replace(select, event=replace(select.event, extreme=way))
    bound = bind(select, linked.links)
    commonest = _run_sql(run, commonest_item(label))[:1]
    return any(set(_run_sql(run, sql)) - set(commonest) for sql in items_queries(bound))
