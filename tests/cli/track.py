#!/usr/bin/env python3
"""scripts/track beside a run that begins late, is killed and resumed, and ends, with stubs of the
trackers' packages that write down how they are called.

usage: tests/cli/track.py REPOSITORY"""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WANDB = """
import json
def write(*entry):
    with open("calls", "a") as file: print(json.dumps(entry), file=file)
class Run:
    starting_step = 0
    def log(self, values, step): write("log", values, step)
    def finish(self, exit_code): write("finish", exit_code)
def init(**arguments):
    write("init", arguments)
    return Run()
"""
MLFLOW = """
import json, types
def write(*entry):
    with open("calls", "a") as file: print(json.dumps(entry), file=file)
def set_experiment(name): return types.SimpleNamespace(experiment_id=name)
class MlflowClient:
    def search_runs(self, experiments, condition): return []
def start_run(run_name, tags):
    write("init", {"name": run_name})
    return types.SimpleNamespace(info=types.SimpleNamespace(run_id="r"))
def log_params(values): write("parameters", values)
def log_metrics(values, step): write("log", values, step)
def end_run(status): write("finish", status)
"""
CONFIG = '# checksum\ntask: mlm\nmodel:\n  layers: 2\nposition:\n  scheme: "rope"\n  rope:\n    base: 1e4\n' \
         'stages:\n  - steps: 10\n  - steps: 20\n'


def line(kind, step, loss):
    name = "loss" if kind == "training" else "validation_loss"
    return json.dumps({"kind": kind, "step": step, "minutes": 0.5, name: loss}) + "\n"


def wait_for(condition, what):
    for _ in range(200):
        if condition():
            return
        time.sleep(0.05)
    sys.exit(f"waited in vain for {what}")


def check(found, wanted):
    if found != wanted:
        sys.exit(f"found {found}\nwanted {wanted}")


def follow(track, tracker, stub, finish):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"{tracker}.py").write_text(stub)
        run, calls = folder / "runs" / "a", folder / "calls"
        told = lambda: [json.loads(entry) for entry in calls.read_text().splitlines()] if calls.exists() else []
        logged = lambda: [(entry[2], entry[1]) for entry in told() if entry[0] == "log"]
        environment = {**os.environ, "PYTHONPATH": name}
        process = subprocess.Popen([sys.executable, track, "runs/a", "--to", tracker, "--interval", "0.05"],
                                   cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
        time.sleep(0.3)
        check(told(), [])
        run.mkdir(parents=True)
        (run / "config.yaml").write_text(CONFIG)
        metrics = run / "metrics.jsonl"
        metrics.write_text(line("training", 1, 3.0) + line("training", 2, None) + line("validation", 2, 2.5) +
                           line("training", 3, 2.0) + '{"kind": "trai')
        wait_for(lambda: len(logged()) == 4, "the first lines")
        # Resumed from step 2: the file is replaced by a shorter one, and grows again.
        shorter = run / "shorter"
        shorter.write_text("".join(metrics.read_text().splitlines(keepends=True)[:3]))
        shorter.rename(metrics)
        with metrics.open("a") as file:
            file.write(line("training", 3, 2.0) + line("training", 4, 1.5))
        wait_for(lambda: len(logged()) == 5, "the line after the resumption")
        (run / "summary.json").write_text(json.dumps({"reason": "diverged"}))
        _, errors = process.communicate(timeout=20)
        check((process.returncode, "5 lines sent" in errors), (0, True))
        time_of = lambda kind: {f"{kind}/minutes": 0.5}
        check(logged(), [(1, {**time_of("training"), "training/loss": 3.0}),
                         (2, time_of("training")),
                         (2, {**time_of("validation"), "validation/loss": 2.5}),
                         (3, {**time_of("training"), "training/loss": 2.0}),
                         (4, {**time_of("training"), "training/loss": 1.5})])
        check(told()[-1], ["finish", finish])
        values = told()[0][1]["config"] if tracker == "wandb" else told()[1][1]
        wanted = {"task": "mlm", "model.layers": 2, "position.scheme": "rope", "position.rope.base": 1e4,
                  "stages": "- steps: 10\n- steps: 20\n"}
        check(values, wanted if tracker == "wandb" else {key: str(value) for key, value in wanted.items()})
        check(told()[0][1]["name"], "a")


def main():
    track = str(Path(sys.argv[1]).resolve() / "scripts" / "track")
    follow(track, "wandb", WANDB, 1)
    follow(track, "mlflow", MLFLOW, "FAILED")
    with tempfile.TemporaryDirectory() as name:
        def refusal(*words):
            result = subprocess.run([sys.executable, "-I", track, *words], cwd=name, capture_output=True, text=True)
            check(result.returncode, 1)
            check(len(result.stderr.splitlines()), 1)
            return result.stderr
        (Path(name) / "wandb.py").write_text("raise ImportError")
        if subprocess.run([sys.executable, "-I", "-c", "import wandb"], capture_output=True).returncode != 0:
            check("has no package wandb" in refusal("runs/a", "--to", "wandb", "--once"), True)
        (Path(name) / "mlflow.py").write_text("")
        result = subprocess.run([sys.executable, track, "runs/a", "--to", "mlflow", "--once"], cwd=name,
                                env={**os.environ, "PYTHONPATH": name}, capture_output=True, text=True)
        check((result.returncode, "no run has begun there" in result.stderr), (1, True))


main()
