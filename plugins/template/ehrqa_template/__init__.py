"""A plugin for ehrqa: one class a file, each keeping one contract of ``ehrqa_cli.contracts``."""

VERSION = "0.1.0"
