"""The logical form over clinical events: grammar, parser, decoding machine, description, compiler.

Pure: no database, no model, no third-party import (design: "Logical form").
"""

from ehrqa_cli.logical_form.compile import (
    commonest_item,
    compile_sql,
    evidence_queries,
    items_queries,
)
from ehrqa_cli.logical_form.compile.layout import Layout
from ehrqa_cli.logical_form.describe import describe
from ehrqa_cli.logical_form.form import (
    Abstain,
    Combine,
    Compare,
    Event,
    Filter,
    Form,
    Items,
    Lit,
    Ref,
    Select,
    print_form,
)
from ehrqa_cli.logical_form.grammar import LEXEMES, REFS, TYPES
from ehrqa_cli.logical_form.links import bind, refer, used_links
from ehrqa_cli.logical_form.machine import EOS, Machine
from ehrqa_cli.logical_form.normalise import normalise
from ehrqa_cli.logical_form.parse import parse
from ehrqa_cli.logical_form.scope import scope_of
from ehrqa_cli.logical_form.sense import flaw

__all__ = [
    "EOS",
    "LEXEMES",
    "REFS",
    "TYPES",
    "Abstain",
    "Combine",
    "Compare",
    "Event",
    "Filter",
    "Form",
    "Items",
    "Layout",
    "Lit",
    "Machine",
    "Ref",
    "Select",
    "bind",
    "commonest_item",
    "compile_sql",
    "describe",
    "evidence_queries",
    "flaw",
    "items_queries",
    "normalise",
    "parse",
    "print_form",
    "refer",
    "scope_of",
    "used_links",
]
