"""Writes embedding/losses.json: the losses of sentence-transformers and their gradients for random
vectors (made with sentence-transformers 6.2.0, torch 2.11.0). Run it in this folder."""
import json
import warnings
from pathlib import Path

import torch

warnings.filterwarnings("ignore")
from sentence_transformers.sentence_transformer.losses import (  # noqa: E402
    CosineSimilarityLoss, MultipleNegativesRankingLoss, MultipleNegativesSymmetricRankingLoss)

EXAMPLES, WIDTH = 5, 4


def case(name, make_loss, count, labels=None, **settings):
    generator = torch.Generator().manual_seed(len(name))
    vectors = [torch.randn(EXAMPLES, WIDTH, generator=generator).requires_grad_()
               for _ in range(count)]
    loss = make_loss().compute_loss_from_embeddings(vectors, labels)
    loss.backward()
    return dict(name=name, loss=loss.item(), vectors=[v.tolist() for v in vectors],
                gradients=[v.grad.tolist() for v in vectors],
                scores=[] if labels is None else labels.tolist(), **settings)


def ranking(temperature):
    return lambda: MultipleNegativesRankingLoss(model=None, scale=1 / temperature)


def symmetric(temperature):
    return lambda: MultipleNegativesSymmetricRankingLoss(model=None, scale=1 / temperature)


scores = torch.tensor([0.0, 0.25, 1.0, 0.6, 0.125])
cases = [
    case("pairs", ranking(0.05), 2, temperature=0.05),
    case("triplets", ranking(0.5), 3, temperature=0.5),
    case("symmetric pairs", symmetric(0.05), 2, temperature=0.05, symmetric=True),
    case("symmetric triplets", symmetric(0.2), 3, temperature=0.2, symmetric=True),
    case("cosine", lambda: CosineSimilarityLoss(model=torch.nn.Identity()), 2, labels=scores),
]
Path("embedding").mkdir(exist_ok=True)
Path("embedding/losses.json").write_text(json.dumps(cases, indent=1) + "\n")
