#!/usr/bin/env python3
"""Several processes train as one does: from the same file the same losses up to the order of summation, the
same bits where that is asked for, whatever the task; checkpoints go from one number of processes to another.

  equality.py ROFORMER [--quick] [CHECK...]"""

import argparse
import shutil
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


def relative(what, left, right, tolerance=2e-6):
    """Losses of steps and of validations, as shares of themselves, or of 1: a contrastive loss
    is the small difference of numbers up to 20."""
    worst = 0.0
    assert len(left) == len(right), what
    for a, b in zip(left, right):
        assert a["kind"] == b["kind"] and a["step"] == b["step"] and a.get("tokens") == b.get("tokens"), (what, a, b)
        for name in a.keys() & {"loss", "validation_loss"}:
            worst = max(worst, abs(a[name] - b[name]) / max(1.0, abs(b[name])))
    print(f"{what}: losses within {worst:.1e} of each other over {len(left)} lines")
    assert worst <= tolerance, what


def tasks(world):
    """The same file in 1, 2 and 4 processes, which divide whole micro-batches or the rows of one: with dropout, the
    loss of all targets, clipping and a shared validation."""
    more = () if world.quick else ("tagging", "matching", "embedding", "probe")
    for task in ("mlm", "causal_lm", "glue", "translation", *more):
        config = world.config(task, model__dropout=0.1, training__steps=20)
        one = world.train(config, f"{task}-1", 1)
        for ranks in (2, 4):
            relative(f"{task}, rows of a micro-batch in {ranks}", one, world.train(config, f"{task}-{ranks}", ranks))
        both = ("--training.accumulation", "2")
        one = world.train(config, f"{task}-1x2", 1, *both)
        relative(f"{task}, micro-batches", one, world.train(config, f"{task}-2x2", 2, *both))
        relative(f"{task}, micro-batches and rows", one, world.train(config, f"{task}-4x2", 4, *both))


def options(world):
    """Rows that end with documents, recomputed layers, drawn positions, batches of so many tokens and of fewer texts
    than processes, the optimiser in parts."""
    causal = world.config("causal_lm", model__dropout=0.1, training__steps=20, data__cross_documents=False,
                          training__recompute="layer", attention__dropout=0.1)
    relative("documents", world.train(causal, "documents-1", 1), world.train(causal, "documents-4", 4))
    for draw in ("randomized", "shape", "cape"):
        flags = ("--position", "explicit_positions", "--position.draw", draw)
        glue = world.config("glue", training__steps=20, model__dropout=0.1, attention__dropout=0.1)
        relative(f"drawn positions, {draw}", world.train(glue, f"{draw}-1", 1, *flags),
                 world.train(glue, f"{draw}-3", 4, *flags))
    for task in ("glue", "tagging", "translation", "embedding"):
        few = world.config(task, training__steps=20, training__batch_tokens=64, model__dropout=0.1)
        relative(f"{task}, few texts", world.train(few, f"{task}-few-1", 1), world.train(few, f"{task}-few-4", 4))
    parts = world.config("mlm", model__dropout=0.1, training__steps=20, training__shard_optimizer=True)
    relative("optimiser in parts", world.train(parts, "parts-1", 1), world.train(parts, "parts-4", 4))
    staged = world.config("mlm", model__dropout=0.1, training__steps=20, stages=[
        {"steps": 7, "length": 16, "batch": 8, "accumulation": 1}, {"steps": 13, "length": 32, "batch": 4, "accumulation": 2}])
    relative("stages", world.train(staged, "rows-of-stages-1", 1), world.train(staged, "rows-of-stages-4", 4))


def deterministic(world):
    """The same bits from 1, 2 and 4 processes, with dropout."""
    config = world.config("mlm", model__dropout=0.1, training__reduce="deterministic",
                          training__steps=min(30, world.steps))
    runs = {ranks: world.train(config, f"bits-{ranks}", ranks, "--training.accumulation", 4) for ranks in (1, 2, 4)}
    same("deterministic, 1 and 2", runs[1], runs[2])
    same("deterministic, 1 and 4", runs[1], runs[4])
    sharded = world.train(config, "bits-parts", 2, "--training.accumulation", "4",
                          "--training.shard_optimizer", "true", "--model.width", "96")
    whole = world.train(config, "bits-whole", 1, "--training.accumulation", "4", "--model.width", "96")
    same("deterministic, optimiser in parts", whole, sharded)
    fast = world.train(config, "bits-fast", 2, "--training.accumulation", "4", "--training.reduce",
                       "fast")
    close("fast beside deterministic", runs[1], fast)


