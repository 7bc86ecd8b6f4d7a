#!/usr/bin/env python3
"""Fine-tunes a BERT-like folder on tasks of GLUE by transformers, with the recipe of configs/glue/base.yaml:
AdamW (weight decay 0.01, none for biases and norms), linear rate with a tenth of warmup, gradients clipped at
norm 1, dropout 0.1, none in attention, float32, texts cut at 128 tokens, batches of 32 padded to their longest.
Needs torch and transformers in a separate environment.

usage: hf_glue_finetune.py FOLDER GLUE_DIR --tasks RTE,MRPC --seeds 1,2,3 [--epochs 3] [--device cuda]

Prints a line of JSON for each epoch: task, seed, epoch, figures of the development set, seconds so far.
"""
import argparse
import json
import math
import random
import time

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

# Columns of the texts and of the label; None: a file without a header, by number.
COLUMNS = {"CoLA": ((3,), 1), "SST-2": (("sentence",), "label"), "RTE": (("sentence1", "sentence2"), "label"),
           "MRPC": (("#1 String", "#2 String"), "Quality"), "QNLI": (("question", "sentence"), "label"),
           "STS-B": (("sentence1", "sentence2"), "score")}


def read(folder, task, name):
    with open(f"{folder}/{task}/{name}.tsv", encoding="utf-8-sig") as file:
        rows = [line.rstrip("\r\n").split("\t") for line in file]
    texts, label = COLUMNS[task]
    if task != "CoLA":
        head = rows.pop(0)
        texts, label = [head.index(column) for column in texts], head.index(label)
        rows = [row for row in rows if len(row) == len(head)]
    number = (lambda word: float(word)) if task == "STS-B" else (
        lambda word: {"entailment": 0, "not_entailment": 1}.get(word, None) if not word.isdigit() else int(word))
    return [(*(row[column] for column in texts), number(row[label])) for row in rows]


def pearson(x, y):
    return torch.corrcoef(torch.stack([torch.tensor(x, dtype=torch.float64), torch.tensor(y, dtype=torch.float64)]))[0, 1].item()


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    result, i = [0.0] * len(values), 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in range(i, j + 1):
            result[order[k]] = (i + j) / 2
        i = j + 1
    return result


def figures(task, truth, found):
    if task == "STS-B":
        return {"pearson": pearson(truth, found), "spearman": pearson(ranks(truth), ranks(found))}
    pairs = list(zip(truth, found))
    accuracy = sum(t == f for t, f in pairs) / len(pairs)
    if task == "CoLA":
        return {"matthews": pearson([float(t) for t in truth], [float(f) for f in found]) if len(set(found)) > 1 else 0.0}
    if task != "MRPC":
        return {"accuracy": accuracy}
    hits = sum(t == f == 1 for t, f in pairs)
    return {"accuracy": accuracy, "f1": 2 * hits / (sum(truth) + sum(found))}


def parameter_groups(model):
    """Biases and norms are not decayed."""
    plain = [p for n, p in model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
    decayed = [p for n, p in model.named_parameters() if not (n.endswith("bias") or "LayerNorm" in n)]
    return [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]


def fine_tune(options, task, seed):
    torch.manual_seed(seed)
    chooser = random.Random(seed)
    train, development = (read(options.data, task, name) for name in ("train", "dev"))
    tokenizer = AutoTokenizer.from_pretrained(options.folder)
    model = AutoModelForSequenceClassification.from_pretrained(
        options.folder, num_labels=1 if task == "STS-B" else 2, attention_probs_dropout_prob=0.0,
        dtype=torch.float32).to(options.device)
    kind = torch.float32 if task == "STS-B" else torch.long

    def batch(rows):
        inputs = tokenizer(*[[row[column] for row in rows] for column in range(len(rows[0]) - 1)], truncation=True,
                           max_length=128, padding=True, return_tensors="pt")
        return inputs.to(options.device), torch.tensor([row[-1] for row in rows], dtype=kind, device=options.device)

    optimizer = torch.optim.AdamW(parameter_groups(model), lr=5e-5, eps=1e-8)
    steps = options.epochs * math.ceil(len(train) / 32)
    schedule = get_linear_schedule_with_warmup(optimizer, int(0.1 * steps), steps)
    begun = time.time()
    for epoch in range(1, options.epochs + 1):
        model.train()
        chooser.shuffle(train)
        for first in range(0, len(train), 32):
            inputs, labels = batch(train[first:first + 32])
            model(**inputs, labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        model.eval()
        found = []
        with torch.no_grad():
            for first in range(0, len(development), 64):
                logits = model(**batch(development[first:first + 64])[0]).logits
                found += (logits[:, 0] if task == "STS-B" else logits.argmax(1)).tolist()
        scores = figures(task, [row[-1] for row in development], found)
        print(json.dumps({"task": task, "seed": seed, "epoch": epoch,
                          **{name: round(100 * value, 2) for name, value in scores.items()},
                          "seconds": round(time.time() - begun, 1)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("data")
    parser.add_argument("--tasks", default="RTE,MRPC,STS-B,CoLA,SST-2")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    for task in options.tasks.split(","):
        for seed in options.seeds.split(","):
            fine_tune(options, task, int(seed))


if __name__ == "__main__":
    main()
