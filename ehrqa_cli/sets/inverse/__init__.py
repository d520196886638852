"""Gold SQL of EHRSQL to logical forms: makes training pairs and measures coverage."""

from ehrqa_cli.sets.inverse.convert import invert
from ehrqa_cli.sets.inverse.tree import Unrecognised

__all__ = ["Unrecognised", "invert"]
