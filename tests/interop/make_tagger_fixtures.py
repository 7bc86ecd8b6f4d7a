"""Writes models/*_tagging with Hugging Face's transformers, as make_fixtures.py does for other heads:
small BERT, RoFormer and ModernBERT models for token classification with random weights, and what
transformers computes: the logits of all tokens and the loss of some. Made with transformers 5.24,
torch 2.11. Run it in this folder."""
import json
import shutil
from pathlib import Path

import torch
from make_fixtures import LENGTHS, PLACES, SHAPE, UNCASED, flat, inputs, padded, randomize, vocabulary
from safetensors.torch import save_file
from transformers import (BertConfig, BertForTokenClassification, ModernBertConfig,
                          ModernBertForTokenClassification, RoFormerConfig,
                          RoFormerForTokenClassification)

TAGS = ["O", "B-KEY", "B-MENU", "I-KEY", "I-MENU"]
NAMES = dict(id2label=dict(enumerate(TAGS)), label2id={tag: i for i, tag in enumerate(TAGS)})


def write(name, model, seed):
    folder = Path("models") / name
    shutil.rmtree(folder, ignore_errors=True)
    randomize(model, seed)
    if isinstance(model, ModernBertForTokenClassification):  # norms begin at one there, too
        for parameter_name, parameter in model.named_parameters():
            if "norm" in parameter_name:
                parameter.data += 1
    model.save_pretrained(folder)
    types = getattr(model.config, "type_vocab_size", 0)
    ids, kinds, labels = inputs(model.config.vocab_size, types)
    labels %= len(TAGS)
    everywhere = torch.full((len(ids),), -100)
    everywhere[PLACES] = labels
    arguments = dict(input_ids=padded(ids), attention_mask=padded(torch.ones_like(ids)),
                     labels=padded(everywhere, -100))
    if types:
        arguments["token_type_ids"] = padded(kinds)
    output = model(**arguments)
    expected = dict(ids=ids, types=kinds, lengths=torch.tensor(LENGTHS), labels=labels,
                    places=torch.tensor(PLACES), loss=output.loss, logits=flat(output.logits))
    save_file({name: value.detach().contiguous() for name, value in expected.items()},
              folder / "expected.safetensors")
    (folder / "vocab.txt").write_text("\n".join(vocabulary(UNCASED, model.config.vocab_size)) + "\n")
    settings = {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def main():
    write("bert_tagging", BertForTokenClassification(BertConfig(vocab_size=40, **NAMES, **SHAPE)), 21)
    write("roformer_tagging", RoFormerForTokenClassification(RoFormerConfig(
        vocab_size=40, embedding_size=12, **NAMES, **SHAPE)), 22)
    write("modernbert_tagging", ModernBertForTokenClassification(ModernBertConfig(
        vocab_size=40, local_attention=6, global_attn_every_n_layers=2, pad_token_id=0,
        bos_token_id=2, cls_token_id=2, eos_token_id=3, sep_token_id=3, **NAMES, **SHAPE)), 23)


if __name__ == "__main__":
    main()
