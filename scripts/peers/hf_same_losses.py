#!/usr/bin/env python3
"""Fine-tunes one encoder on the same rows by this program and by transformers, and compares the losses of every step.

Both start from one folder with its head, take all rows as one batch (so that the order does not matter) and
have no dropout; the rates of this program's log drive transformers' AdamW. What remains is rounding.
Needs torch and transformers in a separate environment.

usage: hf_same_losses.py FOLDER GLUE_DIR [--task MRPC] [--rows 64] [--steps 40] [--program roformer]

Prints a line of JSON: task, steps, first and last loss, the largest difference of a loss and of a gradient's norm.
Exit status 1 if a loss differs by more than 1e-4 of it.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from hf_glue_finetune import parameter_groups, read


def first_rows(source, target, rows, header):
    with open(source, encoding="utf-8-sig") as file:
        lines = [line for _, line in zip(range(rows + header), file)]
    target.write_text("".join(lines), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("data")
    parser.add_argument("--task", default="MRPC")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--program", default="roformer")
    options = parser.parse_args()
    config = pathlib.Path(__file__).parents[2] / "configs/glue" / (options.task.lower().replace("-", "") + ".yaml")

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        torch.manual_seed(7)
        AutoModelForSequenceClassification.from_pretrained(
            options.folder, num_labels=1 if options.task == "STS-B" else 2, dtype=torch.float32, hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0).save_pretrained(folder / "head")
        AutoTokenizer.from_pretrained(options.folder).save_pretrained(folder / "head")
        glue = folder / "glue" / options.task
        glue.mkdir(parents=True)
        for part in ("train", "dev"):
            first_rows(f"{options.data}/{options.task}/{part}.tsv", glue / f"{part}.tsv", options.rows,
                       options.task != "CoLA")

        subprocess.run([options.program, "train", config, "--model.from", folder / "head", "--data.directory",
                        folder / "glue", "--model.dropout", "0", "--training.precision", "fp32", "--training.batch",
                        str(options.rows), "--training.steps", str(options.steps), "--training.warmup_ratio", "0.1",
                        "--training.validate_every", str(options.steps), "--training.log_every", "1", "--run", "ours"],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
        lines = [json.loads(line) for line in open(folder / "runs/ours/metrics.jsonl")]
        ours = [line for line in lines if "learning_rate" in line]

        rows = read(folder / "glue", options.task, "train")
        model = AutoModelForSequenceClassification.from_pretrained(folder / "head", dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(folder / "head")
        inputs = tokenizer(*[[row[column] for row in rows] for column in range(len(rows[0]) - 1)], truncation=True,
                           max_length=128, padding=True, return_tensors="pt")
        labels = torch.tensor([row[-1] for row in rows], dtype=torch.float32 if options.task == "STS-B" else torch.long)
        optimizer = torch.optim.AdamW(parameter_groups(model), lr=1.0, eps=1e-8)
        model.train()
        loss_difference = norm_difference = 0.0
        for line in ours:
            for group in optimizer.param_groups:
                group["lr"] = line["learning_rate"]
            loss = model(**inputs, labels=labels).loss
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
            optimizer.step()
            optimizer.zero_grad()
            loss_difference = max(loss_difference, abs(loss.item() - line["loss"]) / line["loss"])
            norm_difference = max(norm_difference, abs(norm - line["gradient_norm"]) / line["gradient_norm"])
        print(json.dumps({"task": options.task, "steps": len(ours), "first_loss": ours[0]["loss"],
                          "last_loss": ours[-1]["loss"], "loss_difference": float(f"{loss_difference:.2g}"),
                          "gradient_norm_difference": float(f"{norm_difference:.2g}")}))
        sys.exit(loss_difference > 1e-4 or len(ours) != options.steps)


main()
