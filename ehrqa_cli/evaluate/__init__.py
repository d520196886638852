"""Benchmarks: load, run (resumable), score, report."""
