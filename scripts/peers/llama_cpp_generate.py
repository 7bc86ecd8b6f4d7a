#!/usr/bin/env python3
"""Times the counterpart of `roformer bench decoding` for causal models: llama.cpp continuing the same
prompts with the same weights, those of ctranslate2_generate.py. Needs llama-cpp-python, gguf, safetensors
and numpy in a separate environment.

usage: llama_cpp_generate.py FOLDER PROMPTS.txt [--lines 8 --tokens 64 --threads 2 --compute float32|int8
                                                 --output IDS.txt]

FOLDER is converted once, into FOLDER.f32.gguf or FOLDER.q8_0.gguf (blocks of 32 weights of eight bits). All
prompts are in one batch; keys and values are float32, as here, with --compute float32, and else llama.cpp's
float16. The most likely token is chosen from the logits, as there is no sampler to time.
"""
import argparse
import json
import resource
import statistics
import time
from pathlib import Path

import numpy

import decoding_times

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("folder")
parser.add_argument("text", help="a prompt of ids a line, all of one length")
for name, default in dict(lines=0, tokens=64, threads=2, repeats=3).items():
    parser.add_argument("--" + name, type=int, default=default)
parser.add_argument("--compute", choices=["float32", "int8"], default="float32")
parser.add_argument("--output", help="file for the continuations")
options = parser.parse_args()
folder = Path(options.folder)

NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
         "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def name_in_gguf(name):
    for ours, theirs in NAMES.items():
        if name.startswith("model.layers.") and name.endswith(ours + ".weight"):
            return f"blk.{name.split('.')[2]}.{theirs}.weight"
        if name == ours + ".weight":
            return theirs + ".weight"
    raise ValueError(name)


def convert(to, kind):
    import gguf
    from safetensors.numpy import load_file
    model = json.loads((folder / "config.json").read_text())
    heads, width = model["num_attention_heads"], model["hidden_size"]
    writer = gguf.GGUFWriter(str(to), "llama")
    writer.add_context_length(model["max_position_embeddings"])
    writer.add_embedding_length(width)
    writer.add_block_count(model["num_hidden_layers"])
    writer.add_feed_forward_length(model["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(model["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(model["rms_norm_eps"])
    writer.add_rope_dimension_count(width // heads)
    writer.add_rope_freq_base(model["rope_parameters"]["rope_theta"])
    writer.add_vocab_size(model["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32 if kind is None else gguf.LlamaFileType.MOSTLY_Q8_0)
    for name, value in load_file(folder / "model.safetensors").items():
        if name.endswith(("q_proj.weight", "k_proj.weight")):  # llama.cpp rotates neighbours, not halves
            value = value.reshape(heads, 2, -1, width).swapaxes(1, 2).reshape(value.shape)
        value = numpy.ascontiguousarray(value, dtype=numpy.float32)
        if kind is None or value.ndim == 1:
            writer.add_tensor(name_in_gguf(name), value)
        else:
            writer.add_tensor(name_in_gguf(name), gguf.quants.quantize(value, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


converted = folder.with_name(folder.name + (".f32.gguf" if options.compute == "float32" else ".q8_0.gguf"))
if not converted.is_file():
    import gguf
    convert(converted, None if options.compute == "float32" else gguf.GGMLQuantizationType.Q8_0)

import llama_cpp

prompts = [[int(word) for word in line.split()] for line in decoding_times.lines_of(options)]
length = len(prompts[0])
quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
llama_cpp.llama_log_set(quiet, None)
llama_cpp.llama_backend_init()
model = llama_cpp.llama_model_load_from_file(str(converted).encode(), llama_cpp.llama_model_default_params())
settings = llama_cpp.llama_context_default_params()
settings.n_ctx = len(prompts) * (length + options.tokens)
settings.n_batch = settings.n_ubatch = len(prompts) * length
settings.n_seq_max = len(prompts)
settings.n_threads = settings.n_threads_batch = options.threads
if options.compute == "float32":
    settings.type_k = settings.type_v = llama_cpp.GGML_TYPE_F32
context = llama_cpp.llama_init_from_model(model, settings)
vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
batch = llama_cpp.llama_batch_init(len(prompts) * length, 0, 1)


def decode(rows, position):
    """Feeds rows of ids from this position on; the most likely token after each row."""
    batch.n_tokens = sum(map(len, rows))
    index, last = 0, []
    for sequence, row in enumerate(rows):
        for offset, token in enumerate(row):
            batch.token[index] = token
            batch.pos[index] = position + offset
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = sequence
            batch.logits[index] = offset == len(row) - 1
            index += 1
        last.append(index - 1)
    if llama_cpp.llama_decode(context, batch) != 0:
        raise RuntimeError("llama_decode failed")
    return [int(numpy.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, i), (vocabulary,)).argmax())
            for i in last]


def seconds_of():
    """Seconds for the prompts with their first tokens, and for the others; the tokens."""
    llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
    start = time.perf_counter()
    found = [[token] for token in decode(prompts, 0)]
    middle = time.perf_counter()
    for step in range(options.tokens - 1):
        for row, token in zip(found, decode([row[-1:] for row in found], length + step)):
            row.append(token)
    return middle - start, time.perf_counter() - middle, found


seconds_of()
first, rest = [], []
for _ in range(options.repeats):
    prompt, continuation, ids = seconds_of()
    first.append(prompt)
    rest.append(continuation)
if options.output:
    Path(options.output).write_text("".join(" ".join(map(str, row)) + "\n" for row in ids), encoding="utf-8")
prompt, continuation = statistics.median(first), statistics.median(rest)
print(json.dumps(dict(
    version=llama_cpp.__version__, compute=options.compute, prompts=len(prompts), prompt_tokens=length,
    tokens=options.tokens, prompt_seconds=round(prompt, 4), continuation_seconds=round(continuation, 4),
    prompt_tokens_per_s=round(len(prompts) * length / prompt, 2),
    continuation_tokens_per_s=round(len(prompts) * (options.tokens - 1) / continuation, 2),
    max_rss_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)))
