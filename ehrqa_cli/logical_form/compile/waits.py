"""How long after one event another came, over many of them."""

from __future__ import annotations

from dataclasses import replace

from ehrqa_cli.logical_form.compile.measures import median
from ehrqa_cli.logical_form.compile.relations import inherited, key_of, relation_of, side, window
from ehrqa_cli.logical_form.compile.values import in_unit, unsupported, where
from ehrqa_cli.logical_form.form import Select
from ehrqa_cli.logical_form.grammar import HEADS


def wait(select: Select) -> str:
    """Average, longest or shortest time from the related event to the first one after it.

    Days, or hours. An event at the very time of the other counts as waiting 0. Raises FormError
    without an ``after``.
    """
    relation = relation_of(select.event)
    if relation is None or relation.name not in ("after", "after_end"):
        raise unsupported("a waiting time without the event it is counted from")
    inner = inherited(select.event, relation)
    main = replace(select.event, filters=tuple(f for f in select.event.filters if f != relation))
    from_side = side(inner, relation, related=True)
    to_side = side(main, relation)
    key = key_of(relation, "T1.t", "T1.v", other=True)
    matched = window(relation, "T1.t", key, ("T2.t", "T2.v"))
    matched = [m.replace("T1.t < T2.t", "T1.t <= T2.t") for m in matched]
    gap = in_unit(select, "( strftime('%J',MIN( T2.t )) - strftime('%J',T1.t ) )")
    each = (
        f"SELECT {gap} AS m FROM ( SELECT DISTINCT * FROM ( {from_side} ) ) AS T1 "
        f"JOIN ( {to_side} ) AS T2 ON T1.subject_id = T2.subject_id{where(matched)} "
        "GROUP BY T1.subject_id, T1.t"
    )
    how = HEADS[select.head].how
    return median(each) if how == "median" else f"SELECT {how.upper()}( m ) FROM ( {each} )"
