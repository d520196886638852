"""Lists of words: the one reader of them all, and the words that ask rather than name."""
