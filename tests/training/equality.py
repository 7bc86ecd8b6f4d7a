#!/usr/bin/env python3
"""Two processes train as one does: the same losses up to the order of summation, the same bits where
that is asked for, whatever the task; checkpoints go from one number of processes to another.

  equality.py ROFORMER [--quick] [CHECK...]"""

import argparse
import tempfile
from pathlib import Path

from ranks_world import World, figures, largest_difference

SUMS = ("loss", "gradient_norm", "validation_loss")
TOLERANCE = 1e-5


def close(what, left, right, tolerance=TOLERANCE, names=SUMS):
    difference = largest_difference(left, right, names)
    print(f"{what}: largest difference {difference:.2g} over {len(left)} lines")
    assert difference <= tolerance, what


def same(what, left, right):
    for a, b in zip(figures(left), figures(right)):
        assert a == b, f"{what}: {a} is not {b}"
    assert len(left) == len(right), what
    print(f"{what}: {len(left)} lines equal")


def tasks(world):
    """2 processes x 1 micro-batch = 1 process x 2, with the loss of all targets, clipping and a
    shared validation."""
    for task in ("mlm", "causal_lm", "glue", "tagging", "translation", "matching"):
        config = world.config(task)
        one = world.train(config, f"{task}-one", 1, "--training.accumulation", "2")
        two = world.train(config, f"{task}-two", 2)
        close(task, one, two)
        assert [line.get("tokens") for line in one] == [line.get("tokens") for line in two], task


def rows(world):
    """2 processes x batch 8 = 1 process x batch 16."""
    for task in ("mlm", "causal_lm"):
        config = world.config(task)
        close(f"{task}, rows", world.train(config, f"{task}-16", 1, "--training.batch", "16"),
              world.train(config, f"{task}-8", 2))


