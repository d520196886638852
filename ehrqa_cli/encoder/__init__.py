"""One small encoder over linked questions and readings of them, with several heads."""
