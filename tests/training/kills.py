#!/usr/bin/env python3
"""Processes of one training are killed, stopped and asked to leave at random moments: the others end
within the timeout and name it, the last whole checkpoint stays, and a restart goes on to the same
losses.

  kills.py ROFORMER [--seed S] [--rounds N] [--ranks N,N] [CHECK...]"""

import argparse
import os
import random
import signal
import socket
import subprocess
import tempfile
import time

from ranks_world import World, figures, output_of, start

TIMEOUT = 4  # seconds: distributed.timeout of these trainings
GRACE = 8    # for noticing, naming and leaving


def wait_for(processes, seconds):
    """The exit codes; fails where one still runs."""
    end = time.monotonic() + seconds
    while any(process.poll() is None for process in processes) and time.monotonic() < end:
        time.sleep(0.02)
    codes = [process.poll() for process in processes]
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()
    return codes


def lasting(lines):
    """By step and kind: a step done again after a restart stands once."""
    return {(line["step"], line["kind"]): line for line in figures(lines)}


def until_step(world, run, step, processes):
    while not any(line["step"] >= step for line in world.lines_so_far(run)):
        if any(process.poll() is not None for process in processes):
            return
        time.sleep(0.005)


def killed(world, chooser, options):
    """A random process dies at a random moment, and all are started again until the end."""
    config = world.config("mlm", training__batch=6, training__steps=60, training__save_every=5,
                          training__validate_every=20, distributed__timeout=TIMEOUT)
    rounds, killed_in_all = options.rounds, 0
    for ranks in options.ranks:
        whole = lasting(world.train(config, f"whole-{ranks}", ranks))
        run = f"killed-{ranks}"
        kills = 0
        for attempt in range(rounds + 1):
            processes = start([world.roformer, "train", config, "--run", run, "--resume", "auto"],
                              ranks, world.folder)
            if attempt == rounds:
                codes = wait_for(processes, 120)
                assert codes == [0] * ranks, (codes, output_of(world.folder, 0))
                break
            if attempt == 0:
                until_step(world, run, chooser.randint(1, 20), processes)
            else:
                time.sleep(chooser.uniform(0.2, 3))
            victim = chooser.randrange(ranks)
            if processes[victim].poll() is not None:
                codes = wait_for(processes, 120)
                assert codes == [0] * ranks, (codes, output_of(world.folder, 0))
                break
            processes[victim].kill()
            begun = time.monotonic()
            codes = wait_for(processes, TIMEOUT + GRACE)
            took = time.monotonic() - begun
            kills += 1
            for rank in range(ranks):
                if rank == victim or codes[rank] == 0:  # it had ended already
                    continue
                text = output_of(world.folder, rank)
                assert codes[rank] == 1, (rank, victim, codes, text)
                named = f"process {victim} on {socket.gethostname()}"
                early = f"{victim}" in text and "did not connect" in text or "cannot" in text
                assert named in text or early, (rank, victim, text)
            print(f"{run}: process {victim} killed, the others left after {took:.1f} s")
        assert kills > 0, run
        killed_in_all += kills
        again = lasting(world.metrics(run))
        assert again == whole, f"{run} differs from the training never stopped"
        print(f"{run}: {len(again)} lines equal after {kills} kills")
    print(f"{killed_in_all} processes killed, {killed_in_all} times all others left")


def stopped(world, chooser, options):
    """A process that hangs is found by its silence."""
    config = world.config("mlm", training__batch=6, training__steps=5000, distributed__timeout=TIMEOUT)
    for ranks, victim in ((2, 1), (2, 0), (3, 2)):
        run = f"stopped-{ranks}-{victim}"
        processes = start([world.roformer, "train", config, "--run", run], ranks, world.folder)
        until_step(world, run, chooser.randint(2, 10), processes)
        processes[victim].send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        others = [process for rank, process in enumerate(processes) if rank != victim]
        codes = wait_for(others, TIMEOUT + GRACE)
        took = time.monotonic() - begun
        processes[victim].kill()
        processes[victim].wait()
        for rank in range(ranks):
            if rank != victim:
                text = output_of(world.folder, rank)
                assert f"process {victim} on {socket.gethostname()}" in text, (rank, text)
        assert codes == [1] * (ranks - 1), codes
        print(f"{run}: silent process {victim} named after {took:.1f} s")


