"""What n-grams alone give away of a set, and splits against it (Yang et al. 2024).

ngrams   how far n-grams alone give unanswerable questions away
split    the debiased and the random split of a validation set, and writing one down
"""
