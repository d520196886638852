"""What the header of a run names this package's code by."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ehrqa_cli.evaluate import files


def code_hash(package: Path = Path(__file__).parent) -> str:
    """The start of the SHA-256 of ehrqa's own files and of those of ``package``, this one."""
    digest = hashlib.sha256(files.code_hash().encode())
    for path in sorted(package.rglob("*")):
        if path.suffix in (".py", ".toml"):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(package).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:16]
