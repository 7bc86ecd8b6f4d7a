"""A corpus in every compressed form and kind of archive: where one bit of it is flipped, or it is
cut, it is refused or gives the same text, never a part of it without a word."""

import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import tarfile
import zipfile

from flips import damage
from world import text_of

FOLDER = "corpora"


def zstandard(contents):
    return subprocess.run(["zstd", "-q", "-c"], input=contents, stdout=subprocess.PIPE,
                          check=True).stdout


def packers():
    yield "gz", lambda contents: gzip.compress(contents, mtime=0)
    yield "bz2", bz2.compress
    yield "xz", lzma.compress
    if shutil.which("zstd"):
        yield "zst", zstandard


def tar_of(texts):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for number, text in enumerate(texts):
            member = tarfile.TarInfo(f"{number}.txt")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return file.getvalue()


def zip_of(texts):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, text in enumerate(texts):
            archive.writestr(zipfile.ZipInfo(f"{number}.txt"), text)
    return file.getvalue()


def corpora():
    """Each with the sizes at which it may be cut without damage: where a stream ends."""
    texts = [text_of(10 + number, 20).encode() for number in range(4)]
    for ending, pack in packers():
        streams = [pack(text) for text in texts]
        ends = {sum(map(len, streams[:count])) for count in range(5)}
        yield f"streams.{ending}", b"".join(streams), ends
        yield f"archive.tar.{ending}", pack(tar_of(texts)), {0}
    yield "archive.zip", zip_of(texts), {0}


def prepare(world, here, name):
    outcome = world.program(["data", "prepare", f"{FOLDER}/{name}", "--bytes", "--output",
                             "from-corpus", "--threads", "1"], here)
    made = here / "from-corpus"
    return outcome, made.is_dir() and [path.read_bytes() for path in sorted(made.glob("*.bin"))]


def trials(world, chooser, rounds=40):
    folder = world.pristine / FOLDER
    folder.mkdir(exist_ok=True)
    for name, contents, ends in corpora():
        (folder / name).write_bytes(contents)
        outcome, wanted = prepare(world, world.fresh(), name)
        if outcome.code != 0:
            raise RuntimeError(f"{name} is not read: {outcome.errors}")
        for kind in ["flip"] * rounds + ["cut"] * max(1, rounds // 5):
            yield trial_of(world, chooser, kind, name, wanted, ends)


def trial_of(world, chooser, kind, name, wanted, ends):
    def trial():
        here = world.fresh()
        path = here / FOLDER / name
        what = damage(path, kind, chooser)
        if kind == "cut" and path.stat().st_size in ends:
            return "not reached", ""
        outcome, result = prepare(world, here, name)
        if outcome.code != 0:
            good = outcome.is_refusal()
            return ("detected", "") if good else ("broken", f"{what}: {outcome.errors}")
        return ("harmless", "") if result == wanted else ("silent", f"{what}: another text")

    return f"{kind}: corpus", name, trial