def deterministic(world):
    """The same bits from 1, 2 and 4 processes, with dropout."""
    config = world.config("mlm", model__dropout=0.1, training__reduce="deterministic",
                          training__steps=min(30, world.steps))
    runs = {ranks: world.train(config, f"bits-{ranks}", ranks, "--training.accumulation", 4 // ranks)
            for ranks in (1, 2, 4)}
    same("deterministic, 1 and 2", runs[1], runs[2])
    same("deterministic, 1 and 4", runs[1], runs[4])
    sharded = world.train(config, "bits-parts", 2, "--training.accumulation", "2",
                          "--training.shard_optimizer", "true", "--model.width", "96")
    whole = world.train(config, "bits-whole", 1, "--training.accumulation", "4", "--model.width", "96")
    same("deterministic, optimiser in parts", whole, sharded)
    fast = world.train(config, "bits-fast", 2, "--training.accumulation", "2", "--training.reduce",
                       "fast")
    close("fast beside deterministic", runs[1], fast)


def stages(world):
    """Stages of their own length, rows and micro-batches, with a moving average of the weights: the
    same bits from 1 and 2 processes, whole or in parts, stopped in the second stage or not."""
    config = world.config("mlm", training__reduce="deterministic", training__ema=0.9,
                          training__steps=30, stages=[
                              {"steps": 12, "length": 16, "batch": 8, "accumulation": 2},
                              {"steps": 18, "length": 32, "batch": 4, "accumulation": 4}])
    alone = world.train(config, "stages-1", 1, "--training.accumulation", "2")
    # The same file says the micro-batches of each process: two take half of them.
    halves = world.config("mlm", training__reduce="deterministic", training__ema=0.9,
                          training__steps=30, stages=[
                              {"steps": 12, "length": 16, "batch": 8, "accumulation": 1},
                              {"steps": 18, "length": 32, "batch": 4, "accumulation": 2}])
    same("stages", alone, world.train(halves, "stages-2", 2))
    for parts in ("false", "true"):
        run = f"stages-stopped-{parts}"
        flags = ("--training.shard_optimizer", parts)
        world.stop_after(halves, run, 2, 15, *flags)
        same(f"stages, stopped by two and resumed by one, in parts {parts}", alone,
             world.train(halves, run, 1, "--resume", *flags))


def resumed(world):
    """Written by two and gone on with by one, and the reverse; the optimiser in parts or whole."""
    config = world.config("mlm", model__width=96, training__steps=40)
    whole = world.train(config, "never-stopped", 2)
    for first, second, parts in ((2, 1, "false"), (1, 2, "true"), (2, 1, "true"), (2, 2, "true")):
        run = f"from-{first}-to-{second}-{parts}"
        flags = ("--training.shard_optimizer", parts)
        accumulation = () if first == 2 else ("--training.accumulation", "2")
        # The schedule is the whole run's: stopped by its number of steps, it would be another.
        stopped = world.stop_after(config, run, first, 20, *flags, *accumulation)
        assert stopped < 40, stopped
        close(f"{run} (stopped at step {stopped})", whole,
              world.train(config, run, second, "--resume", *flags))


def averages(world):
    """The moving average of the weights in parts: from two processes the same bits as from one, in
    validations and checkpoints, and gone on with by another number of processes."""
    keys = dict(model__width=96, training__ema=0.9, training__steps=12, training__validate_every=4,
                training__save_every=4, training__reduce="deterministic")
    config = world.config("mlm", **keys)
    parts = ("--training.shard_optimizer", "true")
    halves = ("--training.accumulation", "2")
    whole = world.train(config, "average-1", 1, *halves)
    assert any("validation_ema_loss" in line for line in whole), whole
    same("average in parts", whole, world.train(config, "average-2", 2, *parts))
    runs = ["average-2"]
    for first, second in ((2, 1), (1, 2)):
        run = f"average-{first}-{second}"
        # The schedule is the whole run's: stopped by its number of steps, it would be another.
        stopped = world.stop_after(config, run, first, 3, *parts, *(halves if first == 1 else ()))
        assert stopped < 12, stopped
        same(f"{run} (stopped at step {stopped})", whole,
             world.train(config, run, second, "--resume", *parts))
        runs.append(run)
    for run in runs:
        for file in ("model.safetensors", "optimizer.safetensors", "ema.safetensors"):
            assert world.last(run, file) == world.last("average-1", file), (run, file)
    fast = world.config("mlm", **dict(keys, training__reduce="fast"))
    close("average in parts, fast", whole, world.train(fast, "average-fast", 2, *parts),
          names=(*SUMS, "validation_ema_loss"))


def contradictions(world):
    """Processes that were not started alike are told apart before anything is trained."""
    config = world.config("mlm", training__steps=3)
    for words in (("--resume",), ("--resume", "auto"), ("--overwrite",)):
        text = world.fail(config, "apart", 2, {1: words})
        assert f"process 1 with {' '.join(words)}" in text, text
    for seed in (1, 2):
        world.train(config, f"source-{seed}", 1, "--training.steps", "2", "--seed", seed)
    text = world.fail(config, "sources", 2, {0: ("--model.from", "runs/source-1"),
                                             1: ("--model.from", "runs/source-2")})
    assert "process 1 has" in text, text
    text = world.fail(config, "unlike", 2, {1: ("--training.batch", "4")})
    assert "process 0 has training.batch 8, process 1 has training.batch 4" in text, text
    world.train(config, "of-two", 2)
    text = world.fail(config, "of-two", 3, {}, "--resume", "--training.steps", "6")
    assert "2 micro-batches, which 3 processes cannot share evenly" in text, text
    text = world.fail(config, "of-two", 2, {})
    assert "holds a run already" in text, text
    print("contradictions refused")


def example(world):
    """The configuration that the repository shows, as two processes over the loopback."""
    config = Path(__file__).parents[2] / "configs/pretraining/processes.yaml"
    flags = ("--data.directory", world.folder / "text", "--runs", world.folder / "runs",
             "--training.steps", "4", "--training.batch", "4", "--data.length", "32", "--threads", "1",
             "--model.layers", "1", "--model.width", "32", "--model.heads", "2",
             "--model.feed_forward", "64", "--training.log_every", "1", "--training.warmup", "0")
    one = world.train(config, "example-1", 1, "--training.accumulation", "2", *flags)
    close("example", one, world.train(config, "example-2", 2, *flags))


CHECKS = (tasks, rows, deterministic, stages, resumed, averages, contradictions, example)
QUICK = (tasks, deterministic, averages, contradictions, example)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roformer")
    parser.add_argument("checks", nargs="*", metavar="CHECK")
    parser.add_argument("--quick", action="store_true", help="fewer checks of fewer steps")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = World(options.roformer, folder, steps=6 if options.quick else 50)
        for check in QUICK if options.quick else CHECKS:
            if not options.checks or check.__name__ in options.checks:
                check(world)


if __name__ == "__main__":
    main()
