"""A file system without locks (Lustre, some NFS servers, some containers): every command that takes
one does its work as elsewhere, and says once that it has none."""

import errno

from world import Fault
import kills

NONE = ("ENOSYS", "ENOLCK", "ENOTSUP")


def trials(world):
    for subject in kills.subjects(world):
        for name in NONE:
            yield trial_of(world, subject, name)


def trial_of(world, subject, name):
    def trial():
        here = kills.fresh_for(subject, world)
        fault = Fault("kill", "none", 0, flock=getattr(errno, name))
        outcome = world.program(subject.command, here, fault=fault)
        if outcome.code != 0:
            return "broken", f"code {outcome.code}: {outcome.errors}"
        if outcome.errors.count("this file system has no locks") != 1:
            return "broken", f"does not say once that there are no locks: {outcome.errors}"
        wrong = subject.check(world, here, fault)
        return ("broken", wrong) if wrong else ("harmless", "")

    return "no locks", f"{name}: {subject.name}", trial
