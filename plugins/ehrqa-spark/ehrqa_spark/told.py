"""What a Java exception says, in one line."""

from __future__ import annotations

import re

_CLASS = re.compile(r"^:?\s*((?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)[\w$]*)(?::\s*|$)")
_END = re.compile(r"\s*(SQLSTATE: \w+.*|Verify the spelling.*|Driver stacktrace:.*)$", re.S)
_CAUSE = re.compile(r"(?:\): |Caused by: )((?:[a-z_][\w$]*\.)+[A-Z][\w$]*)(?:: (.*))?")
_LONGEST = 240


def kind(error: BaseException) -> str:
    """The class of the Java exception behind a Py4JJavaError; empty for another error."""
    for line in str(error).splitlines():
        if found := _CLASS.match(line):
            return found[1]
    return ""


def told(error: BaseException) -> str:
    """The message of an exception without its class, its trace and the statement."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    for i, line in enumerate(lines):
        if found := _CLASS.match(line):
            rest = line[found.end() :].strip() or next(iter(lines[i + 1 :]), "").strip()
            inner = _CAUSE.search(rest)
            rest = (inner[2] or inner[1]) if inner else rest
            return _short(rest or found[1].rsplit(".", 1)[-1])
    return _short(lines[0])


def _short(text: str) -> str:
    return _END.sub("", text).strip().rstrip(".")[:_LONGEST] or "it does not say why"
