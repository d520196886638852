"""The demo EHR: imaginary patients from a seed, in the schema of EHRSQL-2024."""
