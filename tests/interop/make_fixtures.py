"""Writes the folders of models/ with Hugging Face's transformers (pip install torch transformers
safetensors; made with transformers 5.23.0, torch 2.11.0): small BERT and RoFormer models with random
weights, and for each an expected.safetensors with inputs and what transformers computes from them:
logits, loss and the gradients of one step. Run it in this folder."""
import json
import re
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import (BertConfig, BertForMaskedLM, BertForPreTraining,
                          BertForSequenceClassification, BertModel, ElectraForPreTraining, RoFormerConfig,
                          RoFormerForMaskedLM, RoFormerForSequenceClassification)
from transformers.models.roformer.modeling_roformer import RoFormerSinusoidalPositionalEmbedding

LENGTHS = [11, 7]  # of the two sequences; transformers gets them padded
PLACES = [2, 5, 9, 13, 16]  # of the tokens end to end, for the masked-language loss
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
UNCASED = SPECIAL + ["the", "a", "button", "click", "red", "green", "##s", "##ing", ".", ","]
CASED = SPECIAL + ["The", "the", "Button", "button", "##s", "."]
SHAPE = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=16)


def vocabulary(pieces, size):
    return pieces + [f"word{i}" for i in range(size - len(pieces))]


def randomize(model, seed):
    """Every weight matters: LayerNorm's and biases too, which begin at one and zero."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "embed_positions" in name:
            continue
        noise = 0.3 * torch.randn(parameter.shape, generator=generator)
        norm = re.search("(LayerNorm|layer_norm).weight", name)
        parameter.data = noise + 1 if norm else noise
    return model.eval()


def inputs(vocabulary_size, types):
    generator = torch.Generator().manual_seed(7)
    ids = torch.randint(5, vocabulary_size, (sum(LENGTHS),), generator=generator)
    kinds = torch.tensor([int(types > 1 and i >= n // 2) for n in LENGTHS for i in range(n)])
    labels = torch.randint(5, vocabulary_size, (len(PLACES),), generator=generator)
    return ids, kinds, labels


def padded(flat, fill=0):
    rows, start = torch.full((len(LENGTHS), max(LENGTHS)), fill), 0
    for row, length in enumerate(LENGTHS):
        rows[row, :length] = flat[start:start + length]
        start += length
    return rows


def flat(rows):
    return torch.cat([rows[row, :length] for row, length in enumerate(LENGTHS)])


def compute(model, with_gradients, classes=0):
    """What the model says of the inputs, in float32 whatever the folder stores."""
    types = getattr(model.config, "type_vocab_size", 0)
    ids, kinds, labels = inputs(model.config.vocab_size, types)
    mask = padded(torch.ones_like(ids))
    result = dict(ids=ids, types=kinds, lengths=torch.tensor(LENGTHS), places=torch.tensor(PLACES))
    arguments = dict(input_ids=padded(ids, model.config.pad_token_id), attention_mask=mask)
    if types:
        arguments["token_type_ids"] = padded(kinds)
    if classes:
        labels = torch.tensor([0.3, 1.9]) if classes == 1 else torch.tensor([1, classes - 1])
    else:
        everywhere = torch.full((len(ids),), -100)
        everywhere[PLACES] = labels
    if isinstance(model, (BertModel, ElectraForPreTraining)):
        encoder = model if isinstance(model, BertModel) else model.electra
        result["states"] = flat(encoder(**arguments).last_hidden_state)
        return {name: value.detach().contiguous() for name, value in result.items()}
    if isinstance(model, BertForPreTraining):
        logits = model(**arguments).prediction_logits
        loss = torch.nn.functional.cross_entropy(flat(logits)[PLACES], labels)
    else:
        output = model(**arguments, labels=labels if classes else padded(everywhere, -100))
        logits, loss = output.logits, output.loss
    result |= dict(labels=labels, loss=loss, logits=logits if classes else flat(logits))
    if with_gradients:
        loss.backward()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                result["gradient." + name] = parameter.grad
    return {name: value.detach().contiguous() for name, value in result.items()}


def write(name, model, seed, pieces=UNCASED, dtype=torch.float32, gradients=False, classes=0,
          lower=True, **options):
    folder = Path("models") / name
    shutil.rmtree(folder, ignore_errors=True)
    randomize(model, seed).to(dtype).save_pretrained(folder, **options)
    model = model.float()
    for module in model.modules():
        if isinstance(module, RoFormerSinusoidalPositionalEmbedding):
            module.weight.data = module.create_weight()  # not as rounded to dtype
    save_file(compute(model, gradients, classes), folder / "expected.safetensors")
    (folder / "vocab.txt").write_text("\n".join(vocabulary(pieces, model.config.vocab_size)) + "\n")
    settings = {"do_lower_case": lower, "tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    return folder


def rename_weights(folder, change):
    """Rewrites model.safetensors with other names or more tensors, as older releases left it."""
    from safetensors.torch import load_file
    file = folder / "model.safetensors"
    save_file(change(load_file(file)), file, metadata={"format": "pt"})


def first_names(weights):
    """gamma and beta, the decoder written out, position_ids stored: BERT's first releases."""
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma")
           .replace("LayerNorm.bias", "LayerNorm.beta"): value for name, value in weights.items()}
    old["cls.predictions.decoder.weight"] = weights["bert.embeddings.word_embeddings.weight"].clone()
    old["bert.embeddings.position_ids"] = torch.arange(16)[None]
    return old


def main():
    write("bert", BertForMaskedLM(BertConfig(vocab_size=40, **SHAPE)), 1, gradients=True)
    write("roformer", RoFormerForMaskedLM(RoFormerConfig(
        vocab_size=40, embedding_size=12, rotary_value=True, **SHAPE)), 2, gradients=True)
    write("roformer_bfloat16_sharded", RoFormerForMaskedLM(RoFormerConfig(
        vocab_size=40, type_vocab_size=1, hidden_act="relu", **SHAPE)), 3, dtype=torch.bfloat16,
        max_shard_size="6KB")
    folder = write("bert_float16_first_names", BertForPreTraining(BertConfig(
        vocab_size=40, layer_norm_eps=1e-3, **SHAPE)), 4, CASED, torch.float16, lower=False)
    rename_weights(folder, first_names)
    write("bert_classification", BertForSequenceClassification(BertConfig(
        vocab_size=40, hidden_act="gelu_new", id2label={0: "no", 1: "yes", 2: "unknown"},
        label2id={"no": 0, "yes": 1, "unknown": 2}, **SHAPE)), 5, gradients=True, classes=3)
    write("roformer_classification", RoFormerForSequenceClassification(RoFormerConfig(
        vocab_size=40, embedding_size=12, num_labels=1, **SHAPE)), 6, gradients=True, classes=1)
    # An encoder alone, whose names have no prefix, with the tokenizer as one tokenizer.json.
    folder = write("bert_encoder", BertModel(BertConfig(vocab_size=40, **SHAPE)), 8)
    pieces = (folder / "vocab.txt").read_text().splitlines()
    (folder / "vocab.txt").unlink()
    (folder / "tokenizer_config.json").unlink()
    (folder / "tokenizer.json").write_text(json.dumps({
        "normalizer": {"type": "BertNormalizer", "lowercase": False, "strip_accents": None,
                       "handle_chinese_chars": True, "clean_text": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]",
                  "vocab": {piece: number for number, piece in enumerate(pieces)}}}) + "\n")


if __name__ == "__main__":
    main()
