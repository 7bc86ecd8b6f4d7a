#!/usr/bin/env python3
"""Makes the record of fine-tunings by `roformer train` and hf_glue_finetune.py, which scripts/audit checks.

usage: glue_record.py RUNS LINES.jsonl --what TEXT --recipe TEXT [--output glue_minilm.json]

RUNS holds a run TASK-SEED of `roformer train configs/glue/TASK.yaml` for each task and seed; LINES are the
peer's output. Both programs' figures are those of the last epoch. A difference is paired by seed, although the
programs draw different heads and orders from it: that costs power and makes no false finding.
"""
import argparse
import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from auditing.student import compare_paired, holm

# GLUE's figure of each task, which is tested, and a second one that the table shows.
FIGURES = {"MRPC": ("accuracy", "f1"), "RTE": ("accuracy", None), "STS-B": ("spearman", "pearson"),
           "CoLA": ("matthews", None), "SST-2": ("accuracy", None)}
TITLES = {"accuracy": "accuracy", "f1": "F1", "pearson": "Pearson", "spearman": "Spearman", "matthews": "Matthews"}


def our_runs(folder):
    for file in sorted(folder.glob("*/summary.json")):
        name, seed = file.parent.name.rsplit("-", 1)
        task = {"mrpc": "MRPC", "rte": "RTE", "stsb": "STS-B", "cola": "CoLA", "sst2": "SST-2"}[name]
        last = json.loads(file.read_text())["validations"][-1]["figures"]
        commit = json.loads((file.parent / "run.json").read_text())["commit"]
        yield task, int(seed), {key: last[key] for key in FIGURES[task] if key}, commit


def peer_runs(file):
    last = {}
    for line in map(json.loads, file.read_text().splitlines()):
        last[line["task"], line["seed"]] = line  # the last epoch's replaces the others
    for (task, seed), line in sorted(last.items()):
        yield task, seed, {key: line[key] / 100 for key in FIGURES[task] if key}, None


def column(title, key="", style="general", digits=4, alignment="right"):
    return {"title": title, "key": key, "unit": "", "alignment": alignment, "style": style, "digits": digits,
            "best": "none"}


def mean(values):
    if not values:
        return None
    deviation = statistics.stdev(values) if len(values) > 1 else 0
    return {"mean": statistics.fmean(values), "deviation": deviation, "count": len(values)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--what", required=True)
    parser.add_argument("--recipe", required=True)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("glue_minilm.json"))
    options = parser.parse_args()
    scores = {}  # (task, program) -> seed -> figures
    runs = []
    for program, found in (("roformer", our_runs(options.runs)), ("transformers", peer_runs(options.lines))):
        for task, seed, figures, commit in found:
            scores.setdefault((task, program), {})[seed] = figures
            runs.append({"name": f"{task}-{program}-seed{seed}", "seed": seed, "figures": figures,
                         **({"commit": commit} if commit else {})})
    rows = [(task, program) for task in FIGURES for program in ("roformer", "transformers")
            if (task, "roformer") in scores and (task, "transformers") in scores]
    results = {"name": "results",
               "columns": [column("task", alignment="left"), column("program", alignment="left"), column("seeds")] +
                          [column(title, key, "percent", 1) for key, title in TITLES.items()],
               "rows": [[task, program, len(scores[task, program])] +
                        [mean([one[key] for one in scores[task, program].values() if key in one]) for key in TITLES]
                        for task, program in rows]}
    tests = []
    for task in dict.fromkeys(task for task, _ in rows):
        ours, theirs = scores[task, "roformer"], scores[task, "transformers"]
        seeds, key = sorted(ours.keys() & theirs.keys()), FIGURES[task][0]
        if len(seeds) > 1:
            result = compare_paired(*([scores_of[seed][key] for seed in seeds] for scores_of in (ours, theirs)))
            tests.append([TITLES[key], f"{task}, roformer", f"{task}, transformers", len(seeds),
                          result["difference"], result["low"], result["high"], result["p"]])
    for test, corrected in zip(tests, holm([test[7] for test in tests])):
        test += [corrected, "declared"]
    differences = {"name": "differences",
                   "columns": [column("figure", alignment="left"), column("row", alignment="left"),
                               column("reference", alignment="left"), column("seeds")] +
                              [column(title, style="percent", digits=1) for title in ("difference", "95 % from", "to")] +
                              [column("p", style="fixed", digits=3), column("p, Holm", style="fixed", digits=3),
                               column("test", alignment="left")],
                   "rows": tests}
    document = {"what": options.what, "recipe": options.recipe, "metric": "accuracy", "runs": runs,
                "tables": [results, differences]}
    document["runs"].sort(key=lambda run: rows.index(tuple(run["name"].rsplit("-", 2)[:2]))
                          if tuple(run["name"].rsplit("-", 2)[:2]) in rows else len(rows))
    document["runs"] = [run for run in document["runs"] if tuple(run["name"].rsplit("-", 2)[:2]) in rows]
    options.output.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
