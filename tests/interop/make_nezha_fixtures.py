"""Writes models/nezha and models/nezha_classification as make_fixtures.py writes its folders, with the
last transformers that has NEZHA (pip install torch transformers==4.57.1 safetensors; made with torch
2.11.0). Texts are longer than twice the clipped distance. Run it in this folder."""
import make_fixtures
from transformers.models.deprecated.nezha import NezhaConfig
from transformers.models.deprecated.nezha.modeling_nezha import (NezhaForMaskedLM,
                                                                 NezhaForSequenceClassification)

SHAPE = dict(make_fixtures.SHAPE, vocab_size=40, max_relative_position=4)


def main():
    make_fixtures.write("nezha", NezhaForMaskedLM(NezhaConfig(**SHAPE)), 9, gradients=True)
    make_fixtures.write("nezha_classification", NezhaForSequenceClassification(NezhaConfig(
        id2label={0: "no", 1: "yes"}, label2id={"no": 0, "yes": 1}, **SHAPE)), 10, gradients=True,
        classes=2)


main()
