"""Writes the folders of the causal models in models/ (llama, llama_biases, mistral, qwen2, qwen3,
qwen3_biases, gpt_neox, gpt2, bloom, mpt) with Hugging Face's transformers (pip install torch
transformers safetensors; made with transformers 5.24.0, torch 2.11.0): small language models with
random weights, and for each an expected.safetensors with ids and what transformers computes from
them: logits, loss, the gradients of one step, the ids that greedy decoding adds to a prompt, the
logits of two texts of different lengths, padded on the right, and of one long text. models/llama has
a config_NAME.json for each scaling of the rotation too, and the logits under it. models/bloom and mpt
have the slopes of 1 to 24 heads. Run it in this folder; names of models as arguments: only those."""
import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import (BloomConfig, BloomForCausalLM, GPT2Config, GPT2LMHeadModel, GPTNeoXConfig,
                          GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM, MistralConfig,
                          MistralForCausalLM, MptConfig, MptForCausalLM, Qwen2Config,
                          Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM)
from transformers.models.bloom.modeling_bloom import _get_alibi_slopes
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

ROWS, LENGTH, PROMPT, ADDED, SHORTER, LONGEST = 2, 24, 5, 16, 9, 64
MOST_HEADS = 24
SHAPE = dict(vocab_size=48, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=24, max_position_embeddings=64, bos_token_id=None, eos_token_id=None)
LONG = dict(rope_theta=10000.0, original_max_position_embeddings=16)
SCALINGS = {
    "linear": dict(rope_type="linear", factor=4.0, rope_theta=10000.0),
    "dynamic": dict(rope_type="dynamic", factor=4.0, rope_theta=10000.0),
    "yarn": dict(rope_type="yarn", factor=4.0, **LONG),
    "yarn_mscale": dict(rope_type="yarn", factor=4.0, mscale=1.2, mscale_all_dim=0.7, **LONG),
    "llama3": dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                   **LONG),
    "longrope": dict(rope_type="longrope", factor=4.0, short_factor=[1.0, 1.5],
                     long_factor=[2.0, 3.5], **LONG),
}


