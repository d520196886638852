"""The commented settings file that ``ehrqa config init`` writes."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from ehrqa_cli.config.fields import CHAT, FIELDS, Field
from ehrqa_cli.contracts.errors import UsageError

_HEAD = """\
# Settings of ehrqa. Flags win over EHRQA_* variables, which win over this file; in it a profile
# wins over what stands outside profiles. Paths are relative to this file's folder.
# `ehrqa config show` says what is in force, `ehrqa config validate` what is wrong.

# The profile in force unless --profile or EHRQA_PROFILE names another; a table at the end.
# profile = "mimic-demo"
"""

_TAIL = """
# Profiles: any of the settings above, under a name.
# [profiles.mimic-demo]
# db = "/data/mimic-demo.sqlite"

# [profiles.ward-7]
# db = "/data/ward-7/ehr.sqlite"
# images = "/data/ward-7/x-rays"
# reader = "embedded"
# model = "local"
# thresholds = "ward-7.json"
"""


def text() -> str:
    """Every setting with its example, commented out."""
    plain = "".join(f"\n{_commented(of)}" for of in FIELDS if not of.table)
    chat = "".join(_commented(of) for of in FIELDS if of.table == (CHAT,))
    return f"{_HEAD}{plain}\n# [{CHAT}]\n{chat}{_TAIL}"


def _commented(of: Field) -> str:
    return f"# {of.about[0].upper()}{of.about[1:]}.\n# {of.name} = {of.example}\n"


def write(path: Path, *, force: bool) -> None:
    """Write the file for its owner alone (0600), whole or not at all.

    Raises UsageError where there is one already (unless ``force``) or it cannot be written.
    """
    real = path.resolve()  # a link to a file that is kept elsewhere stays a link
    new = real.with_name(f".{real.name}.{secrets.token_hex(4)}") if force else real
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        if isinstance(error, FileExistsError) and real.exists():
            hint = "edit it, or overwrite it with --force"
            raise UsageError(f"there is a settings file already: {path}", hint) from None
        raise _unwritable(path, error) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text())
        os.replace(new, real)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()  # part of a file
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> UsageError:
    hint = "name another file in EHRQA_CONFIG"
    return UsageError(f"cannot write {path}: {error.strerror}", hint)
