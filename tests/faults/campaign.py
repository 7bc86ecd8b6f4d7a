#!/usr/bin/env python3
"""Tries to make the program lose data or use damaged data without a word: kills, flipped bits, failing
calls and hostile files over every command that writes or reads. Prints how often each kind of trial
came out how, and every trial that came out wrong; exit code 1 where one did.

  campaign.py ROFORMER PRELOAD [--minutes M] [--seed S] [--only PART] [--every-stranger]

A trial is drawn at random from the kinds in turn, so that any length sees all kinds."""

import argparse
import collections
import itertools
import random
import sys
import tempfile
import time

import corpora
import errors
import flips
import kills
import links
import locks
import strangers
from world import Program, World

BAD = ("silent", "broken")
OUTCOMES = ("recovered", "detected", "harmless", "not reached") + BAD


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roformer")
    parser.add_argument("preload")
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="kinds whose name contains this")
    return parser.parse_args()


def all_trials(world, chooser):
    return itertools.chain(strangers.trials(world), links.trials(world), kills.trials(world),
                           flips.trials(world, chooser), corpora.trials(world, chooser),
                           errors.trials(world), locks.trials(world))


def in_turn(trials, chooser):
    """Trials in random order, the kinds in turn."""
    kinds = collections.defaultdict(list)
    for trial in trials:
        kinds[trial[0]].append(trial)
    for kind in kinds.values():
        chooser.shuffle(kind)
    while any(kinds.values()):
        for kind in kinds.values():
            if kind:
                yield kind.pop()


def main():
    options = parse_arguments()
    chooser = random.Random(options.seed)
    tally = collections.defaultdict(collections.Counter)
    wrong = []
    with tempfile.TemporaryDirectory(prefix="roformer-faults-") as folder:
        world = World(Program(options.roformer, options.preload), folder)
        trials = [trial for trial in all_trials(world, chooser) if options.only in trial[0]]
        end = time.monotonic() + 60 * options.minutes
        done = 0
        for kind, what, trial in in_turn(trials, chooser):
            if time.monotonic() > end:
                break
            outcome, message = trial()
            done += 1
            tally[kind][outcome] += 1
            if outcome in BAD:
                wrong.append(f"{outcome}: {kind}, {what}: {message.strip()}")
                print(wrong[-1], flush=True)
    width = max(map(len, tally), default=0)
    print(f"{'':{width}}  " + "  ".join(f"{name:>11}" for name in OUTCOMES))
    for kind, counts in tally.items():
        print(f"{kind:{width}}  " + "  ".join(f"{counts[name] or '':>11}" for name in OUTCOMES))
    print(f"{done} of {len(trials)} trials, seed {options.seed}: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