def randomize(model, seed):
    """Every weight matters: those of norms and biases too, which begin at one and zero."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        noise = 0.3 * torch.randn(parameter.shape, generator=generator)
        norm = "norm" in name or "ln_" in name
        parameter.data = noise + 1 if norm and name.endswith("weight") else noise
    return model.eval()


def some_ids(seed, rows=ROWS, length=LENGTH):
    return torch.randint(48, (rows, length), generator=torch.Generator().manual_seed(seed))


def expectations(model, ids):
    model.zero_grad()
    result = model(input_ids=ids, labels=ids)
    result.loss.backward()
    table = "embed_out" if model.config.model_type == "gpt_neox" else "lm_head"  # as it is stored
    names = {id(p): name.replace("lm_head", table) for name, p in model.named_parameters()}
    tensors = {"ids": ids, "logits": result.logits.detach(), "loss": result.loss.detach()}
    for parameter in model.parameters():
        tensors["gradient." + names[id(parameter)]] = parameter.grad.clone()
    prompt = ids[:1, :PROMPT]
    tensors["greedy"] = model.generate(prompt, max_new_tokens=ADDED, do_sample=False,
                                       pad_token_id=0)[:, PROMPT:]
    with torch.no_grad():
        mask = torch.ones_like(ids)
        mask[1, SHORTER:] = 0
        padded = model(input_ids=ids, attention_mask=mask).logits
        tensors["lengths"] = mask.sum(1)
        tensors["padded.logits"] = torch.cat([padded[0], padded[1, :SHORTER]])
        tensors["long.ids"] = some_ids(2, 1, LONGEST)
        tensors["long.logits"] = model(input_ids=tensors["long.ids"]).logits
    return {name: value.contiguous() for name, value in tensors.items()}


def write(folder, model, shard=None):
    path = Path("models") / folder
    shutil.rmtree(path, ignore_errors=True)
    model.save_pretrained(path, **({"max_shard_size": shard} if shard else {}))
    (path / "generation_config.json").unlink(missing_ok=True)
    return path


def scaled_logits(path, model, ids):
    """Of the same weights under each scaling; texts of 24 tokens go beyond 16."""
    tensors = {}
    for name, rope in SCALINGS.items():
        length = 16 if name == "dynamic" else 64
        config = LlamaConfig(**{**llama_settings(), "max_position_embeddings": length},
                             rope_parameters=rope)
        scaled = LlamaForCausalLM(config).eval()
        scaled.load_state_dict(model.state_dict())
        with torch.no_grad():
            tensors[f"{name}.logits"] = scaled(input_ids=ids).logits
        text = json.loads(config.to_json_string(use_diff=False))
        keep = ["model_type", "rope_parameters", "max_position_embeddings"]
        (path / f"config_{name}.json").write_text(
            json.dumps({**json.loads((path / "config.json").read_text()),
                        **{key: text[key] for key in keep}}, indent=1) + "\n")
    return tensors


def llama_settings():
    return dict(SHAPE, num_key_value_heads=2, tie_word_embeddings=True, rms_norm_eps=1e-5)


def slopes(name):
    if name == "bloom":
        return {f"slopes.{n}": _get_alibi_slopes(n, "cpu") for n in range(1, MOST_HEADS + 1)}
    # A bias of minus one slope for the key before the last.
    return {f"slopes.{n}": -build_mpt_alibi_tensor(n, 2)[:, 0, 0].contiguous()
            for n in range(1, MOST_HEADS + 1)}


def main():
    ids = some_ids(1)
    wanted = sys.argv[1:]
    words = dict(vocab_size=48, bos_token_id=None, eos_token_id=None)
    models = {
        "llama": (LlamaForCausalLM(LlamaConfig(**llama_settings())), None),
        "qwen2": (Qwen2ForCausalLM(Qwen2Config(**SHAPE, num_key_value_heads=1)), "6KB"),
        "qwen3": (Qwen3ForCausalLM(Qwen3Config(**SHAPE, num_key_value_heads=2, head_dim=6,
                                               rope_parameters=dict(rope_theta=1000.0,
                                                                    rope_type="default"))), None),
        "gpt_neox": (GPTNeoXForCausalLM(GPTNeoXConfig(
            **SHAPE, rope_parameters=dict(rope_theta=10000.0, rope_type="default",
                                          partial_rotary_factor=0.5))), None),
        # A window shorter than the texts.
        "mistral": (MistralForCausalLM(MistralConfig(**SHAPE, num_key_value_heads=2,
                                                     sliding_window=6)), None),
        "llama_biases": (LlamaForCausalLM(LlamaConfig(
            **{**llama_settings(), "hidden_act": "gelu_pytorch_tanh"}, attention_bias=True,
            mlp_bias=True)), None),
        "qwen3_biases": (Qwen3ForCausalLM(Qwen3Config(**SHAPE, num_key_value_heads=2, head_dim=6,
                                                      attention_bias=True)), None),
        "gpt2": (GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=2, n_head=4, n_inner=24,
                                            n_positions=64, **words)), None),
        # Six heads: no power of two.
        "bloom": (BloomForCausalLM(BloomConfig(hidden_size=24, n_layer=2, n_head=6, **words)),
                  None),
        "mpt": (MptForCausalLM(MptConfig(d_model=24, n_layers=2, n_heads=6, max_seq_len=64,
                                         **words)), None),
    }
    for seed, (name, (model, shard)) in enumerate(models.items(), start=1):
        if wanted and name not in wanted:
            continue
        randomize(model, seed)
        path = write(name, model, shard)
        expected = expectations(model, ids)
        if name == "llama":
            expected.update(scaled_logits(path, model, ids))
        if name in ("bloom", "mpt"):
            expected.update(slopes(name))
        save_file(expected, path / "expected.safetensors")


main()
