"""Compares vectors with sentence-transformers (pip install sentence-transformers), by hand:

    check_embeddings.py build/roformer FOLDER [SENTENCES.txt]

FOLDER is a folder of sentence-transformers. Prints the largest difference between its vectors and
those of `roformer embed` for the folder, for the run that `roformer import` makes of it, and for
what sentence-transformers reads of that run's export. Fails above 1e-5."""
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy

warnings.filterwarnings("ignore")
from sentence_transformers import SentenceTransformer  # noqa: E402

HARD = ["", "a", "The quick brown fox jumps over the lazy dog.", "Ünïcödé ÀÉÎ façade naïve",
        "日本語のテキスト 混ざった text", "emoji 😀🎉 mixed 👩‍👩‍👧", "tabs\tand  double   spaces",
        "https://example.com/a?b=c&d=%20#frag", "E=mc^2; x_{i}≠y² ∑∫", "!!!???...",
        "don't can't won't it's", "ＦＵＬＬ　ＷＩＤＴＨ", "Zażółć gęślą jaźń", "مرحبا بالعالم", "Привет, мир",
        "नमस्ते दुनिया", "한국어 문장입니다", "word " * 400, "x" * 150, "1,234,567.89 $ € £ 50%",
        "A\u0301 combining e\u0301", "soft\u00adhyphen zero\u200bwidth", "C++ & C# <html> &amp;"]
LARGEST = 1e-5


def main(program, folder, texts=None):
    sentences = Path(texts).read_text().splitlines() if texts else HARD
    wanted = SentenceTransformer(folder, device="cpu").encode(sentences)
    worst = 0
    with tempfile.TemporaryDirectory() as scratch:
        lines = Path(scratch) / "sentences.txt"
        lines.write_text("\n".join(sentences) + "\n")

        def roformer(*words):
            subprocess.run([program, *map(str, words)], check=True, stdout=subprocess.DEVNULL)

        def embedded(model):
            output = Path(scratch) / "vectors.npy"
            roformer("embed", model, "--input", lines, "--output", output)
            return numpy.load(output)

        def compare(what, vectors):
            nonlocal worst
            difference = abs(vectors - wanted).max()
            worst = max(worst, difference)
            print(f"{what}: {len(vectors)} vectors, largest difference {difference:.1e}")

        compare("folder", embedded(folder))
        roformer("import", folder, "--runs", scratch, "--run", "imported")
        compare("imported run", embedded(Path(scratch) / "imported"))
        exported = Path(scratch) / "exported"
        roformer("export", Path(scratch) / "imported", exported)
        compare("export, by sentence-transformers",
                SentenceTransformer(str(exported), device="cpu").encode(sentences))
    return worst > LARGEST


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
