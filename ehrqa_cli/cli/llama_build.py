"""Install a llama-cpp-python that works on this machine, and prove that it does.

The default (native) build ends in a segmentation fault on CPUs with AMX, and pip's cache may
hold such a wheel, so set-up builds from source, without the cache, with instruction sets that
this CPU has and never AMX; a plain build is the fallback. A build counts as good only when a
child process has imported it and, where a GGUF file is at hand, loaded and decoded it.

Standard library only: it runs before anything else is installed,
``python -I ehrqa_cli/cli/llama_build.py``; afterwards ``python -m ehrqa_cli.cli.llama_build``.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

REQUIREMENT = "llama-cpp-python>=0.3.16,<0.4"

# GGML option -> the /proc/cpuinfo flags it needs. AMX is left out on purpose: see above.
X86_OPTIONS: dict[str, tuple[str, ...]] = {
    "GGML_SSE42": ("sse4_2",),
    "GGML_AVX": ("avx",),
    "GGML_AVX2": ("avx2",),
    "GGML_FMA": ("fma",),
    "GGML_F16C": ("f16c",),
    "GGML_BMI2": ("bmi2",),
    "GGML_AVX512": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "GGML_AVX512_VBMI": ("avx512f", "avx512vbmi"),
    "GGML_AVX512_VNNI": ("avx512f", "avx512_vnni"),
    "GGML_AVX512_BF16": ("avx512f", "avx512_bf16"),
}
NEVER = ("GGML_NATIVE", "GGML_AMX_TILE", "GGML_AMX_INT8", "GGML_AMX_BF16")
# Only the library is wanted: without these the build takes half the time.
LEAN = (
    "LLAMA_BUILD_TOOLS",
    "LLAMA_BUILD_SERVER",
    "LLAMA_BUILD_EXAMPLES",
    "LLAMA_BUILD_TESTS",
    "LLAVA_BUILD",
    "MTMD_BUILD",
)

PROBE = """
import sys
import llama_cpp as lc
print("version", lc.__version__)
if len(sys.argv) > 1:
    quiet = lc.llama_log_callback(lambda level, text, data: None)
    lc.llama_log_set(quiet, None)
    lc.llama_backend_init()
    params = lc.llama_model_default_params()
    if hasattr(params, "use_extra_bufts"):
        params.use_extra_bufts = False
    model = lc.llama_model_load_from_file(sys.argv[1].encode(), params)
    if not model:
        sys.exit("the model file does not load")
    wanted = lc.llama_context_default_params()
    wanted.n_ctx, wanted.n_threads, wanted.n_threads_batch = 64, 1, 1
    context = lc.llama_init_from_model(model, wanted)
    if not context:
        sys.exit("no context for the model")
    tokens = (lc.llama_token * 4)(0, 1, 0, 1)
    if lc.llama_decode(context, lc.llama_batch_get_one(tokens, 4)) != 0:
        sys.exit("decoding failed")
    logits = lc.llama_get_logits_ith(context, -1)
    if not logits[0] == logits[0]:
        sys.exit("decoding gives no numbers")
    print("decoded")
"""


@dataclass(frozen=True)
class Probe:
    """What a child process said: ``works``, and ``detail`` (the version, or what went wrong)."""

    works: bool
    detail: str
    crashed: bool = False


def cpu_flags(cpuinfo: str) -> frozenset[str]:
    """The instruction-set flags of the text of /proc/cpuinfo; empty where it names none."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return frozenset(value.split())
    return frozenset()


def cmake_args(flags: frozenset[str]) -> str:
    """CMake arguments for a CPU with ``flags``; with none known, a plain portable build."""
    args = ["-DGGML_NATIVE=OFF"]
    if flags:
        for option, needed in X86_OPTIONS.items():
            args.append(f"-D{option}={'ON' if flags.issuperset(needed) else 'OFF'}")
        args += [f"-D{option}=OFF" for option in NEVER[1:]]
    args += [f"-D{option}=OFF" for option in LEAN]
    return " ".join(args)


