"""Reviewing a set of questions over notes: decisions, figures, and the reviewed set."""

from ehrqa_cli.sets.notes.review.decisions import (
    ACCEPTED,
    DROPPED,
    EDITED,
    Decision,
    Review,
    reviewers,
)
from ehrqa_cli.sets.notes.review.items import Content, Item, ReviewSet, load_set

__all__ = [
    "ACCEPTED",
    "DROPPED",
    "EDITED",
    "Content",
    "Decision",
    "Item",
    "Review",
    "ReviewSet",
    "load_set",
    "reviewers",
]
