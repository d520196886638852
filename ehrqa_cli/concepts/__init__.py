"""What clinical words mean in this record: concepts, and the items that they stand for."""
