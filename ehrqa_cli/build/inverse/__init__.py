"""Gold SQL of EHRSQL to logical forms: makes training pairs and measures coverage."""

from ehrqa_cli.build.inverse.convert import invert
from ehrqa_cli.build.inverse.tree import Unrecognised

__all__ = ["Unrecognised", "invert"]
