"""One bit of one file is flipped, or the file is cut. What reads the file says so, or gets by with
the one before, or does what it did with the whole file: never something else without a word."""

from world import LONGER, RESUME, TRAIN, last_checkpoint, weights

READERS = {}


def evaluate(world, here):
    outcome = world.program(["evaluate", "runs/whole", "--json"], here)
    return outcome, outcome.output


def resume(world, here):
    outcome = world.program(RESUME, here)
    return outcome, outcome.code == 0 and weights(here / "runs" / "whole")


def train(world, here):
    outcome = world.program(TRAIN, here)
    return outcome, outcome.code == 0 and weights(here / "runs" / "new")


def inspect(world, here):
    outcome = world.program(["data", "inspect", "data"], here)
    return outcome, outcome.output


def encode(world, here):
    outcome = world.program(["tokenizer", "encode", "tokenizer"], here, stdin="the rotary word\n")
    return outcome, outcome.output


def import_export(world, here):
    outcome = world.program(["import", "export", "--run", "imported"], here)
    if outcome.code != 0:
        return outcome, None
    checkpoint = last_checkpoint(here / "runs" / "imported")
    return outcome, [(checkpoint / name).read_bytes()
                     for name in ("model.safetensors", "characters.json")]


# The files that each reader stands for; metrics.jsonl and log.txt are for people and charts.
READERS = [
    ("evaluate", evaluate, ["runs/whole/checkpoints/BEST/*"]),
    ("train --resume", resume, ["runs/whole/checkpoints/LAST/*", "runs/whole/*.json",
                                "runs/whole/config.yaml"]),
    ("train", train, ["data/*"]),
    ("data inspect", inspect, ["data/*"]),
    ("tokenizer encode", encode, ["tokenizer/*"]),
    ("import", import_export, ["export/*.safetensors", "export/config.json",
                               "export/characters.json"]),
]


def files_of(world, patterns):
    checkpoints = sorted((world.pristine / "runs/whole/checkpoints").glob("step-????????"))
    for pattern in patterns:
        names = [path.name for path in checkpoints] if "BEST" in pattern else [checkpoints[-1].name]
        for name in names:
            where = pattern.replace("BEST", name).replace("LAST", name)
            for path in sorted(world.pristine.glob(where)):
                if path.is_file():
                    yield path.relative_to(world.pristine)


def damage(path, kind, chooser):
    contents = bytearray(path.read_bytes())
    if kind == "cut":
        size = chooser.randrange(len(contents))
        path.write_bytes(contents[:size])
        return f"cut to {size} of {len(contents)} bytes"
    byte, bit = chooser.randrange(len(contents)), chooser.randrange(8)
    contents[byte] ^= 1 << bit
    path.write_bytes(contents)
    return f"bit {bit} of byte {byte}"


def trials(world, chooser, rounds=40):
    if not (world.pristine / "export").exists():
        world.program.checked(["export", "runs/whole", "export"], world.pristine)
    for name, reader, patterns in READERS:
        outcome, wanted = reader(world, world.fresh())
        if outcome.code != 0:
            raise RuntimeError(f"{name} cannot read what is whole: {outcome.errors}")
        for path in files_of(world, patterns):
            if path.stat().st_size if path.is_absolute() else (world.pristine / path).stat().st_size:
                for kind in ["flip"] * rounds + ["cut"] * max(1, rounds // 5):
                    yield trial_of(world, chooser, (name, reader, wanted), path, kind)


def trial_of(world, chooser, subject, path, kind):
    name, reader, wanted = subject

    def trial():
        here = world.fresh()
        what = damage(here / path, kind, chooser)
        outcome, result = reader(world, here)
        if outcome.code != 0:
            good = outcome.is_refusal()
            return ("detected", "") if good else ("broken", f"{what}: {outcome.errors}")
        if result != wanted:
            return "silent", f"{what}: another result"
        told = "is damaged" in outcome.errors or "going back" in outcome.errors
        return ("recovered" if told else "harmless"), ""

    return f"{kind}: {name}", str(path), trial
