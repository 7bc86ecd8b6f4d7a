#!/usr/bin/env python3
"""Compares two builds of the program: every loss of every task must have the same bits, also in a training
that the first build begins and the second resumes. For a change that should change nothing.

  same_losses.py OLD_ROFORMER NEW_ROFORMER [--threads 2] [--precision fp32|bf16]"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from ranks_world import World, figures

TASKS = ("mlm", "causal_lm", "glue", "translation", "matching")


def world_of(roformer, folder):
    folder.mkdir()
    return World(roformer, folder, steps=30)


def differing(left, right):
    """The first line that differs in what both programs write, or None."""
    left, right = figures(left), figures(right)
    if len(left) != len(right):
        return f"{len(left)} against {len(right)} lines"
    both = [(set(a) & set(b)) for a, b in zip(left, right)]
    left = [{name: a[name] for name in names} for a, names in zip(left, both)]
    right = [{name: b[name] for name in names} for b, names in zip(right, both)]
    return next((f"{a} is not {b}" for a, b in zip(left, right) if a != b), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--precision", default="fp32")
    arguments = parser.parse_args()
    misses = 0

    def report(what, difference, count):
        nonlocal misses
        misses += difference is not None
        print(f"{what}: {difference or f'{count} lines equal'}", flush=True)

    with tempfile.TemporaryDirectory() as scratch:
        old = world_of(arguments.old, Path(scratch) / "old")
        new = world_of(arguments.new, Path(scratch) / "new")
        for task in TASKS:
            keys = {"threads": int(arguments.threads), "model.dropout": 0.1, "training.precision": arguments.precision}
            before = old.train(old.config(task, **keys), task, 1)
            after = new.train(new.config(task, **keys), task, 1)
            report(task, differing(before, after), len(after))
            config = old.config(task, **keys, **{"training.save_every": 5})
            step = old.stop_after(config, f"{task}-begun", 1, 7)
            # The folder with the old program's data, so that nothing else differs.
            shutil.copytree(old.folder / "runs" / f"{task}-begun", new.folder / "runs" / f"{task}-begun")
            resumed = new.train(new.config(task, **keys, **{"training.save_every": 5}), f"{task}-begun", 1, "--resume")
            report(f"{task}, begun by the old one and resumed at step {step}", differing(before, resumed), len(resumed))
    return misses > 0


if __name__ == "__main__":
    sys.exit(main())
