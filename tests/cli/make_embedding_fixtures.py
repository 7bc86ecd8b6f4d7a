"""Writes embedding/: a folder of sentence-transformers with a small BERT of random weights, and
expected.json with the vectors that sentence-transformers gives some sentences (made with
sentence-transformers 6.2.0, transformers 5.24.0, torch 2.11.0). Run it in this folder."""
import json
import shutil
import warnings
from pathlib import Path

import torch

warnings.filterwarnings("ignore")
from sentence_transformers import SentenceTransformer  # noqa: E402
from transformers import BertConfig, BertModel  # noqa: E402

FOLDER = Path("embedding")
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "cat", "dog", "sat", "ran", "on",
          "mat", "grass", "##s", "##ing", "red", "green", ".", ",", "!", "q", "##u", "##i", "##ck"]
SENTENCES = ["the cat sat on the mat.", "a dog ran", "", "The DOGS, ran on the green grass!",
             "quick cats sat sat sat sat sat sat sat sat sat sat on the red mat", "unknown words",
             "a dog ran"]


def write(file, document):
    (FOLDER / file).parent.mkdir(parents=True, exist_ok=True)
    (FOLDER / file).write_text(json.dumps(document, indent=2) + "\n")


def modules(normalize):
    kinds = ["Transformer", "Pooling"] + ["Normalize"] * normalize
    return [dict(idx=i, name=str(i), path=f"{i}_{kind}" if i else "",
                 type=f"sentence_transformers.models.{kind}") for i, kind in enumerate(kinds)]


def pooling(mode):
    return dict(word_embedding_dimension=16, pooling_mode_cls_token=mode == "cls",
                pooling_mode_mean_tokens=mode == "mean", pooling_mode_max_tokens=False,
                pooling_mode_mean_sqrt_len_tokens=False)


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir()
torch.manual_seed(3)
model = BertModel(BertConfig(vocab_size=len(PIECES), hidden_size=16, num_hidden_layers=2,
                             num_attention_heads=2, intermediate_size=24,
                             max_position_embeddings=20))
for name, parameter in model.named_parameters():
    parameter.data = 0.3 * torch.randn(parameter.shape) + ("LayerNorm.weight" in name)
model.save_pretrained(FOLDER)
(FOLDER / "vocab.txt").write_text("\n".join(PIECES) + "\n")
write("tokenizer_config.json", dict(tokenizer_class="BertTokenizer", do_lower_case=True,
                                    model_max_length=20, pad_token="[PAD]", unk_token="[UNK]",
                                    cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]"))
write("sentence_bert_config.json", dict(max_seq_length=12, do_lower_case=False))
(FOLDER / "2_Normalize").mkdir()

expected = dict(sentences=SENTENCES)
for mode, normalize in [("cls", False), ("mean", True)]:  # the last stays in the folder
    write("modules.json", modules(normalize))
    write("1_Pooling/config.json", pooling(mode))
    vectors = SentenceTransformer(str(FOLDER), device="cpu").encode(SENTENCES, batch_size=3)
    expected[mode] = [[round(float(x), 7) for x in row] for row in vectors]
write("expected.json", expected)
(FOLDER / "2_Normalize").rmdir()
