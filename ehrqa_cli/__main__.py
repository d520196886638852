"""``python -m ehrqa_cli`` and the console script ``ehrqa``."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line; returns the exit code.

    The help page and the version are answered before click is imported, because importing it
    takes longer than starting Python does.
    """
    argv = sys.argv[1:]
    if len(argv) <= 1 and "_EHRQA_COMPLETE" not in os.environ:
        if argv in ([], ["--help"], ["-h"]):
            from ehrqa_cli.cli import output
            from ehrqa_cli.cli.commands import root_help

            return output.finish(root_help())
        if argv == ["--version"]:
            from ehrqa_cli import __version__
            from ehrqa_cli.cli import output

            return output.finish(f"ehrqa {__version__}\n")
    from ehrqa_cli.cli.main import run

    code = run(argv)
    aside = sys.modules.get("ehrqa_cli.aside")
    if aside is not None and aside.running():
        # A query that was left goes on; what its engine would say of that at the end is no error.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
