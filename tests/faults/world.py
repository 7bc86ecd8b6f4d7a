"""What the campaign works on: the program, run with or without a fault, and a small world of a data
set, a tokenizer, a run and an export that every trial gets a fresh copy of."""

import dataclasses
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess

STEPS = 12
LONGER = 16

CONFIG = """\
task: mlm
threads: 1
data: {directory: data, length: 32, validation_tokens: 500, loader_threads: 0}
model: {layers: 1, width: 16, heads: 2, feed_forward: 32, dropout: 0.1}
training:
  steps: %d
  schedule: constant  # so that a longer training repeats the steps of a shorter one
  batch: 4
  log_every: 1
  validate_every: 6
  save_every: 4
  keep_last: 2
  precision: fp32
""" % STEPS


@dataclasses.dataclass
class Fault:
    action: str
    calls: str
    at: int = 1
    exchange: bool = True  # the file system can exchange two folders
    flock: int = 0  # the error of a file system that has no locks


@dataclasses.dataclass
class Outcome:
    code: int  # negative: the signal that ended it
    output: str
    errors: str

    def is_refusal(self):
        """One clear line and an exit code; more lines only before the last (progress, warnings)."""
        lines = self.errors.strip().splitlines()
        return self.code in (1, 2) and bool(lines) and lines[-1].startswith("error: ")


def peak_of_children():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


class Program:
    def __init__(self, path, preload):
        self.path = str(pathlib.Path(path).resolve())
        self.preload = str(pathlib.Path(preload).resolve())
        self.runs = 0

    def __call__(self, arguments, folder, fault=None, count=None, stdin="", output=None, memory=0,
                 seconds=120):
        """`count`: a file that gets the number of calls. `output`: a file for standard output.
        `memory`: bytes that the process may have resident. `seconds`: after which it hangs."""
        self.runs += 1
        environment = dict(os.environ, OMP_NUM_THREADS="1", LC_ALL="C")
        if fault is not None:
            environment.update(LD_PRELOAD=self.preload, FAULT_CALLS=fault.calls,
                               FAULT_AT=str(fault.at), FAULT_ACTION=fault.action)
            if not fault.exchange:
                environment["FAULT_NO_EXCHANGE"] = "1"
            if fault.flock:
                environment["FAULT_FLOCK"] = str(fault.flock)
            if count is not None:
                environment["FAULT_COUNT"] = str(count)
        target = open(output, "w") if output else subprocess.PIPE
        peak_before = peak_of_children()
        process = subprocess.Popen([self.path, *arguments], cwd=folder, env=environment,
                                   stdin=subprocess.PIPE, stdout=target, stderr=subprocess.PIPE,
                                   text=True, errors="replace")
        try:
            printed, errors = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            printed, errors = process.communicate()
            errors += "\nhangs\n"
        if output:
            target.close()
        # The system tells the largest of all that have run: one that takes too much is told once.
        if memory and peak_of_children() > max(memory, peak_before):
            errors += "\ntakes too much memory\n"
        return Outcome(process.returncode, printed or "", errors)

    def checked(self, arguments, folder, **options):
        outcome = self(arguments, folder, **options)
        if outcome.code != 0:
            raise RuntimeError(f"roformer {' '.join(arguments)}: {outcome.errors}")
        return outcome


def text_of(seed, documents):
    chooser = random.Random(seed)
    words = "the rotary position of a word turns its query and key so that distance decides".split()
    return "".join(" ".join(chooser.choices(words, k=30)) + "\n\n" for _ in range(documents))


def pairs_of(seed, count):
    """Sentences with their translations; some are too long for the rules."""
    chooser = random.Random(seed)
    words = "the rotary position of a word turns its query and key so that distance decides".split()
    lines = (" ".join(chooser.choices(words, k=chooser.choice((3, 4, 5, 20)))) for _ in range(count))
    return "".join(f"{line}\t{' '.join(reversed(line.split()))}\n" for line in lines)


TRAIN_TOKENIZER = ["tokenizer", "train", "other.txt", "--kind", "characters", "--output",
                   "tokenizer", "--overwrite"]
PREPARE = ["data", "prepare", "other.txt", "--tokenizer", "letters", "--output", "data",
           "--overwrite", "--threads", "1", "--shard-tokens", "1500"]
PREPARE_PAIRS = ["data", "prepare", "other.tsv", "--languages", "en,de", "--tokenizer", "letters",
                 "--output", "pairs", "--overwrite", "--validation-fraction", "0.2", "--threads", "1",
                 "--longest-pieces", "60", "--shard-tokens", "1000"]
EXPORT = ["export", "runs/whole", "new-export"]
TRAIN = ["train", "run.yaml", "--run", "new"]
OVERWRITE = ["train", "run.yaml", "--run", "whole", "--overwrite", "--seed", "2"]
RESUME = ["train", "run.yaml", "--run", "whole", "--resume", "--training.steps", str(LONGER)]


class World:
    """A folder with text.txt, other.txt, other.tsv, letters/ and tokenizer/, data/, pairs/,
    runs/whole, run.yaml."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.trial = self.folder / "trial"
        self.pristine = self.folder / "pristine"
        self.pristine.mkdir()
        here = self.pristine
        (here / "text.txt").write_text(text_of(1, 60))
        (here / "other.txt").write_text(text_of(2, 50) + "zest\n\n" * 5)
        (here / "text.tsv").write_text(pairs_of(1, 60))
        (here / "other.tsv").write_text(pairs_of(2, 400))
        (here / "run.yaml").write_text(CONFIG)
        program.checked(["tokenizer", "train", "text.txt", "--kind", "characters", "--output",
                         "tokenizer"], here)
        program.checked(["tokenizer", "train", "text.txt", "other.txt", "--kind", "characters",
                         "--output", "letters"], here)
        program.checked(["data", "prepare", "text.txt", "--tokenizer", "letters", "--output",
                         "data", "--threads", "1"], here)
        program.checked(["data", "prepare", "text.tsv", "--languages", "en,de", "--tokenizer",
                         "letters", "--output", "pairs", "--validation-fraction", "0.2"], here)
        program.checked(["train", "run.yaml", "--run", "whole"], here)

    def fresh(self):
        if self.trial.exists():
            shutil.rmtree(self.trial)
        shutil.copytree(self.pristine, self.trial, symlinks=True)
        return self.trial


def last_checkpoint(run):
    return sorted((run / "checkpoints").glob("step-????????"))[-1]


def weights(run):
    checkpoint = last_checkpoint(run)
    return (checkpoint.name, (checkpoint / "model.safetensors").read_bytes(),
            (checkpoint / "optimizer.safetensors").read_bytes())


def losses(run):
    """The lasting figures of metrics.jsonl: times and speeds differ of course."""
    passing = {"minutes", "tokens_per_s", "step_ms", "loader_wait_ms", "loader_share"}
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [{key: value for key, value in json.loads(line).items() if key not in passing}
            for line in lines]


def killed(outcome):
    return outcome.code == -signal.SIGKILL
