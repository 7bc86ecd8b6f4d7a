#!/usr/bin/env python3
"""scripts/audit fails where a cell, a sentence, a mark or a record was changed: audit_finds.py SOURCE_FOLDER"""
import subprocess
import sys
import tempfile
from pathlib import Path

source = Path(sys.argv[1])

# A page with its records, by the folder that holds them.
PAGES = {"configs/study": ("results/quickstart.md", "quickstart.json", "quickstart.yaml"),
         "scripts/peers": ("README.md", "generation.json", "speed.json", "speed_zen5.json", "speed_zen4.json",
                           "positions.json", "decoding.json")}

# What is changed: a file, a text in it and its replacement; and what the audit says.
CASES = [
    ("nothing", None, "", "", None),
    ("a cell", "results/quickstart.md", "| none | 4.659 ± 0.006 |", "| none | 4.660 ± 0.006 |",
     "none, validation loss: has 4.660 ± 0.006, the record gives 4.659 ± 0.006"),
    ("a sentence", "results/quickstart.md", "the loss is 1.968 above", "the loss is 1.868 above", "no mark explains 1.868"),
    ("a sentence and its mark", "results/quickstart.md", "1.968", "1.868", "it is 1.96784"),
    ("a direction", "results/quickstart.md", "0.955 = learned", "0.955 = minus learned", "it is -0.95455"),
    ("a mark", "results/quickstart.md", "1.511 = sinusoidal / difference;", "", "no mark explains 1.511"),
    ("a run", "quickstart.json", '"validation_loss": 2.6550685863278463', '"validation_loss": 2.6450685863278463',
     "quickstart.json, results, rope, validation loss"),
    ("a corrected p", "quickstart.json", "0.020352470954712477", "0.010176235477356238",
     "quickstart.json, differences, learned, p, Holm"),
    ("a ratio", "generation.json", "1.32 (1.20 to 1.39)", "1.42 (1.20 to 1.39)",
     "generation.json, results, prompt, batch 1, fp32, times as fast"),
    ("a cell of a comparison", "README.md", "| 1069 | 894.2 |", "| 1096 | 894.2 |", "ours: has 1096, the record gives 1069"),
]


def main():
    failures = 0
    for what, file, old, new, said in CASES:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "results").mkdir()
            origin, files = next(item for item in PAGES.items() if file is None or file in item[1])
            for name in files:
                text = (source / origin / name).read_text()
                if name == file:
                    assert old in text, f"{name} has no {old}"
                    text = text.replace(old, new)
                (place / name).write_text(text)
            run = subprocess.run([sys.executable, source / "scripts" / "audit", place / files[0], "--no-scipy"],
                                 capture_output=True, text=True)
        good = run.returncode == (0 if said is None else 1) and (said or "") in run.stderr
        if not good:
            failures += 1
            print(f"{what} changed: exit status {run.returncode}\n{run.stdout}{run.stderr}")
    print(f"{len(CASES)} cases, {failures} failures")
    return 1 if failures else 0


sys.exit(main())
