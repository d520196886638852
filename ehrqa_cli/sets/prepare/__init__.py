"""A database prepared for making question sets, as EHRXQA's was (Bae et al. 2023, appendix C.1)."""
