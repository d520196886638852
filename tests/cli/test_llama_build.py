from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from ehrqa_cli.cli import llama_build
from ehrqa_cli.cli.llama_build import Probe, cmake_args, cpu_flags, plans

OLD = "processor\t: 0\nflags\t\t: sse4_2 avx f16c\n"
AMX = "flags : sse4_2 avx avx2 fma f16c bmi2 avx512f avx512bw avx512cd avx512dq avx512vl amx_tile"


def test_only_what_the_cpu_has_is_switched_on():
    args = cmake_args(cpu_flags(OLD)).split()
    assert "-DGGML_AVX=ON" in args and "-DGGML_AVX2=OFF" in args and "-DGGML_AVX512=OFF" in args
    args = cmake_args(cpu_flags(AMX)).split()
    assert "-DGGML_AVX512=ON" in args and "-DGGML_AVX512_VNNI=OFF" in args


@pytest.mark.parametrize("cpuinfo", [OLD, AMX, "", "Features : fp asimd"])
def test_never_native_and_never_amx(cpuinfo: str):
    for _, args in plans(cpu_flags(cpuinfo)):
        assert "-DGGML_NATIVE=OFF" in args.split()
        assert not any("AMX" in arg and arg.endswith("ON") for arg in args.split())


def test_the_plain_build_is_tried_last_and_once():
    assert [name for name, _ in plans(cpu_flags(AMX))] == ["for this CPU", "plain"]
    assert [name for name, _ in plans(cpu_flags(OLD))] == ["plain"]


def fake_python(tmp_path: Path, script: str) -> str:
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_a_crash_is_told_from_an_error(tmp_path: Path):
    found = llama_build.probe(python=fake_python(tmp_path, "kill -SEGV $$"))
    assert found == Probe(False, "crashed with SIGSEGV", crashed=True)
    found = llama_build.probe(python=fake_python(tmp_path, "echo no such module >&2; exit 1"))
    assert found == Probe(False, "no such module")
    found = llama_build.probe(python=fake_python(tmp_path, "echo version 1.2.3"))
    assert found == Probe(True, "1.2.3")
    found = llama_build.probe(python=fake_python(tmp_path, "exec sleep 5"), seconds=0.1)
    assert not found.works


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The CMake arguments of builds that are asked for; each build succeeds."""
    asked: list[str] = []

    def build(args: str) -> bool:
        asked.append(args)
        return True

    monkeypatch.setattr(llama_build, "build", build)
    monkeypatch.setattr(llama_build, "cpu_flags", lambda text: frozenset(AMX.split()))
    monkeypatch.setattr(llama_build.platform, "machine", lambda: "x86_64")
    return asked


def probes(monkeypatch: pytest.MonkeyPatch, *works: bool) -> None:
    found = iter([Probe(good, "0.0" if good else "crashed") for good in works])
    monkeypatch.setattr(llama_build, "probe", lambda model: next(found))


def test_a_working_one_is_kept(tmp_path, monkeypatch, builds):
    probes(monkeypatch, True)
    assert llama_build.install(tmp_path) == 0
    assert builds == []


def test_a_crashing_build_is_followed_by_the_plain_one(tmp_path, monkeypatch, builds):
    probes(monkeypatch, False, False, True)
    assert llama_build.install(tmp_path) == 0
    assert ["AVX512=ON" in args for args in builds] == [True, False]


def test_no_working_build_is_an_error_with_a_hint(tmp_path, monkeypatch, builds, capsys):
    probes(monkeypatch, False, False, False)
    assert llama_build.install(tmp_path) == 1
    assert "error: " in capsys.readouterr().err.splitlines()[-2]


def test_the_requirement_is_the_project_s():
    root = Path(__file__).resolve().parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert llama_build.REQUIREMENT in project["dependencies"]
