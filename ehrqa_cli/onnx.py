"""ONNX Runtime, kept silent: the one place that imports it.

Its official builds send events of use to their maker, and keep a device's id and a database of
events in the user's cache folder, from the moment they are imported (version 1.31, Privacy.md).
Only its variable, set before the import, prevents both; child processes inherit it.
"""

from __future__ import annotations

import os
from typing import Any

_SILENT = {"ORT_DISABLE_TELEMETRY": "1"}


def runtime() -> Any:
    """The module onnxruntime. Raises ImportError where it is not installed."""
    os.environ.update(_SILENT)
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime
