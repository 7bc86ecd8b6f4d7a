"""Writes the folders of models/ named t5* with Hugging Face's transformers (pip install torch
transformers sentencepiece safetensors; made with transformers 5.24.0, torch 2.11.0, sentencepiece
0.2.3): small T5 models with random weights, half trained. For each, expected.safetensors holds
inputs, logits, the loss and the gradients of one step, and expected.json lines of text, their ids
and what generate() makes of them. Texts are longer than the largest distance with a bucket. Run it in
this folder."""
import json
import shutil
from pathlib import Path

import sentencepiece
import torch
from make_marian_fixtures import SOURCE, TARGET, padded
from safetensors.torch import save_file
from transformers import (GenerationConfig, T5Config, T5EncoderModel, T5ForConditionalGeneration,
                          T5Tokenizer)

LINES = SOURCE[:5] + ["the tables xq", ">>de<< red cells", "red " * 9]
SHAPE = dict(d_model=16, d_kv=6, num_heads=2, d_ff=24, relative_attention_num_buckets=8,
             relative_attention_max_distance=12, decoder_start_token_id=0)
SOURCES, TARGETS = [17, 4, 7], [15, 3, 9]  # lengths of the pairs of the loss
GAPS, UNUSED = 4, 3  # <extra_id_0> to <extra_id_3>, and rows without a token


def write_tokenizer(folder, gaps):
    """Returns the number of tokens."""
    folder.mkdir(parents=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter((SOURCE + TARGET) * 20), model_prefix=str(folder / "spiece"),
        vocab_size=48, hard_vocab_limit=False, normalization_rule_name="identity", minloglevel=2,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    (folder / "spiece.vocab").unlink()
    settings = {"tokenizer_class": "T5Tokenizer", "extra_ids": gaps, "unk_token": "<unk>",
                "eos_token": "</s>", "pad_token": "<pad>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spiece.model"))
    return [model.id_to_piece(i) for i in range(model.vocab_size())] + [
        f"<extra_id_{i}>" for i in reversed(range(gaps))]


def randomize(model, seed):
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        noise = 0.3 * torch.randn(parameter.shape, generator=generator)
        if "layer_norm.weight" in name:
            noise += 1
        parameter.data = 3 * noise if name == "shared.weight" else noise


def train(model, seed, steps):
    """Half learns texts that begin with the source's least token and whose tokens each say the next
    one: texts then end, and are not all alike."""
    generator = torch.Generator().manual_seed(seed + 100)
    most = model.config.vocab_size - UNUSED
    steps_of = torch.randint(1, 7, (most,), generator=generator).tolist()

    def text(token):
        ids = []
        while token < most:
            ids.append(token)
            token += steps_of[token]
        return ids + [1]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        length = torch.randint(2, 10, (1,), generator=generator).item()
        ids = torch.randint(3, most, (32, length), generator=generator)
        end = torch.ones(32, 1, dtype=torch.long)
        labels = padded([text(token) for token in ids.min(1).values.tolist()], -100)
        loss = model(input_ids=torch.cat([ids, end], 1), labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("loss", loss.item())
    return model.eval()


def rows(lengths, size, generator):
    return [torch.randint(3, size, (n - 1,), generator=generator).tolist() + [1] for n in lengths]


def compute(model):
    generator = torch.Generator().manual_seed(7)
    sources = rows(SOURCES, model.config.vocab_size - UNUSED, generator)
    targets = rows(TARGETS, model.config.vocab_size - UNUSED, generator)
    output = model(input_ids=padded(sources, 0), attention_mask=padded([[1] * n for n in SOURCES], 0),
                   labels=padded(targets, -100))
    output.loss.backward()
    result = dict(source_ids=torch.tensor(sum(sources, [])),
                  target_ids=torch.tensor(sum([[0] + row[:-1] for row in targets], [])),
                  labels=torch.tensor(sum(targets, [])), source_lengths=torch.tensor(SOURCES),
                  target_lengths=torch.tensor(TARGETS), loss=output.loss,
                  logits=torch.cat([output.logits[i, :n] for i, n in enumerate(TARGETS)]))
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            result["gradient." + name] = parameter.grad
    return {name: value.detach().contiguous() for name, value in result.items()}


def generate(model, folder, pieces):
    tokenizer = T5Tokenizer.from_pretrained(folder)
    model.generation_config.return_dict_in_generate = True
    result = dict(lines=LINES, ids=[tokenizer(line)["input_ids"] for line in LINES], generated={})
    for beams in (1, 4):
        texts = []
        for line in LINES:
            found = model.generate(**tokenizer([line], return_tensors="pt"), num_beams=beams)
            found = found.sequences[0].tolist()
            assert found[0] == 0 and 1 in found, found
            texts.append([pieces[i] for i in found[1:found.index(1)]])
        result["generated"][str(beams)] = texts
        print(folder, beams, texts)
    model.generation_config.return_dict_in_generate = None
    return result


def write(name, seed, steps, own_output=False, search={}, **options):
    folder = Path("models") / name
    shutil.rmtree(folder, ignore_errors=True)
    pieces = write_tokenizer(folder, GAPS)
    model = T5ForConditionalGeneration(T5Config(
        vocab_size=len(pieces) + UNUSED, **SHAPE, **options,
        **(dict(tie_word_embeddings=False) if own_output else {})))
    if own_output:
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    randomize(model, seed)
    train(model, seed, steps)
    never = [[0]] + [[i] for i in range(len(pieces), len(pieces) + UNUSED)]
    model.generation_config = GenerationConfig(
        num_beams=4, max_length=40, bad_words_ids=never, pad_token_id=0, eos_token_id=1,
        decoder_start_token_id=0, renormalize_logits=True, **search)
    model.save_pretrained(folder)
    save_file(compute(model), folder / "expected.safetensors")
    with torch.no_grad():
        (folder / "expected.json").write_text(
            json.dumps(generate(model, folder, pieces), indent=1) + "\n")
    if own_output:  # as transformers 5 saves a tokenizer
        T5Tokenizer.from_pretrained(folder).save_pretrained(folder)
        (folder / "spiece.model").unlink()


def write_encoder():
    folder = Path("models") / "t5_encoder"
    shutil.rmtree(folder, ignore_errors=True)
    pieces = write_tokenizer(folder, 0)
    model = T5EncoderModel(T5Config(vocab_size=len(pieces), feed_forward_proj="gated-silu",
                                    num_layers=2, **SHAPE)).eval()
    randomize(model, 33)
    model.save_pretrained(folder)
    generator = torch.Generator().manual_seed(7)
    texts = rows(SOURCES[:2], len(pieces), generator)
    states = model(input_ids=padded(texts, 0),
                   attention_mask=padded([[1] * n for n in SOURCES[:2]], 0)).last_hidden_state
    states = torch.cat([states[i, :n] for i, n in enumerate(SOURCES[:2])])
    weights = torch.randn(states.shape, generator=generator)
    (states * weights).sum().backward()  # a loss that every state has a share of
    result = dict(ids=torch.tensor(sum(texts, [])), lengths=torch.tensor(SOURCES[:2]),
                  states=states, weights=weights)
    for name, parameter in model.named_parameters():
        result["gradient." + name] = parameter.grad
    save_file({name: value.detach().contiguous() for name, value in result.items()},
              folder / "expected.safetensors")


if __name__ == "__main__":
    write("t5", 31, 400, num_layers=2)
    write("t5_gated", 32, 150, own_output=True, search=dict(early_stopping=True, length_penalty=0.6),
          num_layers=2, num_decoder_layers=1, feed_forward_proj="gated-gelu")
    write_encoder()
