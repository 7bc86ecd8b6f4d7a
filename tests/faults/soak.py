#!/usr/bin/env python3
"""A long training of a tiny model, as one row of a study, with validation, checkpoints and TensorBoard:
nothing may grow with the steps but the records of them. Watches the training's resident memory, its
file descriptors and threads and the folder of the run; prints the first and the last of each, and
everything that is out of bounds; exit code 1 where something is.

  soak.py ROFORMER [--steps N] [--minutes M] [--folder F] [--idle]

--minutes ends it before its last step; what it has done is judged. A folder that is kept is gone on
with. --idle: nothing else uses the machine, so that the time of a step may be judged, too."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from world import text_of

STUDY = """\
task: mlm
threads: 1
data: {directory: data, length: 16, validation_tokens: 200, loader_threads: 1}
model: {layers: 1, width: 16, heads: 2, feed_forward: 32}
training:
  steps: %d
  batch: 2
  log_every: 50
  validate_every: %d
  save_every: %d
  keep_last: 2
  precision: fp32
study: {name: soak}
matrix: {seed: [1]}
"""
MEGABYTE = 1 << 20


def prepare(roformer, folder, steps):
    (folder / "text.txt").write_text(text_of(1, 400))
    (folder / "soak.yaml").write_text(STUDY % (steps, max(1, steps // 200), max(1, steps // 200)))
    for arguments in (["tokenizer", "train", "text.txt", "--kind", "characters", "--output",
                       "letters"],
                      ["data", "prepare", "text.txt", "--tokenizer", "letters", "--output", "data",
                       "--threads", "1"]):
        subprocess.run([roformer, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


def processes_below(ancestor):
    """Ids of the processes that it started, and of those that they started."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                pass  # it has ended
    below = {ancestor}
    while more := {one for one, parent in parents.items() if parent in below} - below:
        below |= more
    return below - {ancestor}


def last_step(run):
    try:
        with open(run / "metrics.jsonl", "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return 0
    for line in reversed(lines):
        try:
            return json.loads(line)["step"]
        except (ValueError, KeyError, TypeError):
            pass
    return 0


def sample(process, run):
    """What the training holds now; nothing before it has begun or after its end."""
    for one in processes_below(process.pid):
        at = pathlib.Path("/proc") / str(one)
        try:
            status = dict(line.split(":", 1) for line in (at / "status").read_text().splitlines())
            if "train" not in (at / "cmdline").read_text().split("\0"):
                continue
            checkpoints = run / "checkpoints"
            return {"step": last_step(run), "memory": int(status["VmRSS"].split()[0]) * 1024,
                    "threads": int(status["Threads"]), "files": len(list((at / "fd").iterdir())),
                    "log": (run / "log.txt").stat().st_size,
                    "checkpoints": sum(1 for _ in checkpoints.iterdir())}
        except (OSError, KeyError, ValueError):
            pass
    return None


def watch(roformer, folder, run, seconds):
    samples = []
    end = time.monotonic() + seconds if seconds > 0 else float("inf")
    stopped = False
    with open(folder / "study.log", "a") as log:
        process = subprocess.Popen([roformer, "study", "soak.yaml"], cwd=folder, stdout=log,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        while process.poll() is None:
            time.sleep(1)
            if (now := sample(process, run)) is not None:
                samples.append(now)
            if time.monotonic() > end and not stopped:
                process.terminate()
                stopped = True
    if process.returncode != 0 and not stopped:
        sys.exit(f"error: the study ended with {process.returncode}; see {folder}/study.log")
    return samples, stopped


def part(samples, begin, end):
    """Those of a part of the run, as shares of its steps."""
    steps = samples[-1]["step"]
    return [one for one in samples if begin * steps <= one["step"] <= end * steps]


def step_times(run):
    """Milliseconds a step of every line of the log of figures."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line["step_ms"] for line in lines if "step_ms" in line]


def judge(samples, run, steps, idle):
    """Lines of a table, and what is out of bounds. `steps`: that it should have done."""
    wrong = []
    rows = []

    def compare(name, early, late, most):
        rows.append((name, early, late))
        if late > most:
            wrong.append(f"{name}: {late:,.6g} at the end, at most {most:,.6g} wanted")

    # The first tenth fills buffers and allocators.
    early, late = part(samples, 0.1, 0.4), part(samples, 0.7, 1)
    if min(len(early), len(late)) < 3:
        return [], ["too few samples: more steps are wanted"]

    def of(values, name):
        return [one[name] for one in values]

    memory = max(of(early, "memory"))
    compare("resident memory, MB", memory / MEGABYTE, max(of(late, "memory")) / MEGABYTE,
            (1.02 * memory + MEGABYTE) / MEGABYTE)
    for name in ("files", "threads"):
        # One more file: a sample may be taken while a checkpoint is written.
        compare(name, max(of(early, name)), max(of(late, name)),
                max(of(early, name)) + (name == "files"))
    # The last two, the best, the names of the last and the best, and one that is being written.
    compare("checkpoints", max(of(early, "checkpoints")), max(of(late, "checkpoints")), 6)

    # The log is for people: its bytes a step may not rise.
    def growth(values):
        return ((values[-1]["log"] - values[0]["log"]) /
                max(1, values[-1]["step"] - values[0]["step"]))

    compare("log.txt, bytes a step", growth(early), growth(late), 1.1 * growth(early) + 0.1)
    times = step_times(run)
    tenth = max(1, len(times) // 10)

    # Whatever else the machine does makes some steps longer and none shorter.
    def undisturbed(times):
        return statistics.quantiles(times, n=10)[0]

    first = undisturbed(times[tenth // 2:tenth + tenth // 2])
    compare("time of a step, ms", first, undisturbed(times[-tenth:]),
            1.02 * first if idle else float("inf"))
    if last_step(run) < steps:
        wrong.append(f"ended at step {last_step(run)} of {steps}")
    return rows, wrong


def soak(options, folder):
    roformer = str(pathlib.Path(options.roformer).resolve())
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "soak.yaml").exists():
        prepare(roformer, folder, options.steps)
    run = folder / "runs" / "soak" / "seed1"
    samples, stopped = watch(roformer, folder, run, 60 * options.minutes)
    if not samples:
        sys.exit("error: the training ended before it could be watched")
    rows, wrong = judge(samples, run, 0 if stopped else options.steps, options.idle)
    print(f"{samples[-1]['step']:,} steps, {len(samples):,} samples")
    print(f"{'':24}{'10 to 40 %':>14}{'last 30 %':>14}")
    for name, before, after in rows:
        print(f"{name:24}{before:14,.4g}{after:14,.4g}")
    for line in wrong:
        print("out of bounds: " + line)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roformer")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--folder", type=pathlib.Path, help="kept; without it a temporary one")
    parser.add_argument("--idle", action="store_true")
    options = parser.parse_args()
    if options.folder:
        return soak(options, options.folder)
    with tempfile.TemporaryDirectory(prefix="roformer-soak-") as folder:
        return soak(options, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
