"""The command line: click commands, one error boundary, one writer each for stdout and stderr."""
