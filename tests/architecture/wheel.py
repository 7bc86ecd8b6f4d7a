#!/usr/bin/env python3
"""The Python package of what was built: what is in it, and that it works from any folder.

  wheel.py SOURCE BUILD LIBTORCH

SOURCE: the sources; BUILD: their folder build; LIBTORCH: the folder of LibTorch's libraries. Exit code 77
where the package cannot be made, for lack of the network."""

import base64
import csv
import hashlib
import io
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import zipfile

from library_paths import elf_files, must

LARGEST = 20_000_000  # bytes
# What every Linux system has, and what the package torch has.
FROM_OUTSIDE = re.compile(r"(ld-linux-x86-64|lib(c|m|gcc_s|stdc\+\+|torch_cpu|torch_cuda|c10|c10_cuda|gomp))\.so")
SHIPPED = ("configs/pretraining/small.yaml", "configs/study/quickstart.yaml", "data/libreoffice-help-en.yaml",
           "scripts/quickstart", "scripts/gpu-check", "scripts/fetch-libreoffice-help", "LICENSE")


def make(source, output):
    made = subprocess.run([source / "scripts/wheel", "--no-build", output], capture_output=True, text=True)
    if "pip could not install scikit-build-core" in made.stderr:
        print(made.stderr)
        sys.exit(77)
    must(made.returncode == 0, made.stdout + made.stderr)
    wheels = list(output.glob("*.whl"))
    must(len(wheels) == 1, f"{output} holds {wheels}")
    return wheels[0]


def check_contents(wheel, source):
    must(re.fullmatch(r"roformer_cpp-\d+\.\d+\.\d+-py3-none-manylinux_2_\d+_\w+\.whl", wheel.name), wheel.name)
    must(wheel.stat().st_size < LARGEST, f"{wheel.name} has {wheel.stat().st_size} bytes")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        listed = {name: digest for name, digest, _ in csv.reader(io.StringIO(packed.read(record).decode()))}
        must(set(listed) == names, f"RECORD and the archive differ in {set(listed) ^ names}")
        for name in names - {record}:
            content = packed.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            must(listed[name] == "sha256=" + digest, f"{name}: its digest is not that of RECORD")
            must(os.fsencode(source) + b"/" not in content, f"{name} names {source}")
        for name in SHIPPED:
            must(f"roformer_cpp/share/roformer/{name}" in names, f"{name} is not in the package")
        metadata = packed.read(record.replace("RECORD", "METADATA")).decode()
    must("\nRequires-Dist: torch==2.11.*\n" in metadata, metadata)


def needed(path):
    text = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", text)


def check_libraries(package):
    libraries = {path.name for path in (package / "libexec/roformer/lib").iterdir()}
    for path, entries in elf_files(package):
        wrong = [entry for entry in entries if not entry.startswith("$ORIGIN")]
        must(not wrong, f"{path}: looks for libraries in {wrong}")
        missing = [name for name in needed(path) if name not in libraries and not FROM_OUTSIDE.match(name)]
        must(not missing, f"{path} needs {missing}, which the package lacks")


class Place:
    """An environment with the package, and an empty working folder."""

    def __init__(self, folder, wheel, libtorch):
        self.environment, self.work = folder / "environment", folder / "work"
        self.work.mkdir()
        subprocess.run([sys.executable, "-m", "venv", self.environment], check=True)
        subprocess.run([self.environment / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps",
                        "--no-index", wheel], check=True)
        self.packages = next(self.environment.glob("lib/python3*/site-packages"))
        self.package, self.program = self.packages / "roformer_cpp", self.environment / "bin/roformer"
        self.torch = libtorch.parent
        # torch in another folder than the package's.
        (self.packages / "torch.pth").write_text(f"{self.torch.parent}\n")

    def put_torch_beside(self):
        (self.packages / "torch.pth").unlink()
        for name in ("torch", "nvidia"):
            if (self.torch.parent / name).exists():
                (self.packages / name).symlink_to(self.torch if name == "torch" else self.torch.parent / name)

    def run(self, *words, code=0):
        settings = {name: text for name, text in os.environ.items() if not name.startswith("LD_")}
        done = subprocess.run([self.program, *map(str, words)], cwd=self.work, capture_output=True, text=True,
                              env={**settings, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"})
        must(done.returncode == code, f"roformer {' '.join(map(str, words))}: exit code {done.returncode}:\n"
             + done.stdout + done.stderr)
        return done.stdout + done.stderr

    def says(self, wanted, *words, code=0):
        said = self.run(*words, code=code)
        must(wanted in said, f"roformer {' '.join(map(str, words))}: no '{wanted}' in\n{said}")


def check_use(place):
    if place.torch.name == "torch":
        place.says("rope", "positions", "list")
    place.put_torch_beside()
    place.says("rope", "positions", "list")
    place.says("LibTorch          2.11", "doctor")
    for command in ("quickstart", "gpu-check"):
        place.says(f"usage: roformer {command}", command, "--help")
    choose = random.Random(1)
    words = "the rotary position of a word turns its query and key so that distance decides".split()
    text = "\n\n".join(" ".join(choose.choice(words) for _ in range(40)) for _ in range(100))
    (place.work / "text.txt").write_text(text)
    place.run("data", "prepare", "text.txt", "--bytes", "--output", "data/text")
    # Shipped files by their names in the sources; the user's own file of that name comes first.
    share = place.package / "share/roformer"
    small = ("--model.layers", 1, "--model.width", 32, "--model.heads", 2, "--data.length", 32, "--training.batch", 8)
    place.says(f"comes with roformer, {share}/configs/pretraining/small.yaml", "train",
               "configs/pretraining/small.yaml", "--smoke", "--data.directory", "data/text", *small)
    must((place.work / "runs/small-smoke/summary.json").exists(), "the run is not in the working folder")
    (place.work / "mine.yaml").write_text("extends: configs/pretraining/small.yaml\nthreads: 2\n")
    place.run("train", "mine.yaml", "--run", "mine", "--data.directory", "data/text", "--training.steps", 4, *small)
    place.says("6 steps", "train", "runs/mine", "--resume", "--training.steps", 6)
    place.run("export", "runs/mine", "exported")
    must((place.work / "exported/model.safetensors").exists(), "nothing was exported")
    place.says(f"looked for in {place.work} and in {share}", "train", "configs/gone.yaml", code=2)
    place.says(f"fetch them: {share}/scripts/fetch-libreoffice-help en-us", "data", "prepare",
               "data/libreoffice-help-en.yaml", "--bytes", code=1)
    place.says("data/prepared/quickstart: no such", "study", "configs/study/quickstart.yaml", "--dry-run")


def main():
    source, build, libtorch = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    must(build == source / "build", f"scripts/wheel packs {source}/build, and this is {build}")
    with tempfile.TemporaryDirectory(prefix="roformer-wheel-") as name:
        folder = pathlib.Path(name).resolve()
        wheel = make(source, folder / "dist")
        check_contents(wheel, source)
        place = Place(folder, wheel, libtorch)
        check_libraries(place.package)
        check_use(place)
        print(f"{wheel.name}: {wheel.stat().st_size} bytes")


if __name__ == "__main__":
    main()
