"""An ONNX file opened by onnxruntime: on a graphics card where there is one, else on the CPU."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import io
import os
import re
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import ModelError

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
_FATAL = 4  # onnxruntime's severity above which it writes to stderr itself
_INSTALL = "`pip install onnxruntime-gpu` (it runs on a CPU too), or `onnxruntime`"


def open_network(
    path: Path, sha256: str, *, threads: int | None = None, cuda: bool | None = None
) -> tuple[Any, str]:
    """A session and the provider that it runs on, once the file's SHA-256 is the one given.

    ``cuda`` None takes a graphics card if there is one that works. Raises ModelError.
    """
    data = _checked(path, sha256)
    from ehrqa_cli.onnx import runtime

    try:
        onnxruntime = runtime()
    except ImportError as error:
        raise ModelError("onnxruntime is not installed, so no image can be read", _INSTALL) from (
            error
        )
    onnxruntime.set_default_logger_severity(_FATAL)
    if cuda is not False and CUDA in onnxruntime.get_available_providers() and _has_card():
        session = _on_cuda(onnxruntime, data, threads)
        if session is not None:
            return session, CUDA
    try:
        providers = [CPU]
        return onnxruntime.InferenceSession(data, _options(onnxruntime, threads), providers), CPU
    # onnxruntime raises exceptions of its own native types, derived from nothing narrower.
    except Exception as error:
        raise ModelError(f"onnxruntime cannot load {path}: {error}", "name another model") from (
            error
        )


def cores() -> int:
    """Physical cores that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    usable = usable or 1
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        pairs = re.findall(r"physical id\s*: (\d+)(?:.*\n)*?core id\s*: (\d+)", text)
        if pairs:
            return max(1, min(usable, len(set(pairs))))
    return usable


def _checked(path: Path, sha256: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(
            f"cannot read the model {path}: {error.strerror}", "see `ehrqa models verify`"
        ) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ModelError(
            f"{path} is corrupt: its SHA-256 is not the card's",
            "get the file again, or write its SHA-256 into the card",
        )
    return data


def _options(onnxruntime: Any, threads: int | None) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or cores()
    options.inter_op_num_threads = 1
    options.log_severity_level = _FATAL
    # Threads that wait in a loop would take the cores from those that decode images.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _has_card() -> bool:
    """Does the driver know of a graphics card? Asked first, as onnxruntime complains aloud."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        with contextlib.suppress(OSError, AttributeError):
            driver = ctypes.CDLL(name)
            count = ctypes.c_int(0)
            if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
                return count.value > 0
    return False


def _on_cuda(onnxruntime: Any, data: bytes, threads: int | None) -> Any | None:
    """A session on the first card; None where its libraries are not there."""
    # TF32 would round what the CPU does not: the two must agree.
    providers = [(CUDA, {"use_tf32": "0"}), CPU]
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints what it falls back to
            if hasattr(onnxruntime, "preload_dlls"):
                onnxruntime.preload_dlls()
            session = onnxruntime.InferenceSession(
                data, _options(onnxruntime, threads), providers=providers
            )
    except Exception:  # of its own native types: whatever it is, the CPU is there
        return None
    return session if CUDA in session.get_providers() else None
