"""Writes the weights of models/bert as older releases of transformers did, by PyTorch's torch.save (made
with torch 2.11.0): bert_pickle has pytorch_model.bin, in which the language head's last layer is the
table of tokens a second time and one matrix is stored by columns; bert_pickle_sharded has two files and
their index. Run it in this folder."""
import json
import shutil
from collections import OrderedDict
from pathlib import Path

import torch
from safetensors.torch import load_file

MODELS = Path("models")
TABLE = "bert.embeddings.word_embeddings.weight"


def folder_of(name):
    folder = MODELS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in ("config.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(MODELS / "bert" / file, folder)
    return folder


def main():
    weights = OrderedDict(load_file(MODELS / "bert" / "model.safetensors"))
    column_wise = "bert.encoder.layer.0.output.dense.weight"
    whole = OrderedDict(weights)
    whole["cls.predictions.decoder.weight"] = whole[TABLE]
    whole[column_wise] = whole[column_wise].t().contiguous().t()
    whole["bert.embeddings.position_ids"] = torch.arange(16)[None]
    torch.save(whole, folder_of("bert_pickle") / "pytorch_model.bin")

    folder = folder_of("bert_pickle_sharded")
    places = {}
    for number in (1, 2):
        file = f"pytorch_model-{number:05}-of-00002.bin"
        part = OrderedDict((name, value) for name, value in weights.items() if ("layer.1" in name) == (number == 2))
        torch.save(part, folder / file)
        places |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": sum(value.nbytes for value in weights.values())}, "weight_map": places}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=2) + "\n")


main()
