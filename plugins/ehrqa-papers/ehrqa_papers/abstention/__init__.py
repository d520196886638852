"""Yang et al. 2024, "Towards Unbiased Evaluation of Detecting Unanswerable Questions in EHRSQL".

signals     what can tell unanswerable questions, and thresholds for a stated precision
study_pass  one pass of a model over the questions, its records kept
plan        what a study measures
study       the paper's tables 1 to 9, and the same for our own signals
figures     the paper's metrics as rows of a table
report      a whole study, and its files

N-grams and splits are ehrqa_cli.evaluate.bias.
"""
