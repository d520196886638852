"""`ehrqa eval`: benchmarks."""
