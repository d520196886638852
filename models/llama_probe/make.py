"""Makes ``probe.gguf``: a llama of a few weights by chance, to prove a build of llama.cpp with.

    python models/llama_probe/make.py

It has the shapes and the eight-bit weights of real models, and the vocabulary of single bytes; what
it writes means nothing.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

WIDTH, WIDE, LAYERS, HEADS = 64, 128, 2, 2
MARKS = ("<s>", "</s>", "<|im_start|>", "<|im_end|>")


def byte_names() -> list[str]:
    """The names of the 256 bytes in byte-level BPE (Radford et al. 2019)."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    named = {b: chr(b) for b in shown} | {b: chr(256 + k) for k, b in enumerate(hidden)}
    return [named[b] for b in range(256)]


def main() -> None:
    out = Path(__file__).with_name("probe.gguf")
    words = [*byte_names(), *MARKS]
    kinds = [gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL] * len(MARKS)
    writer = gguf.GGUFWriter(out, "llama")
    writer.add_context_length(1024)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(WIDE)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(words)
    writer.add_token_types(kinds)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    writer.add_add_bos_token(False)
    rng = np.random.default_rng(18)
    shapes = {"token_embd": (len(words), WIDTH)}
    for k in range(LAYERS):
        shapes |= {f"blk.{k}.attn_{p}": (WIDTH, WIDTH) for p in ("q", "k", "v", "output")}
        shapes |= {f"blk.{k}.ffn_{p}": (WIDE, WIDTH) for p in ("gate", "up")}
        shapes[f"blk.{k}.ffn_down"] = (WIDTH, WIDE)
    for name, shape in shapes.items():
        weights = rng.normal(0, 0.1, shape).astype(np.float32)
        kind = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(weights, kind), raw_dtype=kind)
    norms = ["output_norm", *(f"blk.{k}.{p}_norm" for k in range(LAYERS) for p in ("attn", "ffn"))]
    for name in norms:
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
