#!/usr/bin/env python3
"""Writes muon_cases.json: matrices after five steps of torch.optim.Muon (PyTorch 2.11).

usage: make_muon_cases.py  (beside the file that it writes)

Each case has the matrices twice: "bfloat16" as torch.optim.Muon makes them, whose iterations of
Newton and Schulz round to bfloat16, and "exact" by the same code with those iterations in double.
Values and gradients are formulas, which muon_test.cpp repeats.
"""
import json
import math
import pathlib
from unittest import mock

import torch

SHAPES = {"tall": (12, 5), "wide": (5, 12), "square": (8, 8), "first": (4, 8), "second": (8, 8)}
STEPS = 5
CASES = [
    {"scale": "original", "nesterov": True, "momentum": 0.95, "iterations": 5},
    {"scale": "match_rms_adamw", "nesterov": False, "momentum": 0.8, "iterations": 4},
]
LEARNING_RATE, WEIGHT_DECAY = 0.02, 0.1


def value(place, i):
    return math.sin(0.61 * (i + 1) ** 2 + place)


def gradient(place, i, step):
    return math.sin(0.37 * (i + 1) ** 2 + 2 * place + 3 * step)


def trained(case, exact):
    # Muon divides the rounded copy in place.
    rounded = (lambda self: self.double().clone()) if exact else torch.Tensor.bfloat16
    result = {}
    for place, (name, (rows, columns)) in enumerate(SHAPES.items()):
        size = rows * columns
        matrix = torch.tensor([value(place, i) for i in range(size)], dtype=torch.double)
        matrix = torch.nn.Parameter(matrix.view(rows, columns))
        optimizer = torch.optim.Muon(
            [matrix], lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY, momentum=case["momentum"],
            nesterov=case["nesterov"], ns_steps=case["iterations"], adjust_lr_fn=case["scale"])
        for step in range(STEPS):
            values = [gradient(place, i, step) for i in range(size)]
            matrix.grad = torch.tensor(values, dtype=torch.double).view(rows, columns)
            with mock.patch.object(torch.Tensor, "bfloat16", rounded):
                optimizer.step()
        result[name] = [round(number, 10) for number in matrix.detach().flatten().tolist()]
    return result


cases = [dict(case, learning_rate=LEARNING_RATE, weight_decay=WEIGHT_DECAY,
              exact=trained(case, True), bfloat16=trained(case, False)) for case in CASES]
path = pathlib.Path(__file__).with_name("muon_cases.json")
path.write_text(json.dumps({"torch": torch.__version__, "cases": cases}) + "\n")
