"""The process is killed before, or in the middle of, every call that changes files. Afterwards each
folder is the old one or the new one, whole, and the same command works again and leaves nothing
beside it."""

import json

from world import (EXPORT, Fault, OVERWRITE, PREPARE, PREPARE_PAIRS, RESUME, TRAIN, TRAIN_TOKENIZER,
                   killed, last_checkpoint, losses, weights)

CALLS = "write,fsync,rename,unlink,mkdir,open,ftruncate"


def litter(folder, name):
    return [path.name for path in folder.glob(name + ".*")]


class Replacement:
    """A command that replaces a folder."""

    def __init__(self, world, name, command, folder, show):
        self.name, self.command, self.folder, self.show = name, command, folder, show
        here = world.fresh()
        self.old = world.program.checked(show, here).output
        world.program.checked(command, here)
        self.new = world.program.checked(show, here).output
        assert self.old != self.new

    def check(self, world, here, fault):
        shown = world.program(self.show, here)
        whole = shown.code == 0 and shown.output in (self.old, self.new)
        # Where nothing can be exchanged there is a moment in which the old one stands beside.
        waits = not fault.exchange and (here / (self.folder + ".previous")).exists()
        if not whole and not (waits and not (here / self.folder).exists()):
            return "neither the old nor the new: " + shown.errors
        again = world.program(self.command, here)
        if again.code != 0:
            return "cannot be done again: " + again.errors
        if world.program(self.show, here).output != self.new:
            return "is not the new one in the end"
        left = litter(here, self.folder)
        return f"left {left}" if left else ""


class Preparation(Replacement):
    """A data set of several shards: those that were finished are not made again, and what comes out
    in the end is bitwise the set of a process that nobody killed."""

    def __init__(self, world, name, command, folder, killed_at=None):
        super().__init__(world, name, command, folder, ["data", "inspect", folder])
        self.killed_at = killed_at
        self.files = self.contents(world.trial)
        assert sum(name.endswith(".bin") for name in self.files) > 5

    def begin(self, world, here):
        return self.killed_at and world.program(self.command, here, fault=self.killed_at)

    def contents(self, here):
        return {path.name: path.read_bytes() for path in (here / self.folder).iterdir()}

    def check(self, world, here, fault):
        kept = finished_shards(here / (self.folder + ".partial"))
        wrong = super().check(world, here, fault)
        if wrong:
            return wrong
        if self.contents(here) != self.files:
            return "went on to another data set"
        for name, written in kept.items():
            if identity(here / self.folder / name) != written:
                return f"made {name} again, which was finished"
        return ""


def identity(path):
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def finished_shards(partial):
    """Those that the journal of a killed preparation names."""
    journal = partial / "preparation.json"
    if not journal.exists():
        return {}
    state = json.loads(journal.read_text())["state"]
    if "pairs" in state:
        shards = {f"train-{side}": state["so_far"][side]["shards"] for side in ("source", "target")}
    else:
        shards = {split: of_split["so_far"]["shards"] for split, of_split in state.items()}
    return {name: identity(partial / name) for split, checksums in shards.items()
            for name in (f"{split}-{number:05}.bin" for number in range(len(checksums)))}


class Export:
    name, command = "export", EXPORT

    def __init__(self, world):
        here = world.fresh()
        world.program.checked(EXPORT, here)
        self.files = {path.name: path.read_bytes() for path in (here / "new-export").iterdir()}

    def is_whole(self, here):
        return {path.name: path.read_bytes()
                for path in (here / "new-export").iterdir()} == self.files

    def check(self, world, here, fault):
        folder = here / "new-export"
        if folder.exists():
            if not self.is_whole(here):
                return "half an export"
            for path in folder.iterdir():
                path.unlink()
        again = world.program(EXPORT, here)
        if again.code != 0 or not self.is_whole(here):
            return "cannot be done again: " + again.errors
        left = litter(here, "new-export")
        return f"left {left}" if left else ""


class Training:
    def __init__(self, world, name, command, run):
        self.name, self.command, self.run = name, command, run
        here = world.fresh()
        world.program.checked(command, here)
        self.weights, self.losses = weights(here / "runs" / run), losses(here / "runs" / run)

    def check(self, world, here, fault):
        run = here / "runs" / self.run
        flags = ["--resume"] if (run / "config.yaml").exists() else []
        command = self.command if "--resume" in self.command else self.command + flags
        again = world.program(command, here)
        if again.code != 0:
            return "cannot go on: " + again.errors
        if weights(run) != self.weights or losses(run) != self.losses:
            return "went on with other numbers"
        left = [path.name for path in (run / "checkpoints").iterdir()
                if path.suffix in (".partial", ".damaged")]
        return f"left {left}" if left else ""


