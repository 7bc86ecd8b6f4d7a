"""Folders from a stranger: nothing in them names a file outside, or takes more memory or stack than
its own size is worth. Every one is refused in one line."""

import gzip
import json
import os
import struct

from world import last_checkpoint

MEMORY = 1 << 30
HUGE = 1 << 60


def edit_json(path, change):
    document = json.loads(path.read_text())
    document.pop("checksum", None)
    change(document)
    path.write_text(json.dumps(document))


def remove_manifest(checkpoint):
    (checkpoint / "manifest.json").unlink(missing_ok=True)


def deep(path):
    path.write_text("[" * 200_000)


def deep_object(path):
    path.write_text('{"format":' * 100_000)


def with_header(path, header, length=None):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text)


def cases(world):
    run, data = ["evaluate", "runs/whole"], ["data", "inspect", "data"]
    info, bring = ["tokenizer", "info", "tokenizer"], ["import", "export", "--run", "stranger"]

    def checkpoint_file(here, name):
        for checkpoint in (here / "runs/whole/checkpoints").iterdir():
            remove_manifest(checkpoint)
            yield checkpoint / name

    def each(name, change):
        def apply(here):
            for path in checkpoint_file(here, name):
                change(path)
        return apply

    def one(name, change):
        return lambda here: change(here / name)

    def manifest(name):
        def change(here):
            for checkpoint in (here / "runs/whole/checkpoints").iterdir():
                edit_json(checkpoint / "manifest.json",
                          lambda d: d["files"].__setitem__(name, {"bytes": 0, "xxh3": []}))
        return change

    tensor = {"dtype": "F32", "shape": [HUGE], "data_offsets": [0, 4 * HUGE]}
    for name, command in (("model.safetensors", run),):
        yield f"{name}: header of 2^60", command, each(name, lambda p: with_header(p, {}, HUGE))
        yield f"{name}: tensor of 2^60", command, each(name, lambda p: with_header(p, {"a": tensor}))
        yield f"{name}: deep", command, each(
            name, lambda p: p.write_bytes(struct.pack("<Q", 200_000) + b"[" * 200_000))
    yield "state.json: deep", ["train", "run.yaml", "--run", "whole", "--resume",
                               "--training.steps", "20"], each("state.json", deep)
    yield "state.json: deep objects", ["train", "run.yaml", "--run", "whole", "--resume",
                                       "--training.steps", "20"], each("state.json", deep_object)
    for outside in ("../../../../text.txt", "/etc/passwd", "..", "."):
        yield f"manifest.json names {outside}", run, manifest(outside)
        yield f"roformer.json names {outside}", info, one(
            "tokenizer/roformer.json",
            lambda p, outside=outside: edit_json(p, lambda d: d.__setitem__("file", outside)))

        def index(here, outside=outside):
            (here / "export/model.safetensors").unlink()
            (here / "export/manifest.json").unlink()
            (here / "export/model.safetensors.index.json").write_text(
                json.dumps({"weight_map": {"a": outside}}))
        yield f"index names {outside}", bring, index
    for name, command in (("tokenizer/roformer.json", info), ("tokenizer/characters.json", info),
                          ("data/dataset.json", data), ("export/config.json", bring)):
        yield f"{name}: deep", command, one(name, deep)
        yield f"{name}: deep objects", command, one(name, deep_object)
    yield "config.json: vocabulary of 2^60", bring, one(
        "export/config.json", lambda p: edit_json(p, lambda d: d.__setitem__("vocab_size", HUGE)))
    yield "config.json: 2^30 layers", bring, one(
        "export/config.json",
        lambda p: edit_json(p, lambda d: d.__setitem__("num_hidden_layers", 1 << 30)))

    def shard_claims(offset):
        def change(here):
            path = here / "data/train-00000.bin"
            contents = bytearray(path.read_bytes())
            contents[offset:offset + 8] = struct.pack("<Q", HUGE)
            path.write_bytes(contents)
        return change

    for offset, what in ((16, "vocabulary"), (24, "tokens"), (32, "documents")):
        yield f"shard: 2^60 {what}", data, shard_claims(offset)

    def link(here):
        path = here / "data/train-00000.bin"
        path.unlink()
        os.symlink("/etc/passwd", path)
    yield "shard: a link to /etc/passwd", data, link

    def device(here):
        path = here / "data/train-00000.bin"
        path.unlink()
        os.symlink("/dev/zero", path)
    yield "shard: a link to /dev/zero", data, device

    def endless(here):
        for path in checkpoint_file(here, "state.json"):
            path.unlink()
            os.symlink("/dev/zero", path)
    yield "state.json: a link to /dev/zero", ["train", "run.yaml", "--run", "whole", "--resume",
                                              "--training.steps", "20"], endless

    # Ten levels of ten aliases each stand for 10^10 values.
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]\n" for i in range(10))
    for section in ("training", "matrix", "study"):
        yield f"config.yaml: a bomb of aliases in {section}", ["config", "check", "run.yaml"], one(
            "run.yaml", lambda p, section=section: p.write_text(bomb + f"{section}: *a10\n"))
    yield "config.yaml: a list that holds itself", ["config", "check", "run.yaml"], one(
        "run.yaml", lambda p: p.write_text("stages: &a [*a, {steps: &b [*b]}]\n"))
    # Each key of the matrix doubles the rows.
    doubled = "".join(f"  {key}: [1, 2]\n" for key in (
        "model.layers", "model.heads", "model.width", "model.feed_forward", "model.dropout",
        "data.length", "data.validation_tokens", "data.loader_threads", "seed", "threads",
        "training.steps", "training.batch", "training.accumulation", "training.warmup",
        "training.learning_rate", "training.weight_decay", "training.beta1", "training.beta2",
        "training.log_every", "training.save_every", "training.validate_every",
        "training.keep_last", "training.label_smoothing", "decoding.beam", "glue.head_dropout",
        "matching.margin", "data.masking.probability", "model.norm_epsilon", "attention.dropout",
        "model.initialization", "attention.window", "model.embedding_scale", "runs"))
    yield "study.yaml: 2^32 rows", ["study", "run.yaml", "--dry-run"], one(
        "run.yaml", lambda p: p.write_text("study: {reference: x}\nmatrix:\n" + doubled))
    for key in ("name", "trainings"):
        yield f"study.yaml: {key} outside of runs", ["study", "run.yaml"], one(
            "run.yaml", lambda p, key=key: p.write_text(
                p.read_text() + f"study: {{{key}: ../outside}}\nmatrix: {{seed: [1]}}\n"))
    yield "config.yaml: extends a file that is none", ["config", "check", "run.yaml"], one(
        "run.yaml", lambda p: p.write_text("extends: /etc/passwd\n"))

    pairs = ["data", "prepare", "stranger.tmx", "--languages", "en,de", "--pieces", "50", "--output",
             "stranger"]
    unit = ('<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>x</seg></tuv></tu>')
    for name, declaration in (
            ("an external entity", '<!ENTITY e SYSTEM "file:///etc/passwd">'),
            ("an external parameter entity", '<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;'),
            ("entities that double 40 times", '<!ENTITY e0 "aaaaaaaa">' + "".join(
                f'<!ENTITY e{i + 1} "&e{i};&e{i};">' for i in range(40)) + '<!ENTITY e "&e40;">')):
        text = (f'<?xml version="1.0"?><!DOCTYPE tmx [{declaration}]><tmx version="1.4"><body>'
                + unit.format("&e;") + "</body></tmx>")
        yield f"TMX: {name}", pairs, one("stranger.tmx", lambda p, text=text: p.write_text(text))

    attributes = " ".join(f'a{i}="1"' for i in range(100_000))
    yield "TMX: a tag of 100,000 attributes", pairs, one("stranger.tmx", lambda p: p.write_text(
        f"<tmx><body><tu {attributes}>{unit.format('x')[4:]}</body></tmx>"))

    def secret(here):
        (here / "stranger-corpus").mkdir()
        os.symlink("/etc/passwd", here / "stranger-corpus" / "a.txt")
        os.symlink("/etc", here / "stranger-corpus" / "b")
    yield "corpus: links to /etc", ["data", "prepare", "stranger-corpus", "--bytes", "--output",
                                    "stranger"], secret

    # A megabyte of gzip that is a gigabyte of zeros: refused at its first block. The limit of what is
    # read as text is the disk that its tokens take.
    def zeros(here):
        with gzip.open(here / "bomb.gz", "wb", compresslevel=1) as file:
            for _ in range(64):
                file.write(bytes(1 << 20))
    yield "a gzip bomb of zeros", ["data", "prepare", "bomb.gz", "--bytes", "--output",
                                   "stranger"], zeros

    yaml = "a: " + "[" * 100_000
    yield "config.yaml: deep", ["config", "check", "run.yaml"], one(
        "run.yaml", lambda p: p.write_text(yaml))
    yield "config.yaml: deep by indentation", ["config", "check", "run.yaml"], one(
        "run.yaml", lambda p: p.write_text("- " * 100_000))


def trials(world):
    if not (world.pristine / "export").exists():
        world.program.checked(["export", "runs/whole", "export"], world.pristine)
    for name, command, change in cases(world):
        yield trial_of(world, name, command, change)


def trial_of(world, name, command, change):
    def trial():
        here = world.fresh()
        change(here)
        outcome = world.program(command, here, memory=MEMORY)
        if "root:" in outcome.output + outcome.errors:
            return "broken", "shows a file of the machine"
        if outcome.is_refusal():
            return "detected", ""
        return "broken", f"code {outcome.code}: {outcome.errors[-500:]}"

    return "stranger", name, trial
