"""What arrives from the terminal need not be UTF-8: a stray byte must not end the chat."""

from __future__ import annotations

import codecs
import sys
from functools import partial


def tolerate_bytes() -> None:
    """Let Textual's reader of the keyboard replace bytes that are no UTF-8.

    Its decoder is strict, and an error in it ends the program with a traceback.
    """
    if sys.platform == "win32":
        return  # there the console gives characters
    from textual.drivers import linux_driver

    decoder = codecs.getincrementaldecoder
    vars(linux_driver)["getincrementaldecoder"] = lambda name: partial(
        decoder(name), errors="replace"
    )
