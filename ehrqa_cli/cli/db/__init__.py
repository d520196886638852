"""`ehrqa db`: make, import, map and describe databases."""