class Overwriting:
    """A training that takes the place of another: the old checkpoints stay until it has begun."""

    name, command = "train --overwrite", OVERWRITE
    places = ("", ".previous", ".previous.partial")

    def __init__(self, world):
        here = world.fresh()
        run = here / "runs/whole"
        self.old = last_checkpoint(run).joinpath("model.safetensors").read_bytes()
        world.program.checked(self.command, here)
        self.new = weights(run)

    def check(self, world, here, fault):
        run = here / "runs/whole"
        kept = [path for place in self.places
                for path in (run / place / "checkpoints").glob("step-*/model.safetensors")
                if path.read_bytes() == self.old]
        # Its first step is told by its first line of metrics, or by a moment before that.
        begun = (run / "config.yaml").exists() and "seed: 2" in (run / "config.yaml").read_text()
        if not kept and not begun:
            return "the old run is gone and there is no new one"
        again = world.program(self.command, here)
        if again.code != 0 or weights(run) != self.new:
            return "cannot be done again: " + again.errors
        left = [name for name in (".previous", ".previous.partial", ".outdated")
                if (run / name).exists()]
        return f"left {left}" if left else ""


class Removal:
    """A run that is being removed is whole or gone."""

    name, command = "runs remove", ["runs", "remove", "runs/whole", "--yes"]

    def __init__(self, world):
        self.old = last_checkpoint(world.pristine / "runs/whole") / "model.safetensors"

    def check(self, world, here, fault):
        run = here / "runs/whole"
        listed = world.program(["runs", "list"], here)
        if listed.code != 0:
            return "cannot be listed: " + listed.errors
        if (run / "config.yaml").exists():
            kept = run / self.old.relative_to(world.pristine / "runs/whole")
            if not kept.exists() or kept.read_bytes() != self.old.read_bytes():
                return "half a run"
        left = [path.name for path in run.iterdir()] if run.exists() else []
        if left in ([], [".lock"]):
            return ""
        again = world.program(self.command, here)
        if again.code != 0:
            return "cannot be done again: " + again.errors
        return "left the folder" if run.exists() else ""


def subjects(world):
    # Also killed when some of its shards were finished, and while it goes on.
    for name, command, folder in (("data prepare", PREPARE, "data"),
                                  ("data prepare of pairs", PREPARE_PAIRS, "pairs")):
        yield Preparation(world, name, command, folder)
        yield Preparation(world, name + ", begun", command, folder, Fault("kill", CALLS, 27))
    yield Replacement(world, "tokenizer train", TRAIN_TOKENIZER, "tokenizer",
                      ["tokenizer", "info", "tokenizer"])
    yield Export(world)
    yield Training(world, "train", TRAIN, "new")
    yield Training(world, "train --resume", RESUME, "whole")
    yield Overwriting(world)
    yield Removal(world)


def fresh_for(subject, world):
    """A copy of the world, in which the command was begun where the subject says so."""
    here = world.fresh()
    if hasattr(subject, "begin"):
        subject.begin(world, here)
    return here


def trials(world):
    """(name, trial) for each call of each command; a trial returns (outcome, what was wrong)."""
    for subject in subjects(world):
        count = world.folder / "count"
        for exchange in (True, False):
            if not exchange and not isinstance(subject, Replacement):
                continue
            fault = Fault("kill", CALLS, 0, exchange)
            world.program.checked(subject.command, fresh_for(subject, world), fault=fault,
                                  count=count)
            for at in range(1, int(count.read_text()) + 1):
                for action in ("kill", "killed"):
                    yield trial_of(world, subject, Fault(action, CALLS, at, exchange))


def trial_of(world, subject, fault):
    def trial():
        here = fresh_for(subject, world)
        outcome = world.program(subject.command, here, fault=fault)
        if not killed(outcome):
            return "not reached", ""
        wrong = subject.check(world, here, fault)
        return ("broken", wrong) if wrong else ("recovered", "")

    beside = "" if fault.exchange else " (no exchange)"
    return f"kill: {subject.name}{beside}", f"{fault.action} at call {fault.at}", trial
