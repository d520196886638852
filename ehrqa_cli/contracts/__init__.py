"""The types, errors and plugin contracts every room shares. Standard library only."""