def stages(world):
    """Stages of their own length, rows and micro-batches, with a moving average of the weights: the
    same bits from 1 and 2 processes, whole or in parts, stopped in the second stage or not."""
    config = world.config("mlm", training__reduce="deterministic", training__ema=0.9,
                          training__steps=30, stages=[
                              {"steps": 12, "length": 16, "batch": 8, "accumulation": 2},
                              {"steps": 18, "length": 32, "batch": 4, "accumulation": 4}])
    alone = world.train(config, "stages-1", 1)
    same("stages", alone, world.train(config, "stages-2", 2))
    for parts in ("false", "true"):
        run = f"stages-stopped-{parts}"
        flags = ("--training.shard_optimizer", parts)
        world.stop_after(config, run, 2, 15, *flags)
        same(f"stages, stopped by two and resumed by one, in parts {parts}", alone,
             world.train(config, run, 1, "--resume", *flags))


def resumed(world):
    """Written by two and gone on with by one, and the reverse; the optimiser in parts or whole."""
    config = world.config("mlm", model__width=96, training__steps=40)
    whole = world.train(config, "never-stopped", 2)
    for first, second, parts in ((2, 1, "false"), (1, 2, "true"), (2, 1, "true"), (2, 2, "true")):
        run = f"from-{first}-to-{second}-{parts}"
        flags = ("--training.shard_optimizer", parts)
        # The schedule is the whole run's: stopped by its number of steps, it would be another.
        stopped = world.stop_after(config, run, first, 20, *flags)
        assert stopped < 40, stopped
        close(f"{run} (stopped at step {stopped})", whole,
              world.train(config, run, second, "--resume", *flags))


def averages(world):
    """The moving average of the weights in parts: from two processes the same bits as from one, in
    validations and checkpoints, and gone on with by another number of processes."""
    keys = dict(model__width=96, training__ema=0.9, training__steps=12, training__validate_every=4,
                training__save_every=4, training__reduce="deterministic", training__accumulation=2)
    config = world.config("mlm", **keys)
    parts = ("--training.shard_optimizer", "true")
    whole = world.train(config, "average-1", 1)
    assert any("validation_ema_loss" in line for line in whole), whole
    same("average in parts", whole, world.train(config, "average-2", 2, *parts))
    runs = ["average-2"]
    for first, second in ((2, 1), (1, 2)):
        run = f"average-{first}-{second}"
        # The schedule is the whole run's: stopped by its number of steps, it would be another.
        stopped = world.stop_after(config, run, first, 3, *parts)
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
    uneven = "training.batch: a step has 8 rows (batch 8 x accumulation 1), which 3 processes cannot share evenly"
    assert f"{uneven} (hint: continue with a number of processes that divides 8)" in text, text
    text = world.fail(config, "of-three", 3, {})
    assert f"{uneven} (hint: batch 9 is the nearest that they can)" in text, text
    assert not (world.folder / "runs" / "of-three").exists()
    text = world.fail(config, "bits-of-rows", 2, {}, "--training.reduce", "deterministic")
    assert "batch 4 x accumulation 2 has as many rows" in text, text
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
    one = world.train(config, "example-1", 1, *flags)
    close("example", one, world.train(config, "example-2", 2, *flags))


def older(world):
    """A run whose record does not say that processes share a step: each of those that began it had a batch."""
    config = world.config("mlm", model__dropout=0.1, training__steps=20, training__save_every=5)
    whole = world.train(config, "as-before-1", 1, "--training.accumulation", "2")
    # Two processes with one micro-batch each: the record and the configuration that they left.
    stopped = world.stop_after(config, "as-before-2", 2, 8, "--training.accumulation", "2")
    world.begun_before("as-before-2", lambda config: config.replace("accumulation: 2", "accumulation: 1"))
    for ranks in (1, 2, 4):
        copy = f"as-before-2-{ranks}"
        shutil.copytree(world.folder / "runs" / "as-before-2", world.folder / "runs" / copy)
        relative(f"begun by two with a batch each, stopped at step {stopped}, resumed by {ranks}", whole,
                 world.train(config, copy, ranks, "--resume"))


CHECKS = (tasks, options, deterministic, stages, resumed, older, averages, contradictions, example)
QUICK = (tasks, deterministic, older, averages, contradictions, example)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roformer")
    parser.add_argument("checks", nargs="*", metavar="CHECK")
    parser.add_argument("--quick", action="store_true", help="fewer checks of fewer steps")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = World(options.roformer, folder, steps=6 if options.quick else 50)
        world.quick = options.quick
        for check in QUICK if options.quick else CHECKS:
            if not options.checks or check.__name__ in options.checks:
                check(world)


if __name__ == "__main__":
    main()
