"""The commands of this package, which ``ehrqa`` finds by the entry points ``ehrqa.command``."""