def asked(world, chooser, options):
    """SIGTERM to all, or to one alone: all save the same step once and leave."""
    config = world.config("mlm", training__steps=5000, training__save_every=0,
                          distributed__timeout=TIMEOUT)
    for receivers in ((0, 1), (1,), (0,)):
        run = "asked-" + "-".join(map(str, receivers))
        processes = start([world.roformer, "train", config, "--run", run], 2, world.folder)
        until_step(world, run, chooser.randint(2, 10), processes)
        for rank in receivers:
            processes[rank].send_signal(signal.SIGTERM)
        codes = wait_for(processes, TIMEOUT + GRACE)
        assert codes == [128 + signal.SIGTERM] * 2, (codes, output_of(world.folder, 0))
        checkpoints = list((world.folder / "runs" / run / "checkpoints").iterdir())
        assert len(checkpoints) == 1, checkpoints
        last = world.metrics(run)[-1]["step"]
        assert checkpoints[0].name == f"step-{last:08}" or last <= int(checkpoints[0].name[5:])
        print(f"{run}: saved {checkpoints[0].name} once")


def held(world, chooser, options):
    """A second job on the same run is refused while the first goes on."""
    config = world.config("mlm", training__steps=5000, distributed__timeout=TIMEOUT)
    processes = start([world.roformer, "train", config, "--run", "held"], 2, world.folder)
    until_step(world, "held", 2, processes)
    second = subprocess.run([str(world.roformer), "train", str(config), "--run", "held", "--resume"],
                            cwd=world.folder, capture_output=True, text=True)
    assert second.returncode == 1 and "is in use by another process" in second.stderr, second.stderr
    assert socket.gethostname() in second.stderr, second.stderr
    for process in processes:
        process.send_signal(signal.SIGTERM)
    assert wait_for(processes, TIMEOUT + GRACE) == [128 + signal.SIGTERM] * 2
    print("held: a second job was refused")


def suspended(world, chooser, options):
    """All processes stop together for longer than the timeout and go on: nobody was silent."""
    config = world.config("mlm", training__batch=6, training__steps=100000, training__save_every=0,
                          training__validate_every=0, training__log_every=100,
                          distributed__timeout=1.5)
    processes = start([world.roformer, "train", config, "--run", "suspended"], 3, world.folder)
    until_step(world, "suspended", 100, processes)
    for number in range(options.rounds + 2):
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        for process in processes:
            process.send_signal(signal.SIGCONT)
        time.sleep(chooser.uniform(0.5, 1.5))
        codes = [process.poll() for process in processes]
        assert codes == [None] * 3, (number, codes, [output_of(world.folder, r) for r in range(3)])
    for process in processes:
        process.send_signal(signal.SIGTERM)
    codes = wait_for(processes, TIMEOUT + GRACE)
    assert codes == [128 + signal.SIGTERM] * 3, (codes, output_of(world.folder, 0))
    print(f"suspended: went on {options.rounds + 2} times")


def connecting(world, chooser, options):
    """A process that dies while all connect, a few milliseconds after its first thread, holds
    nobody up."""
    config = world.config("mlm", training__steps=5000, distributed__timeout=TIMEOUT)
    for number in range(3 * options.rounds):
        processes = start([world.roformer, "train", config, "--run", f"early-{number}"], 2, world.folder)
        threads = f"/proc/{processes[1].pid}/task"
        while len(os.listdir(threads)) < 2:
            pass
        time.sleep(chooser.uniform(0, 0.005))
        processes[1].kill()
        begun = time.monotonic()
        codes = wait_for(processes[:1], TIMEOUT + GRACE)
        text = output_of(world.folder, 0)
        assert codes == [1] and "error: " in text, (number, codes, text)
        print(f"connecting: process 1 killed, the other left after {time.monotonic() - begun:.1f} s")


CHECKS = (killed, stopped, asked, held, suspended, connecting)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roformer")
    parser.add_argument("checks", nargs="*", metavar="CHECK")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--rounds", type=int, default=4, help="kills of a training")
    parser.add_argument("--ranks", default="2,3", type=lambda text: [int(n) for n in text.split(",")],
                        help="processes of the trainings that are killed")
    options = parser.parse_args()
    print("seed", options.seed)
    chooser = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        world = World(options.roformer, folder)
        for check in CHECKS:
            if not options.checks or check.__name__ in options.checks:
                check(world, chooser, options)


if __name__ == "__main__":
    main()
