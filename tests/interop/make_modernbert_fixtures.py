"""Writes the folders models/modernbert and models/modernbert_classification with Hugging Face's
transformers (pip install torch transformers safetensors; made with transformers 5.23.0, torch 2.11.0):
small ModernBERTs with random weights and byte-level tokenizers, and for each an expected.safetensors
with inputs and what transformers computes from them: logits, loss and the gradients of one step. The
texts are longer than the window of the local layers. models/modernbert has an expected.json too, with
the ids of texts and the predictions for a [MASK]. Run it in this folder."""
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (AutoTokenizer, ModernBertConfig, ModernBertForMaskedLM,
                          ModernBertForSequenceClassification)

LENGTHS = [17, 9]  # of the two sequences; transformers gets them padded
PLACES = [2, 5, 9, 16, 19, 24]  # of the tokens end to end, for the masked-language loss
SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
TRAINING = ["the windows of the lower house were newer than the winter garden", "click the button to open it"] * 8
TEXTS = [("the house", None), ("The windows   were\nnewer!", "click it"), ("e\u0301t\u00e9 \U0001f600", None), ("", "a")]
MASKED = "click the  [MASK] house"
SHAPE = dict(hidden_size=16, num_attention_heads=2, intermediate_size=12, max_position_embeddings=64)


def byte_level(pieces, training):
    """As ModernBERT's: NFC, GPT-2's words, special tokens after the pieces, [MASK] takes the space before it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(training, trainers.BpeTrainer(
        vocab_size=pieces, min_frequency=1, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if pieces > 256 else []))
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, lstrip=token == "[MASK]") for token in SPECIAL])
    cls, sep, pad = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]", "[PAD]"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:0 [SEP]:0",
        special_tokens=[("[CLS]", cls), ("[SEP]", sep)])
    return tokenizer, dict(pad_token_id=pad, cls_token_id=cls, bos_token_id=cls, sep_token_id=sep, eos_token_id=sep)


def write_tokenizer(folder, tokenizer):
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "cls", "sep", "pad", "mask")}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def randomize(model, seed):
    """Every weight matters: those of norms and biases too, which begin at one and zero."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        noise = 0.3 * torch.randn(parameter.shape, generator=generator)
        parameter.data = noise + 1 if "norm" in name and name.endswith("weight") else noise
    return model.eval()


def padded(flat, fill):
    rows, start = torch.full((len(LENGTHS), max(LENGTHS)), fill), 0
    for row, length in enumerate(LENGTHS):
        rows[row, :length] = flat[start:start + length]
        start += length
    return rows


def flat(rows):
    return torch.cat([rows[row, :length] for row, length in enumerate(LENGTHS)])


def inputs(model):
    ids = torch.randint(5, model.config.pad_token_id - 3, (sum(LENGTHS),), generator=torch.Generator().manual_seed(7))
    return ids, dict(input_ids=padded(ids, model.config.pad_token_id), attention_mask=padded(torch.ones_like(ids), 0))


def compute(model, labels):
    """labels: one a sequence for a classifier, one a place for a language model."""
    ids, arguments = inputs(model)
    classifier = isinstance(model, ModernBertForSequenceClassification)
    everywhere = torch.full((len(ids),), -100)
    if not classifier:
        everywhere[PLACES] = labels
    output = model(**arguments, labels=labels if classifier else padded(everywhere, -100))
    output.loss.backward()
    logits = output.logits if classifier else flat(output.logits)
    result = dict(ids=ids, lengths=torch.tensor(LENGTHS), labels=labels, loss=output.loss, logits=logits)
    if classifier:
        model.config.classifier_pooling = "cls"
        result["first.logits"] = model(**arguments).logits
        model.config.classifier_pooling = "mean"
    else:
        result["places"] = torch.tensor(PLACES)
    result |= {"gradient." + name: parameter.grad for name, parameter in model.named_parameters()}
    return {name: value.detach().contiguous() for name, value in result.items()}


def write(name, model, tokenizer, seed, labels):
    folder = Path("models") / name
    shutil.rmtree(folder, ignore_errors=True)
    randomize(model, seed).save_pretrained(folder)
    write_tokenizer(folder, tokenizer)
    save_file(compute(model, labels), folder / "expected.safetensors")
    return folder


def expected_texts(folder, model):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = [{"first": first, "second": second, "ids": tokenizer(first, second)["input_ids"]} for first, second in TEXTS]
    ids = tokenizer(MASKED)["input_ids"]
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0, ids.index(tokenizer.mask_token_id)]
    known = torch.zeros_like(logits).fill_(float("-inf"))
    known[:len(tokenizer)] = 0
    known[tokenizer.all_special_ids] = float("-inf")
    best = (logits + known).softmax(-1).topk(5)
    return {"texts": texts, "masked": {"text": MASKED, "tokens": ids, "ids": best.indices.tolist(),
                                       "probabilities": best.values.tolist()}}


def main():
    tokenizer, special = byte_level(276, TRAINING)
    model = ModernBertForMaskedLM(ModernBertConfig(
        vocab_size=288, num_hidden_layers=4, local_attention=6, **special, **SHAPE))
    labels = torch.randint(5, 270, (len(PLACES),), generator=torch.Generator().manual_seed(9))
    folder = write("modernbert", model, tokenizer, 1, labels)
    expected = expected_texts(folder, model)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    # Biases everywhere, the mean of all tokens, layers in no step, other bases, few pieces.
    tokenizer, special = byte_level(30, TRAINING)
    full, local = "full_attention", "sliding_attention"
    model = ModernBertForSequenceClassification(ModernBertConfig(
        vocab_size=40, num_hidden_layers=3, local_attention=4, layer_types=[local, full, local],
        rope_parameters={full: dict(rope_type="default", rope_theta=5000.0),
                         local: dict(rope_type="default", rope_theta=100.0)},
        norm_bias=True, attention_bias=True, mlp_bias=True, classifier_bias=True, hidden_activation="silu",
        classifier_activation="silu", classifier_pooling="mean", classifier_dropout=0.2,
        id2label={0: "not_equivalent", 1: "equivalent"}, label2id={"not_equivalent": 0, "equivalent": 1},
        **special, **SHAPE))
    write("modernbert_classification", model, tokenizer, 2, torch.tensor([1, 0]))


main()
