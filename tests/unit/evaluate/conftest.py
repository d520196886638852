"""Lets these tests use the fakes of the engine's tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
