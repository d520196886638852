from __future__ import annotations
from ehrqa_cli.build.pair import Pair
class Composer:
    def __init__(self, g): self.g=g
    def compose(self) -> Pair: raise NotImplementedError
