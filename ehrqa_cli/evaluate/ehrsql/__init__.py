"""EHRSQL (Lee et al. 2022, and the 2024 shared task): questions over tables."""

from ehrqa_cli.evaluate.ehrsql.benchmark import EhrSql, run_ehrsql

__all__ = ["EhrSql", "run_ehrsql"]
