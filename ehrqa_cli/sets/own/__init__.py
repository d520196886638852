"""Question sets from a user's own EHR and chest X-rays, in the layouts that evaluation reads."""
