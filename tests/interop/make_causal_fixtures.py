"""Writes the folders models/llama, qwen2, qwen3 and gpt_neox with Hugging Face's transformers (pip
install torch transformers safetensors; made with transformers 5.23.0, torch 2.11.0): small causal
language models with random weights, and for each an expected.safetensors with ids and what
transformers computes from them: logits, loss, the gradients of one step and the ids that greedy
decoding adds to a prompt. models/llama has a config_NAME.json for each scaling of the rotation too,
and the logits under it. Run it in this folder."""
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import (GPTNeoXConfig, GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM,
                          Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM)

ROWS, LENGTH, PROMPT, ADDED = 2, 24, 5, 16
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
        parameter.data = noise + 1 if "norm" in name and name.endswith("weight") else noise
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


def main():
    ids = some_ids(1)
    llama = randomize(LlamaForCausalLM(LlamaConfig(**llama_settings())), 1)
    path = write("llama", llama)
    save_file({**expectations(llama, ids), **scaled_logits(path, llama, ids)},
              path / "expected.safetensors")
    models = {
        "qwen2": (Qwen2ForCausalLM(Qwen2Config(**SHAPE, num_key_value_heads=1)), "6KB"),
        "qwen3": (Qwen3ForCausalLM(Qwen3Config(**SHAPE, num_key_value_heads=2, head_dim=6,
                                               rope_parameters=dict(rope_theta=1000.0,
                                                                    rope_type="default"))), None),
        "gpt_neox": (GPTNeoXForCausalLM(GPTNeoXConfig(
            **SHAPE, rope_parameters=dict(rope_theta=10000.0, rope_type="default",
                                          partial_rotary_factor=0.5))), None),
    }
    for seed, (name, (model, shard)) in enumerate(models.items(), start=2):
        randomize(model, seed)
        path = write(name, model, shard)
        save_file(expectations(model, ids), path / "expected.safetensors")


main()
