"""Questions about chest X-rays to NeuralSQL: findings of a study, and of two that are compared.

A study that does not exist gives no row (or NULL), never a "no".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ehrqa_cli.logical_form.compile import groups
from ehrqa_cli.logical_form.compile.relations import rows
from ehrqa_cli.logical_form.compile.sentences import (
    call,
    condition,
    is_class,
    is_there,
    list_names,
    list_places,
    names_of,
    places_of,
)
from ehrqa_cli.logical_form.compile.values import quote, unsupported, where
from ehrqa_cli.logical_form.form import Event, Group, Items, Lit, Select
from ehrqa_cli.logical_form.grammar import COMPARISONS, HEADS, IMAGE, KINDS

_STUDY = "tb_cxr.study_id"


def is_image(select: Select) -> bool:
    """Is it this module's to compile? (The other heads of studies are like those of any event.)"""
    return select.event.kind in IMAGE or HEADS[select.head].sql == "image"


def compile_image(select: Select) -> str:
    """NeuralSQL of a select about findings, widths, views. Raises FormError."""
    event, head = select.event, select.head
    if sentence := HEADS[head].part if event.kind == "study" else "":
        return f"SELECT {call(sentence, _STUDY)} FROM tb_cxr{where(rows(event))}"
    if event.of is None or select.also:
        raise unsupported("a finding without the study it is looked for in")
    if event.comparison:
        if select.group:
            raise unsupported("the findings that changed, by name")
        return _compared(select)
    if head in ("exists", "none"):
        if sentence := KINDS[event.kind].sentence:
            found = f"{call(sentence, _STUDY)} = 1"
        else:
            found = condition(event.items, event.places, _STUDY)
        return f"SELECT {_yes(head, found)} FROM tb_cxr{where(rows(event.of))}"
    chosen = where(rows(event.of))
    studies = _From(_STUDY, f"tb_cxr{chosen}", "AND" if chosen else "WHERE")
    if head == "side":
        return _sides(_listed(event, "place", replace(studies, each=True)))
    if head == "top" or select.group:
        return _ranked(select, _listed(event, "name", replace(studies, each=True)))
    return _counted(head, _listed(event, head, studies))


def _ranked(select: Select, listed: str) -> str:
    """The names that most studies have, or each and how many studies have it; ties are kept."""
    each = f"SELECT name AS k, COUNT( DISTINCT study ) AS v FROM ( {listed} ) AS seen GROUP BY name"
    if select.head == "top":
        return groups.grouped(select, Group("name", "most", select.args[0], finish="keys"), each)
    if select.head != "count" or select.group is None:
        raise unsupported(f"{select.head} of findings by name")
    return groups.grouped(select, select.group, each)


def _sides(listed: str) -> str:
    """The sides that places are on."""
    side = "CASE WHEN name LIKE 'left %' THEN 'left' WHEN name LIKE 'right %' THEN 'right' END"
    sides = f"SELECT {side} AS side FROM ( {listed} ) AS seen"
    return f"SELECT DISTINCT side FROM ( {sides} ) AS told WHERE side IS NOT NULL"


def _yes(head: str, found: str) -> str:
    """Of several studies: is it so in any (exists), or in none of them?"""
    return f"MAX( {found} )" if head == "exists" else f"1 - MAX( {found} )"


def _counted(head: str, listed: str) -> str:
    if head in ("name", "place"):
        return listed
    if head in ("count", "count_names"):
        return f"SELECT COUNT(*) FROM ( {listed} )"
    raise unsupported(f"{head} of a finding")


@dataclass(frozen=True)
class _From:
    """Rows of studies: ``study`` is the expression for one, ``rows`` what follows FROM, ``more``
    the word before a further condition; ``each``: the names of each study, not of all."""

    study: str
    rows: str
    more: str
    each: bool = False

    def _named(self, name: str) -> str:
        return f"{name} AS name, {self.study} AS study" if self.each else name

    def listing(self, sentence: str) -> str:
        """The names that a sentence gives."""
        return f"SELECT {self._named(call(sentence, self.study))} FROM {self.rows}"

    def either(self, name: str, found: str) -> str:
        """The name, where the condition holds."""
        return f"SELECT {self._named(quote(name))} FROM {self.rows} {self.more} {found}"


