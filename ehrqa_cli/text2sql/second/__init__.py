"""A second opinion on a question, by models unlike the one that writes the form.

``SecondOpinion`` says whether the question can be answered at all, which question with a known
form is nearest, and how likely a given form is; the engine declines where the two disagree.
"""

from ehrqa_cli.text2sql.second.opinion import Neighbour, SecondOpinion

__all__ = ["Neighbour", "SecondOpinion"]
