"""Yang et al. 2024, "Towards Unbiased Evaluation of Detecting Unanswerable Questions in EHRSQL".

ngrams   how far n-grams alone give unanswerable questions away; the filter made of them
split    the debiased and the random split of a validation set, and writing one down
signals  what can tell unanswerable questions, and thresholds for a stated precision
run      one pass of a model over the questions, its records kept
tables   the paper's tables 1 to 9, and the same for our own signals
"""