def _listed(event: Event, head: str, studies: _From, *, absent: bool = False) -> str:
    """Names or places of a finding in a study, as one query."""
    names, op = names_of(event.items)
    spots, place_op = places_of(event.places)
    if head == "place":
        if spots == [None]:
            each = [studies.listing(list_places(name, absent=absent)) for name in names]
            return _sets(op, each)
        made = [
            studies.either(str(spot), _negated(_at(event, str(spot), studies.study), absent))
            for spot in spots
        ]
        return _sets("or", made)
    each = []
    for spot in spots:
        found = []
        for name in names:
            if is_class(name):
                found.append(studies.listing(list_names(name, spot, absent=absent)))
            else:
                said = f"{call(is_there(name, spot), studies.study)} = {int(not absent)}"
                found.append(studies.either(name, said))
        each.append(_sets("not" if op == "not" else "or", found))
    return _sets(place_op, each)


def _at(event: Event, spot: str, study: str) -> str:
    return condition(event.items, Items((Lit(spot),)), study)


def _negated(found: str, absent: bool) -> str:
    return f"NOT ( {found} )" if absent else found


def _sets(op: str, parts: list[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    word = {"or": "UNION", "and": "INTERSECT", "not": "EXCEPT"}[op]
    return f" {word} ".join(f"SELECT * FROM ( {part} )" for part in parts)


# ------------------------------------------------------------------ two studies


def _compared(select: Select) -> str:
    event, head = select.event, select.head
    pair = _pair(event)
    names, _ = names_of(event.items)
    if head in ("exists", "none"):
        if not any(is_class(name) for name in names):
            found = _both(event)
            return f"SELECT {_yes(head, found)} FROM {pair}"
        exists = "EXISTS" if head == "exists" else "NOT EXISTS"
        return f"SELECT {exists} ( {_changed(event, 'name', pair)} ) FROM {pair} LIMIT 1"
    return _counted(head, _changed(event, head if head == "place" else "name", pair))


def _both(event: Event) -> str:
    """The condition on both studies, for single findings."""
    names, op = names_of(event.items)
    spots, place_op = places_of(event.places)
    now, before = COMPARISONS[event.comparison or ""].answers

    def one(name: str, spot: str | None) -> str:
        sentence = is_there(name, spot)
        answers = (("now.study_id", now), ("old.study_id", before))
        return " AND ".join(f"{call(sentence, study)} = {answer}" for study, answer in answers)

    if "not" in (op, place_op):
        raise unsupported("a comparison of what is not there")
    joined = {"and": " AND ", "or": " OR "}
    each = [joined[op].join(f"( {one(name, spot)} )" for name in names) for spot in spots]
    return joined[place_op].join(f"( {found} )" for found in each)


def _changed(event: Event, head: str, pair: str) -> str:
    """What is new, gone, still there or still absent, one by one, as a set."""
    absent = event.comparison == "still_absent"
    now = _listed(event, head, _From("now.study_id", pair, "WHERE"), absent=absent)
    old = _listed(event, head, _From("old.study_id", pair, "WHERE"), absent=absent)
    if event.comparison == "resolved":
        now, old = old, now
    return _sets("not" if event.comparison in ("new", "resolved") else "and", [now, old])


def _pair(event: Event) -> str:
    """FROM of the study asked about (now) and the one it is compared with (old)."""
    assert event.of is not None
    columns = "tb_cxr.study_id, tb_cxr.subject_id, tb_cxr.studydatetime"
    now = f"( SELECT {columns} FROM tb_cxr{where(rows(event.of))} ) AS now"
    if isinstance(event.than, Event):
        than = event.than
        patient = event.of.get("patient")
        if patient and not than.get("patient") and not than.items:
            than = replace(than, filters=(patient, *than.filters))
        return f"{now} JOIN ( SELECT {columns} FROM tb_cxr{where(rows(than))} ) AS old"
    last = (
        "SELECT MAX( earlier.studydatetime ) FROM tb_cxr AS earlier WHERE "
        "earlier.subject_id = now.subject_id AND earlier.studydatetime < now.studydatetime"
    )
    return (
        f"{now} JOIN tb_cxr AS old ON old.subject_id = now.subject_id "
        f"AND old.studydatetime = ( {last} )"
    )
