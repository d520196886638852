"""The plugin ``spark`` of the group ``ehrqa.database``."""

from __future__ import annotations

from ehrqa_spark.backend import SparkDatabase

__all__ = ["SparkDatabase"]
