"""Writes the folders of models/ named deberta* with Hugging Face's transformers (pip install torch
transformers safetensors; made with transformers 5.24.0, torch 2.11.0): small DeBERTa-v2 models with
random weights, and what transformers computes from them, as make_fixtures.py describes. Their texts
are longer than the distances that have rows in the table. Run it in this folder."""
from make_fixtures import rename_weights, write
from safetensors.torch import load_file, save_file
from transformers import (DebertaV2Config, DebertaV2ForMaskedLM,
                          DebertaV2ForSequenceClassification)

SHAPE = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
             intermediate_size=24, relative_attention=True, position_biased_input=False)
# As versions 2 and 3 were released; 4 buckets end at the distance 5.
RELEASED = dict(position_buckets=4, max_position_embeddings=6, share_att_key=True,
                norm_rel_ebd="layer_norm")


def with_older_names(folder):
    """The gradients of the head under the names that the head has with "legacy": true."""
    file = folder / "expected.safetensors"
    names = {"lm_predictions.lm_head.bias": "cls.predictions.bias",
             "lm_predictions.lm_head.": "cls.predictions.transform."}
    renamed = {}
    for name, value in load_file(file).items():
        for new, old in names.items():
            if new in name:
                name = name.replace(new, old)
                break
        renamed[name] = value
    save_file(renamed, file)


def main():
    write("deberta", DebertaV2ForMaskedLM(DebertaV2Config(
        pos_att_type="p2c|c2p", **RELEASED, **SHAPE)), 21, gradients=True)
    with_older_names(write("deberta_own_projections", DebertaV2ForMaskedLM(DebertaV2Config(
        pos_att_type=["c2p", "p2c"], max_relative_positions=5, max_position_embeddings=32,
        type_vocab_size=2, hidden_act="gelu_new", layer_norm_eps=1e-5, legacy=False, **SHAPE)), 22,
        gradients=True))
    # Version 3's own files have the weights of another head beside it.
    folder = write("deberta_p2c", DebertaV2ForMaskedLM(DebertaV2Config(
        pos_att_type="p2c", tie_word_embeddings=False, **(RELEASED | dict(share_att_key=False, norm_rel_ebd="none")), **SHAPE)),
        23, gradients=True)
    rename_weights(folder, lambda weights: weights | {
        "mask_predictions.dense.bias": weights["cls.predictions.transform.dense.bias"].clone()})
    write("deberta_classification", DebertaV2ForSequenceClassification(DebertaV2Config(
        pos_att_type="p2c|c2p", num_labels=3, pooler_dropout=0.1, **RELEASED, **SHAPE)), 24,
        gradients=True, classes=3)


if __name__ == "__main__":
    main()
