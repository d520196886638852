"""The fixtures that the program's tests and its plugins' tests have in common."""

pytest_plugins = ("ehrqa_fixtures",)
