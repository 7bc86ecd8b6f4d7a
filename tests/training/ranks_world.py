"""Starts the processes of one training as torchrun does, and the small data sets that they train on."""

import json
import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path


def free_port():
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return chosen.getsockname()[1]


def start(command, ranks, folder, own=None, environment=None):
    """The processes, each with its output in FOLDER/out-RANK.txt; own[rank]: words for one of them."""
    port = free_port()
    processes = []
    for rank in range(ranks):
        variables = dict(os.environ, **(environment or {}))
        if ranks > 1:
            variables.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                             LOCAL_WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1",
                             MASTER_PORT=str(port))
        with open(Path(folder) / f"out-{rank}.txt", "w") as output:
            words = [str(word) for word in (*command, *(own or {}).get(rank, ()))]
            processes.append(subprocess.Popen(words, cwd=folder, env=variables, stdout=output,
                                              stderr=subprocess.STDOUT))
    return processes


def output_of(folder, rank):
    return (Path(folder) / f"out-{rank}.txt").read_text()


class World:
    """A folder with data for each task, and trainings in it."""

    def __init__(self, roformer, folder, steps=50):
        self.steps = steps  # of a training whose check does not say how many
        self.roformer = Path(roformer).resolve()
        self.folder = Path(folder)
        chooser = random.Random(5)
        words = "the rotary position of a word turns its query and key so that distance decides".split()
        with open(self.folder / "text.txt", "w") as text:
            for _ in range(300):
                text.write(" ".join(chooser.choice(words) for _ in range(40)) + "\n\n")
        self.run("data", "prepare", "text.txt", "--bytes", "--output", "text")
        glue = self.folder / "glue" / "SST-2"
        glue.mkdir(parents=True)
        for split in ("train", "dev"):
            with open(glue / f"{split}.tsv", "w") as rows:
                rows.write("sentence\tlabel\n")
                for _ in range(80):
                    sentence = [chooser.choice(words) for _ in range(chooser.randint(2, 9))]
                    rows.write(" ".join(sentence) + f"\t{int('query' in sentence)}\n")
        vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + sorted(set(words))
        (self.folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
        matching = self.folder / "matching"
        matching.mkdir()
        for split, count in (("train", 120), ("validation", 40), ("test", 40)):
            with open(matching / f"{split}.jsonl", "w") as rows:
                for _ in range(count):
                    texts = [[chooser.choice(words) for _ in range(chooser.randint(2, 7))]
                             for _ in range(3)]
                    texts[1][0] = texts[0][0]  # the closer one begins alike
                    rows.write(json.dumps(dict(zip("ABC", map(" ".join, texts)))) + "\n")
        for name, count in (("train", 300), ("validation", 20)):
            sources = [" ".join(chooser.choice(words) for _ in range(chooser.randint(1, 4)))
                       for _ in range(count)]
            (self.folder / f"{name}.en").write_text("\n".join(sources) + "\n")
            (self.folder / f"{name}.de").write_text("\n".join(s[::-1] for s in sources) + "\n")
        self.run("data", "prepare", "train.en", "train.de", "--languages", "en,de", "--validation",
                 "validation.en", "validation.de", "--bytes", "--output", "pairs")
        with open(self.folder / "alike.tsv", "w") as rows:
            rows.write("sentence1\tsentence2\n")
            for _ in range(120):
                sentence = [chooser.choice(words) for _ in range(chooser.randint(2, 9))]
                rows.write(" ".join(sentence) + "\t" + " ".join(sentence[::-1]) + "\n")
        with open(self.folder / "tagged.conll", "w") as rows:
            for _ in range(120):
                sentence = [chooser.choice(words) for _ in range(chooser.randint(1, 9))]
                rows.write("".join(f"{word}\t{'B-KEY' if word in ('query', 'key') else 'O'}\n"
                                   for word in sentence) + "\n")

    def run(self, *words):
        done = subprocess.run([str(self.roformer), *map(str, words)], cwd=self.folder,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"roformer {' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def config(self, task, **keys):
        """Writes a configuration and returns its path."""
        values = {
            "task": task, "threads": 1, "data.length": 32, "model.layers": 2, "model.width": 32,
            "model.heads": 2, "model.feed_forward": 64, "model.dropout": 0, "training.steps": self.steps,
            "training.batch": 8, "training.log_every": 1,
            "training.validate_every": min(20, self.steps // 2),
            "training.save_every": min(20, self.steps // 2), "training.precision": "fp32", "distributed.timeout": 20,
        }
        if task == "glue":
            values.update({"data.directory": "glue", "glue.task": "sst2", "glue.head_dropout": 0,
                           "tokenizer.file": "vocab.txt"})
        elif task == "matching":
            values.update({"data.directory": "matching", "matching.head_dropout": 0,
                           "tokenizer.file": "vocab.txt"})
        elif task == "tagging":
            values.update({"data.train": "tagged.conll", "data.validation_fraction": 0.2,
                           "tagging.head_dropout": 0, "tokenizer.file": "vocab.txt"})
        elif task == "embedding":
            values.update({"data.train": "alike.tsv", "data.validation_fraction": 0.2, "tokenizer.file": "vocab.txt"})
        elif task == "probe":
            values.update({"probe.longest": 1, "probe.examples": 40, "data.length": 64})
        elif task == "translation":
            values.update({"data.directory": "pairs", "decoding.beam": 2, "data.length": 64})
        else:
            values.update({"data.directory": "text", "data.validation_tokens": 2000})
        values.update({name.replace("__", "."): value for name, value in keys.items()})
        sections = {}
        for name, value in values.items():
            *path, last = name.split(".")
            place = sections
            for part in path:
                place = place.setdefault(part, {})
            place[last] = value
        path = self.folder / f"{task}.yaml"
        path.write_text(json.dumps(sections))  # which is YAML
        return path

    def train(self, config, run, ranks, *flags, code=0):
        """Trains to the end and returns the lines of metrics."""
        processes = start([self.roformer, "train", config, "--run", run, *flags], ranks, self.folder)
        codes = [process.wait(timeout=300) for process in processes]
        if codes != [code] * ranks:
            texts = "\n".join(output_of(self.folder, rank) for rank in range(ranks))
            raise SystemExit(f"{run}: exit codes {codes}\n{texts}")
        return self.metrics(run)

    def fail(self, config, run, ranks, own, *flags):
        """Starts what must be refused, and returns what the processes said."""
        command = [self.roformer, "train", config, "--run", run, *flags]
        processes = start(command, ranks, self.folder, own)
        codes = [process.wait(timeout=120) for process in processes]
        texts = "\n".join(output_of(self.folder, rank) for rank in range(ranks))
        assert 0 not in codes, (codes, texts)
        return texts

    def stop_after(self, config, run, ranks, step, *flags):
        """Stops a training by SIGTERM to all once it is there, and returns the step it saved."""
        processes = start([self.roformer, "train", config, "--run", run, *flags], ranks, self.folder)
        while not any(line["step"] >= step for line in self.lines_so_far(run)):
            assert all(process.poll() is None for process in processes), output_of(self.folder, 0)
            time.sleep(0.005)
        for process in processes:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(timeout=120) for process in processes]
        assert codes == [128 + signal.SIGTERM] * ranks, (codes, output_of(self.folder, 0))
        return json.loads((self.folder / "runs" / run / "summary.json").read_text())["steps"]

    def begun_before(self, run, change):
        """Gives the run the record of a program in which each process had a batch, and changes its configuration."""
        path = self.folder / "runs" / run
        record = json.loads((path / "run.json").read_text())
        del record["batch_of"], record["checksum"]
        (path / "run.json").write_text(json.dumps(record))
        seal, config = (path / "config.yaml").read_text().split("\n", 1)
        assert seal.startswith("#"), seal
        (path / "config.yaml").write_text(change(config))

    def lines_so_far(self, run):
        path = self.folder / "runs" / run / "metrics.jsonl"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().split("\n")[:-1]]

    def last(self, run, file):
        """The bytes of a file of the last checkpoint."""
        return max((self.folder / "runs" / run / "checkpoints").glob("step-*"), key=str).joinpath(
            file).read_bytes()

    def metrics(self, run):
        path = self.folder / "runs" / run / "metrics.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]


TIMES = ("minutes", "tokens_per_s", "step_ms", "loader_wait_ms", "loader_share")


def figures(lines):
    """What must be equal between two runs: no times."""
    return [{key: value for key, value in line.items() if key not in TIMES} for line in lines]


def largest_difference(left, right, names):
    worst = 0.0
    assert len(left) == len(right), (len(left), len(right))
    for a, b in zip(left, right):
        assert a["kind"] == b["kind"] and a["step"] == b["step"], (a, b)
        for name in names:
            if name in a:
                worst = max(worst, abs(a[name] - b[name]))
    return worst
