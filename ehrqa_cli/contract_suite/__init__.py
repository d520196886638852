"""The contract suite: what a plugin must do, as plain functions.

One suite for ours and for third parties', run by `ehrqa plugins check` and by tests/contracts. A
check is a function of the thing to be checked; it raises `checking.Unmet` with what it saw. Its
first line of documentation is its name.
"""
