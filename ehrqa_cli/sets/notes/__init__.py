"""Questions over clinical notes: made by a model, filled from annotations, and reviewed."""
