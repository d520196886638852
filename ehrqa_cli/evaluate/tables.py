"""Tables of a report, as the contract of benchmarks has them."""

from ehrqa_cli.contracts.benchmarks import Cell, Listing
from ehrqa_cli.contracts.benchmarks import Cells as Row
from ehrqa_cli.contracts.benchmarks import Table as StudyTable

__all__ = ["Cell", "Listing", "Row", "StudyTable"]
