"""A note's text cut into sections and lines, with offsets into the text as it was given."""

from ehrqa_cli.notes.lines.condense import Condensed, condense
from ehrqa_cli.notes.lines.split import Cut, cuts, split

__all__ = ["Condensed", "Cut", "condense", "cuts", "split"]
