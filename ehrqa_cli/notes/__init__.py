"""Clinical notes, kept beside the EHR: read in, split into lines, found, read."""
