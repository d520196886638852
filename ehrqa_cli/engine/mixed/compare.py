"""Do a note and the tables say the same? Pure: from what either said to a sentence and a value."""

from __future__ import annotations

from ehrqa_cli.engine.mixed.types import (
    Aspect,
    Compared,
    ComparedKind,
    Measure,
    Mixed,
    NoteFound,
    Relation,
    TableFound,
)
from ehrqa_cli.engine.mixed.units import order, routes

NOTE, TABLE, UNITS = "mixed_note", "mixed_table", "mixed_units"
_YES_NO = {True: "yes", False: "no"}


def compare(mixed: Mixed, note: NoteFound, table: TableFound) -> Compared:
    """What the two sides say of each other. ``agrees`` None: it cannot be told, for ``reason``."""
    if mixed.aspect is Aspect.PRESENT:
        return _presence(mixed, note, table)
    said, held = _note_side(mixed, note), _table_side(mixed, table)
    if not note.measures:
        text = f"{said} {held}"
        return Compared(text, None, None, f"The notes give no {_what(mixed)}.", NOTE)
    if not table.measures:
        text = f"{said} {held}"
        return Compared(text, None, None, f"The tables hold no {_what(mixed)}.", TABLE)
    if len(note.measures) > 1 and mixed.relation is not Relation.BOTH_VALUES:
        return _several(mixed, note, table, f"{said} {held}")
    if len(table.measures) > 1:
        reason = f"The tables hold several: {_list(table.measures)}."
        return Compared(f"{said} {held}", None, None, reason, TABLE)
    signs = [_sign(mixed, measure, table.measures[0]) for measure in note.measures]
    if None in signs and mixed.relation is not Relation.BOTH_VALUES:
        reason = f"{note.measures[0].text} and {table.measures[0].text} cannot be compared."
        return Compared(f"{said} {held}", None, None, reason, UNITS)
    return _told(mixed, note, table, signs, f"{said} {held}")


def _told(
    mixed: Mixed, note: NoteFound, table: TableFound, signs: list[int | None], text: str
) -> Compared:
    sign = signs[0] if len(signs) == 1 else None
    agrees = None if sign is None else sign == 0
    text = f"{text}{_verdict(mixed, sign)}{_times(note, table)}"
    if mixed.relation is Relation.BOTH_VALUES:
        values = [_list(note.measures), table.measures[0].text]
        return Compared(text, values, agrees)
    wanted = {
        Relation.SAME: sign == 0,
        Relation.ALSO_IN_TABLES: sign == 0,
        Relation.ALSO_IN_NOTE: sign == 0,
        Relation.DIFFERENT: sign != 0,
        Relation.HIGHER: sign == 1,
        Relation.LOWER: sign == -1,
    }
    return Compared(text, _YES_NO[wanted[mixed.relation]], agrees)


def _sign(mixed: Mixed, note: Measure, table: Measure) -> int | None:
    """-1, 0, 1 as the note's is less, the same or more; of routes 0, or 2 for another one."""
    if mixed.aspect is Aspect.ROUTE:
        a, b = routes(note.text), routes(table.text)
        return None if not a or not b else 0 if a & b else 2
    return order(note, table, rounded=mixed.kind is ComparedKind.LAB)


def _several(mixed: Mixed, note: NoteFound, table: TableFound, text: str) -> Compared:
    """The note gives several values: they can be told apart from the tables' only if none fits."""
    reason = f"The note gives several: {_list(note.measures)}. Ask of admission or of discharge."
    signs = [_sign(mixed, m, t) for m in note.measures for t in table.measures]
    if None in signs or 0 in signs or mixed.relation in (Relation.HIGHER, Relation.LOWER):
        return Compared(text, None, None, reason, NOTE)
    text = f"{text} They do not agree.{_times(note, table)}"
    return Compared(text, _YES_NO[mixed.relation is Relation.DIFFERENT], False)


def _presence(mixed: Mixed, note: NoteFound, table: TableFound) -> Compared:
    said, held = _note_side(mixed, note), _table_side(mixed, table)
    if note.present is None:
        reason = "The note names it only as possible, planned or stopped."
        return Compared(f"{said} {held}", None, None, reason, NOTE)
    agrees = note.present == table.present
    text = f"{said} {held}{' They agree.' if agrees else ' They do not agree.'}"
    text += _times(note, table) if note.present and table.present else ""
    relation = mixed.relation
    if relation is Relation.ALSO_IN_TABLES and not note.present:
        how = "deny or stop it" if note.spans else f"do not name {mixed.subject}"
        return Compared(f"{said} {held}", None, None, f"The notes {how}.", NOTE)
    if relation is Relation.ALSO_IN_NOTE and not table.present:
        reason = f"The tables do not hold {mixed.subject}."
        return Compared(f"{said} {held}", None, None, reason, TABLE)
    if relation is Relation.BOTH_VALUES:
        return Compared(text, [_YES_NO[bool(note.present)], _YES_NO[table.present]], agrees)
    wanted = not agrees if relation is Relation.DIFFERENT else agrees
    return Compared(text, _YES_NO[wanted], agrees)


def _what(mixed: Mixed) -> str:
    if mixed.kind is ComparedKind.LAB:
        return f"value of {mixed.subject}"
    return f"{mixed.aspect.value} of {mixed.subject}"


def _note_side(mixed: Mixed, note: NoteFound) -> str:
    where = f"The note{f' of {note.when[:10]}' if note.when else ''}"
    if mixed.aspect is Aspect.PRESENT:
        if note.present is None:
            return f"{where} names {mixed.subject}, but not as something that is so."
        if note.present:
            return f"{where} names {mixed.subject}."
        return f"{where if note.spans else 'The notes'} {_denial(note)} {mixed.subject}."
    if not note.measures:
        return f"The notes give no {_what(mixed)}."
    return f"{where} gives {mixed.subject} {_list(note.measures)}."


def _denial(note: NoteFound) -> str:
    return "denies or stops" if note.spans else "do not name"


def _table_side(mixed: Mixed, table: TableFound) -> str:
    where = {
        ComparedKind.MEDICATION: "order",
        ComparedKind.LAB: "measurement",
        ComparedKind.DIAGNOSIS: "code",
    }[mixed.kind]
    when = f" of {table.when[:16]}" if table.when else ""
    if mixed.aspect is Aspect.PRESENT:
        if table.present:
            return f"The tables hold it: {table.name}{when and ','}{when}."
        return f"The tables hold no {where} of {mixed.subject}."
    if not table.measures:
        return f"The tables hold no {where} of {mixed.subject}."
    return f"The {where} in the tables{when} ({table.name}) is {_list(table.measures)}."


def _verdict(mixed: Mixed, sign: int | None) -> str:
    if sign is None:
        return ""
    if sign == 0:
        return " They agree."
    if sign in (-1, 1) and mixed.relation in (Relation.HIGHER, Relation.LOWER):
        return f" The note's is {'higher' if sign > 0 else 'lower'}."
    return " They do not agree."


def _times(note: NoteFound, table: TableFound) -> str:
    """What a reader should know of the two times, where it bears on the comparison."""
    if note.stay is not None and table.stay is not None and note.stay != table.stay:
        return " They are of different stays."
    if note.when and table.when and table.when[:10] > note.when[:10]:
        return " The row is later than the note."
    return ""


def _list(measures: tuple[Measure, ...]) -> str:
    return ", ".join(measure.text for measure in measures)
