"""The import of MIMIC-IV's files as PhysioNet ships them."""
