"""Checkpoint to GGUF (llama architecture, the model's own vocabulary), quantized with gguf-py.

``python export.py --run DIR --out text2sql.gguf --type Q5_0``. Per-tensor types: ``--embedding``
for the tied embedding, ``--down`` for ffn_down and attn_v, which suffer most from few bits.
Norms stay F32. Writes ``manifest.json`` beside the file: its name, size, SHA-256, sizes and types.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
import vocabulary
from gguf.quants import quantize
from network import Network, Shape

TYPES = {t.name: t for t in gguf.GGMLQuantizationType}


def load(run: Path) -> tuple[Network, vocabulary.Vocabulary]:
    """Network and vocabulary of a training run."""
    state = torch.load(run / "checkpoint.pt", weights_only=False, map_location="cpu")
    net = Network(Shape(**state["shape"]))
    net.load_state_dict(state["net"])
    return net.eval(), vocabulary.Vocabulary.load(run / "vocabulary.json")


def describe(writer: gguf.GGUFWriter, shape: Shape, words: vocabulary.Vocabulary) -> None:
    """Sizes and vocabulary. Special tokens are CONTROL ones: text never becomes them."""
    writer.add_name("ehrqa text2sql")
    writer.add_license("apache-2.0")
    writer.add_context_length(512)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.eps)
    writer.add_vocab_size(shape.vocab)
    kinds = gguf.TokenType
    control = len(words.tokens) - words.bpe_size
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(words.tokens)
    writer.add_token_types([kinds.NORMAL] * words.bpe_size + [kinds.CONTROL] * control)
    writer.add_token_merges(words.merges)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_bos_token_id(words.ids["<s>"])
    writer.add_eos_token_id(words.ids["</s>"])


def tensor_type(name: str, args: argparse.Namespace) -> gguf.GGMLQuantizationType:
    if name.startswith("token_embd"):
        return TYPES[args.embedding or args.type]
    if "ffn_down" in name or "attn_v" in name:
        return TYPES[args.down or args.type]
    return TYPES[args.type]


def write(net: Network, words: vocabulary.Vocabulary, args: argparse.Namespace) -> None:
    """The GGUF file, complete or not at all."""
    part = args.out.with_suffix(".part")
    writer = gguf.GGUFWriter(str(part), "llama")
    describe(writer, net.shape, words)
    writer.add_file_type(gguf.LlamaFileType.GUESSED)
    for name, weight in net.named_parameters():
        value: np.ndarray[Any, Any] = weight.detach().float().numpy()
        if value.ndim == 1:
            writer.add_tensor(name, value)
            continue
        kind = tensor_type(name, args)
        writer.add_tensor(name, quantize(value, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.replace(args.out)


def manifest(args: argparse.Namespace, shape: Shape) -> dict[str, Any]:
    """What the run time checks before it loads the file, and what provenance names."""
    digest = hashlib.sha256(args.out.read_bytes()).hexdigest()
    types = {"all": args.type, "embedding": args.embedding, "down": args.down}
    return {
        "file": args.out.name,
        "bytes": args.out.stat().st_size,
        "sha256": digest,
        "licence": "Apache-2.0",
        "about": "linked question to logical form (fine-tuned from SmolLM2-135M-Instruct)",
        "shape": shape.as_dict(),
        "types": {k: v for k, v in types.items() if v},
        "grammar": grammar_hash(),
    }


def grammar_hash() -> str:
    """Of the lexemes and types, in order: a model is of use only with the grammar it learnt."""
    from ehrqa_cli.logical_form import LEXEMES, TYPES

    return hashlib.sha256("\n".join((*LEXEMES, "", *TYPES)).encode()).hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--type", default="Q5_0", choices=TYPES)
    parser.add_argument("--embedding", choices=TYPES)
    parser.add_argument("--down", choices=TYPES)
    args = parser.parse_args()
    net, words = load(args.run)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    write(net, words, args)
    found = manifest(args, net.shape)
    (args.out.parent / "manifest.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
