"""Writes further folders of models/ as make_fixtures.py writes its own: RoBERTa, XLM-R, CamemBERT,
DistilBERT, ELECTRA, and BERT and RoFormer with a separate output layer (made with transformers 5.24.0,
torch 2.11.0); with --relative-key BERT with a vector for each distance, by the last transformers that
has it (pip install torch transformers==4.57.1 safetensors). The first text is as long as the model
allows, the second is padded. Run it in this folder."""
import sys

import make_fixtures
import torch
from transformers import (BertConfig, BertForMaskedLM, BertForSequenceClassification, CamembertConfig,
                          CamembertForMaskedLM, DistilBertConfig, DistilBertForMaskedLM,
                          DistilBertForSequenceClassification, ElectraConfig, ElectraForMaskedLM,
                          ElectraForPreTraining, ElectraForSequenceClassification, RobertaConfig,
                          RobertaForMaskedLM, RobertaForSequenceClassification, RoFormerConfig,
                          RoFormerForMaskedLM, XLMRobertaConfig, XLMRobertaForSequenceClassification)

make_fixtures.LENGTHS[:] = [16, 7]
SHAPE = dict(make_fixtures.SHAPE, vocab_size=40)
# Two rows of positions are for padding, whose id is 1.
ROBERTA = dict(SHAPE, max_position_embeddings=18, type_vocab_size=1, layer_norm_eps=1e-5)
PIECES = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"] + make_fixtures.UNCASED[5:]
DISTILBERT = dict(vocab_size=40, dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=16)
THREE = dict(id2label={0: "no", 1: "yes", 2: "unknown"}, label2id={"no": 0, "yes": 1, "unknown": 2})


def write(name, model, seed, classes=0, **options):
    make_fixtures.write(name, model, seed, gradients=True, classes=classes, **options)


def main():
    write("roberta", RobertaForMaskedLM(RobertaConfig(**ROBERTA)), 21, pieces=PIECES)
    write("roberta_classification", RobertaForSequenceClassification(RobertaConfig(
        **ROBERTA, **THREE)), 22, classes=3, pieces=PIECES)
    write("xlm_roberta_classification", XLMRobertaForSequenceClassification(XLMRobertaConfig(
        **ROBERTA, num_labels=7)), 23, classes=7, pieces=PIECES)
    write("camembert_untied", CamembertForMaskedLM(CamembertConfig(
        **ROBERTA, tie_word_embeddings=False)), 24, pieces=PIECES)
    write("distilbert", DistilBertForMaskedLM(DistilBertConfig(**DISTILBERT)), 25)
    write("distilbert_classification", DistilBertForSequenceClassification(DistilBertConfig(
        **DISTILBERT, **THREE)), 26, classes=3)
    write("electra", ElectraForMaskedLM(ElectraConfig(embedding_size=12, **SHAPE)), 27)
    write("electra_classification", ElectraForSequenceClassification(ElectraConfig(
        embedding_size=12, num_labels=1, **SHAPE)), 28, classes=1)
    write("electra_discriminator", ElectraForPreTraining(ElectraConfig(embedding_size=12, **SHAPE)), 29)
    write("bert_untied", BertForMaskedLM(BertConfig(tie_word_embeddings=False, **SHAPE)), 30)
    write("roformer_untied", RoFormerForMaskedLM(RoFormerConfig(
        embedding_size=12, tie_word_embeddings=False, **SHAPE)), 31)


def main_relative_key():
    config = dict(SHAPE, position_embedding_type="relative_key", attn_implementation="eager")
    write("bert_relative_key", BertForMaskedLM(BertConfig(**config)), 32)
    write("bert_relative_key_classification", BertForSequenceClassification(BertConfig(
        **config, **THREE)), 33, classes=3)


main_relative_key() if "--relative-key" in sys.argv else main()