def plans(flags: frozenset[str]) -> list[tuple[str, str]]:
    """(name, CMake arguments) to try in turn: made for this CPU, then plain."""
    plain = frozenset(flag for flag in flags if not flag.startswith("avx512"))
    found = [("for this CPU", cmake_args(flags)), ("plain", cmake_args(plain))]
    return found if found[0][1] != found[1][1] else found[1:]


def probe(model: Path | None = None, python: str = sys.executable, seconds: float = 120) -> Probe:
    """Import llama_cpp in a child process and decode four tokens of ``model`` if given.

    The child is the point: a bad build ends the process with a signal, which no ``except`` sees.
    """
    command = [python, "-c", PROBE] + ([str(model)] if model else [])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return Probe(False, f"no answer within {seconds:.0f} s")
    if done.returncode < 0:
        return Probe(False, f"crashed with {signal.Signals(-done.returncode).name}", crashed=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return Probe(False, lines[-1])
    words = done.stdout.split()
    version = words[words.index("version") + 1] if "version" in words else "unknown version"
    return Probe(True, version)


def smallest_model(folder: Path) -> Path | None:
    """The smallest GGUF file under ``folder``: the quickest one to prove a build with."""
    files = sorted(folder.glob("**/*.gguf"), key=lambda file: file.stat().st_size)
    return files[0] if files else None


def build(args: str, python: str = sys.executable) -> bool:
    """Build and install from source with CMake arguments ``args``; True when pip succeeded."""
    environment = dict(os.environ, CMAKE_ARGS=args, FORCE_CMAKE="1")
    environment.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", "2")
    command = [python, "-m", "pip", "install", "-q", "--no-cache-dir", "--force-reinstall"]
    # Its dependencies come as wheels with the rest of the set-up; only this one is compiled.
    command += ["--no-deps", "--no-binary", "llama-cpp-python", REQUIREMENT]
    if subprocess.run(command, env=environment, check=False).returncode != 0:
        return False
    light = [python, "-m", "pip", "install", "-q", REQUIREMENT]
    return subprocess.run(light, check=False).returncode == 0


def say(text: str) -> None:
    """Narrate on stderr: this script also runs before the package is installed."""
    print(text, file=sys.stderr, flush=True)


def install(models: Path, rebuild: bool = False) -> int:
    """Keep a working llama_cpp, else build one. Returns the process's exit status."""
    model = smallest_model(models)
    if not rebuild and (found := probe(model)).works:
        say(f"llama-cpp-python {found.detail} works; kept")
        return 0
    cpuinfo = Path("/proc/cpuinfo")
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    flags = cpu_flags(cpuinfo.read_text()) if x86 and cpuinfo.exists() else frozenset()
    for name, args in plans(flags):
        say(f"building llama-cpp-python, {name} (about five minutes on two cores) ...")
        if not build(args):
            say("the build failed; pip's messages above say why (a C and C++ compiler is needed)")
            continue
        found = probe(model)
        if found.works:
            say(f"llama-cpp-python {found.detail} works")
            return 0
        say(f"this build does not work: {found.detail}")
    say("error: no working llama-cpp-python could be built")
    say("hint: install a C and C++ compiler (gcc and g++, or clang), then run `make setup` again")
    return 1


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and install."""
    package = Path(__file__).resolve().parents[1]
    inside, beside = package / "_models", package.parent / "models"
    parser = argparse.ArgumentParser(description="Install a llama-cpp-python that works here.")
    parser.add_argument("--models", type=Path, default=inside if inside.is_dir() else beside)
    parser.add_argument("--rebuild", action="store_true", help="build even if one works already")
    options = parser.parse_args(argv)
    return install(options.models, options.rebuild)


if __name__ == "__main__":
    sys.exit(main())
