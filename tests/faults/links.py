"""Every name of this program's inside a run, a study, a data set, a tokenizer or an export, in turn
made a link to something of the user's, a named pipe or a sparse file of 6 GiB, by whoever the folder
comes from. Nothing outside is changed, nothing is waited for, and no memory is taken."""

import hashlib
import os
import shutil

from world import (LONGER, PREPARE, RESUME, TRAIN_TOKENIZER, last_checkpoint)

SECONDS = 60
MEMORY = 1 << 30
SPARSE = 6 << 30

STUDY = """\
extends: run.yaml
study: {name: s, reference: rope}
matrix: {position: [rope, none]}
training: {steps: 2}
"""
RUN_STUDY = ["study", "study.yaml"]
OVERWRITE = ["train", "run.yaml", "--run", "whole", "--overwrite", "--training.steps", str(LONGER)]
EVALUATE = ["evaluate", "runs/whole", "--data", "data"]
REMOVE = ["runs", "remove", "runs/whole", "--yes"]
REPORT = ["report", "runs/whole"]
LIST = ["runs", "list"]
IMPORT = ["import", "export", "--run", "stranger"]

# What a run, a study or an output may hold, there or not.
OF_RUN = [".lock", ".previous", ".previous.partial", ".outdated", "config.yaml", "config.yaml.partial",
          "run.json", "log.txt", "metrics.jsonl", "metrics.jsonl.partial", "summary.json",
          "summary.json.partial", "report.html", "tensorboard", "checkpoints", "tokenizer.json", "characters.json",
          "checkpoints/step-00000016.partial", "checkpoints/step-00000016.partial/state.json"]
OF_STUDY = [".lock", "configs", "configs/rope.yaml", "configs/rope.yaml.partial", "logs",
            "logs/rope.txt", "claims", "claims/rope", "claims/rope/.lock", "table.md", "table.json",
            "table.csv", "report.html", "report.html.partial", "rope", "rope/log.txt"]
OF_OUTPUT = [".lock", ".partial", ".previous"]  # beside it


def home(here):
    """What is the user's: a file and folders that a run's could be taken for."""
    place = here / "home"
    place.mkdir()
    (place / "thesis.txt").write_text("the user's own words, without an end of line")
    shutil.copytree(here / "runs/whole", place / "run")
    (place / "letters").mkdir()
    (place / "letters/one.txt").write_text("mine")
    return place


def contents(place):
    return {str(path.relative_to(place)): os.readlink(path) if path.is_symlink() else
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
            for path in sorted(place.rglob("*"))}


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def targets(place, name):
    """Where a link in the place of NAME may lead: to a file or folder, and to what is not there."""
    own = place / "run" / name
    return [place / "thesis.txt", place / "letters", place / "new"] + ([own] if own.exists() else [])


def link_trial(world, kind, where, name, which, command):
    def trial():
        here = world.fresh()
        (here / "study.yaml").write_text(STUDY)
        outside = home(here)
        target = targets(outside, name)[which]
        path = here / (where + name)
        path.parent.mkdir(parents=True, exist_ok=True)
        remove(path)
        path.symlink_to(os.path.relpath(target, path.parent))
        if where == "data" and name != ".lock":  # as a killed process leaves it
            (here / "data.lock").write_text("roformer process 1\n")
        before = contents(outside)
        outcome = world.program(command, here, seconds=SECONDS)
        if contents(outside) != before:
            return "broken", f"changes what is outside; code {outcome.code}: {outcome.errors[-300:]}"
        if outcome.code == 0:
            return "harmless", ""
        if outcome.is_refusal():
            return "detected", ""
        return "broken", f"code {outcome.code}: {outcome.errors[-500:]}"

    return f"link: {kind}", f"{where}{name} -> {which}, {command[0]}", trial


def odd_trial(world, kind, name, make, command):
    def trial():
        here = world.fresh()
        path = here / name
        remove(path)
        make(path)
        outcome = world.program(command, here, memory=MEMORY, seconds=SECONDS)
        if outcome.is_refusal() and "takes too much memory" not in outcome.errors:
            return "detected", ""
        if outcome.code == 0:
            return "harmless", ""
        return "broken", f"code {outcome.code}: {outcome.errors[-500:]}"

    return kind, f"{name}, {command[0]}", trial


def sparse(path):
    path.touch()
    os.truncate(path, SPARSE)


def trials(world):
    if not (world.pristine / "export").exists():
        world.program.checked(["export", "runs/whole", "export"], world.pristine)
    own = world.pristine / "runs/whole"
    inside = last_checkpoint(own)
    found = [str(path.relative_to(own)) for path in inside.iterdir()]
    for name in OF_RUN + [str(inside.relative_to(own))] + found:
        count = 4 if (own / name).exists() else 3
        for which in range(count):
            for command in (RESUME, OVERWRITE, EVALUATE, REMOVE, REPORT):
                yield link_trial(world, "a run", "runs/whole/", name, which, command)
    for name in OF_STUDY:
        for which in range(3):
            yield link_trial(world, "a study", "runs/s/", name, which, RUN_STUDY)
    for output, command in (("data", PREPARE), ("tokenizer", TRAIN_TOKENIZER)):
        for name in OF_OUTPUT:
            for which in range(3):
                yield link_trial(world, "an output", output, name, which, command)

    of_run = {f"runs/whole/{name}" for name in OF_RUN + found if (own / name).is_file()}
    for command, names in (
            (EVALUATE, of_run), (RESUME, of_run), (LIST, of_run), (REMOVE, of_run),
            (IMPORT, {f"export/{path.name}" for path in (world.pristine / "export").iterdir()}),
            (["data", "inspect", "data"],
             {f"data/{path.name}" for path in (world.pristine / "data").iterdir()}),
            (["tokenizer", "info", "tokenizer"],
             {f"tokenizer/{path.name}" for path in (world.pristine / "tokenizer").iterdir()})):
        for name in sorted(names):
            yield odd_trial(world, "a named pipe", name, os.mkfifo, command)
            yield odd_trial(world, "a sparse file", name, sparse, command)
