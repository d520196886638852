"""Lists of words: the one reader of them all, and the words that ask rather than name.

Lists are text, and each says at its head who wrote it, from what, and how its lines are read. Those
of one room stand in that room: ``text2sql/linking`` (words, everyday, synonyms/), ``notes/find``
(terms, denying_words, stance_triggers), ``notes/lines`` (sections, abbreviations), ``vqa`` (words)
and ``engine`` (languages). ``stop_words.txt`` here is of all rooms. tests/unit/words checks that
every entry can match what its tokenizer makes of a question or a note.
"""
