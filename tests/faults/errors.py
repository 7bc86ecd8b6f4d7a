"""Calls that fail or do half: a full disk and a broken one end in one line and lose nothing that was
whole; interrupted and short reads and writes change nothing."""

from world import (EXPORT, Fault, PREPARE, RESUME, TRAIN, TRAIN_TOKENIZER, losses, weights)
import kills

PRINTING = [
    ["evaluate", "runs/whole", "--json"],
    ["evaluate", "runs/whole"],
    ["fill-mask", "runs/whole", "the rotary [MASK]"],
    ["data", "inspect", "data"],
    ["tokenizer", "info", "tokenizer"],
    ["tokenizer", "encode", "tokenizer"],
    ["config", "dump", "run.yaml"],
    ["config", "keys"],
    ["positions", "list"],
    ["positions", "show", "rope"],
    ["bench", "mlm", "--config", "run.yaml", "--model.vocabulary", "50", "--steps", "1", "--json"],
    ["doctor"],
    ["--help"],
    ["--version"],
]


def trials(world):
    count = world.folder / "count"
    for subject in kills.subjects(world):
        for action, calls in (("ENOSPC", "write,mkdir,open"), ("EIO", "write,fsync"),
                              ("EIO", "read"), ("EINTR", "read,write"), ("short", "read,write")):
            world.program.checked(subject.command, kills.fresh_for(subject, world),
                                  fault=Fault("kill", calls, 0), count=count)
            for at in range(1, int(count.read_text()) + 1):
                yield trial_of(world, subject, Fault(action, calls, at))
    for command in PRINTING:
        yield lost_output_of(world, command)


def trial_of(world, subject, fault):
    def trial():
        here = kills.fresh_for(subject, world)
        outcome = world.program(subject.command, here, fault=fault)
        if outcome.code == 0:
            # A log line or a chart may be lost; what was asked for may not.
            wrong = subject.check(world, here, fault)
            return ("broken", wrong) if wrong else ("harmless", "")
        if fault.action in ("EINTR", "short"):
            return "broken", f"fails: {outcome.errors}"
        if not outcome.is_refusal():
            return "broken", f"code {outcome.code}: {outcome.errors}"
        wrong = subject.check(world, here, fault)
        return ("broken", wrong) if wrong else ("detected", "")

    return (f"{fault.action} ({fault.calls}): {subject.name}", f"from call {fault.at}", trial)


def lost_output_of(world, command):
    def trial():
        outcome = world.program(command, world.fresh(), output="/dev/full", stdin="the word\n" * 99)
        good = outcome.code == 1 and "standard output" in outcome.errors
        return ("detected", "") if good else ("silent", f"code {outcome.code}: {outcome.errors}")

    return "full standard output", " ".join(command[:2]), trial
