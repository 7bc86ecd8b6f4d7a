#!/usr/bin/env python3
"""Where the loader looks for the libraries of all that is built and installed: no entry is empty or
relative, since it would mean the working folder, in which a stranger's library may lie; and what is
installed names no path of the machine that built it, but runs.

  library_paths.py BUILD LIBTORCH

BUILD: the build folder. LIBTORCH: the folder of LibTorch's libraries."""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile

DYNAMIC, STRINGS = 6, 3  # types of sections
NEEDED_PATHS = (15, 29)  # DT_RPATH, DT_RUNPATH


def library_paths(path):
    """The entries of an ELF file's RPATH and RUNPATH; None for any other file."""
    with open(path, "rb") as file:
        if file.read(5) != b"\x7fELF\x02":
            return None
        file.seek(0)
        contents = file.read()
    begin, = struct.unpack_from("<Q", contents, 40)
    size, count = struct.unpack_from("<HH", contents, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", contents, begin + i * size) for i in range(count)]
    paths = []
    for _, kind, _, _, offset, length, link, _, _, _ in sections:
        if kind != DYNAMIC:
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, 16):
            tag, value = struct.unpack_from("<qQ", contents, at)
            if tag == 0:
                break
            if tag in NEEDED_PATHS:
                text = contents[strings + value:contents.index(b"\0", strings + value)]
                paths += text.decode().split(":")
    return paths


def elf_files(folder):
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".o", ".a", ".gch") or path.is_symlink() or not path.is_file():
            continue
        paths = library_paths(path)
        if paths is not None:
            yield path, paths


def is_sound(entry):
    return entry.startswith("/") or entry == "$ORIGIN" or entry.startswith("$ORIGIN/")


def must(condition, what):
    if not condition:
        sys.exit(what)


def check_build(build):
    seen = 0
    for path, entries in elf_files(build):
        seen += 1
        wrong = [entry for entry in entries if not is_sound(entry)]
        must(not wrong, f"{path}: looks for libraries in {wrong} of {entries}")
    must(seen >= 3, f"{build} holds {seen} programs and libraries only")


def check_installed(build, libtorch, prefix):
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", "Unspecified"],
                   check=True, stdout=subprocess.DEVNULL)
    for path, entries in elf_files(prefix):
        wrong = [entry for entry in entries if not entry.startswith("$ORIGIN")]
        must(not wrong, f"{path}: looks for libraries in {wrong}")
    source = build.parent if (build.parent / "CMakeLists.txt").exists() else build
    for path in prefix.rglob("*"):
        if path.is_file():
            must(os.fsencode(source) + b"/" not in path.read_bytes(), f"{path} names {source}")
    program = [prefix / "bin/roformer", "positions", "list"]
    without = subprocess.run(program, capture_output=True, text=True, cwd=prefix)
    must(without.returncode == 1 and "libtorch: is missing" in without.stderr,
         f"without LibTorch: exit code {without.returncode}: {without.stderr}")
    next(prefix.glob("libexec/roformer")).joinpath("libtorch").symlink_to(libtorch)
    found = subprocess.run(program, capture_output=True, text=True, cwd=prefix)
    must(found.returncode == 0 and "rope" in found.stdout,
         f"exit code {found.returncode}: {found.stderr}")


def main():
    build, libtorch = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    check_build(build)
    with tempfile.TemporaryDirectory(prefix="roformer-installed-") as folder:
        check_installed(build, libtorch, pathlib.Path(folder).resolve())


if __name__ == "__main__":
    main()
