"""Real pictures in the terminal (kitty's protocol or sixel), where the terminal can.

The terminal has to be asked before Textual reads its answers, and one that does not answer takes
time and may lose a key. So it is asked only where its own variables promise graphics.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

_PROGRAMS = ("kitty", "ghostty", "wezterm", "iterm.app", "konsole", "rio", "contour", "mlterm")
_TERMS = ("kitty", "ghostty", "foot", "mlterm", "contour", "sixel")
_found: list[Any] = []


def promised(environ: Mapping[str, str]) -> bool:
    """Whether the terminal says of itself that it draws pictures; not inside tmux or screen."""
    if "TMUX" in environ or environ.get("TERM", "").startswith(("screen", "tmux")):
        return False
    program = environ.get("TERM_PROGRAM", "").lower()
    return program in _PROGRAMS or any(name in environ.get("TERM", "") for name in _TERMS)


def look() -> None:
    """Ask the terminal, before the app starts; finds nothing where it promises nothing."""
    if not promised(os.environ) or "NO_COLOR" in os.environ or not sys.__stdout__:
        return
    try:
        from textual_image.renderable import HalfcellImage, UnicodeImage
        from textual_image.renderable import Image as Best
        from textual_image.widget import Image
    except Exception:
        return  # a terminal that answers nonsense gets half blocks
    if Best not in (HalfcellImage, UnicodeImage):
        _found.append(Image)


def widget() -> Any | None:
    """The class of widget that draws a Pillow image, None for half blocks."""
    return _found[0] if _found else None
