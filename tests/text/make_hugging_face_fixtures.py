#!/usr/bin/env python3
"""Writes hugging_face_cases.json with Hugging Face's `tokenizers` and Google's `sentencepiece`: what
`tokenizers` makes of hard strings with the tokenizer.json that this program wrote, and what its
trainers learn from a small text.

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 && python3 make_hugging_face_fixtures.py PROGRAM

PROGRAM is build/roformer. The rules of normalisation are left out, because they are large: the test
takes those of the library that it is linked with."""
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unicodedata

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TRAINING = """The windows of the lower house were newer than the windows of the winter garden.
the cat sat on the mat; the lower cat sat lower than the newest cat, which was the lowest of all.
Der niedrige Winter war der k\u00e4lteste; die Fenster, gr\u00f6\u00dfer und sch\u00f6ner, waren ge\u00f6ffnet.
L'\u00e9t\u00e9 dernier, le caf\u00e9 \u00e9tait ferm\u00e9 \u2014 c'est na\u00eff, mais voil\u00e0. Ti\u1ebfng Vi\u1ec7t
def encode(text):    return [vocabulary[piece]    for piece in split(text)]
\u5317\u4eac\u5927\u5b66\u751f\u524d\u6765\u5e94\u8058\u3002\u4eca\u65e5\u306f\u826f\u3044\u5929\u6c17\u3067\u3059\u306d\u3002\u30ac\u30ae\u30b0\u30d1 \ud55c\uad6d\uc5b4 \uc548\ub155
\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u05e9\u05dc\u05d5\u05dd \u0e44\u0e17\u0e22 \u0939\u093f\u0928\u094d\u0926\u0940
1234567890 2024-01-31 $5+3=8 == ---- <0x41> aaa abab newest newer new low lower lowest
""".split("\n")
HARD = [
    "", " ", "  ", "   a", "a   ", "a  b   c", "\t", "a\tb", "\n", "a\nb\r\nc", "\u00a0", "a\u00a0b", "\u3000x\u3000",
    "Hello, world!", "the cat sat on the mat", "The Newest WINDOWS", "don't CAN'T it's 1,234.5 3/4 $5",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 x", "\U0001f3f3\ufe0f\u200d\U0001f308 \u2764\ufe0f",
    "\U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd", "e\u0301te\u0301 \u00e9t\u00e9 cafe\u0301\u0301", "A\u030angstro\u0308m \u212b",
    "Vie\u0323\u0302t tie\u0302\u0301ng", "q\u0307\u0323 q\u0323\u0307 a\u0316\u0301 a\u0301\u0302\u0303", "\u0301x \u00a8 \u00b4 \u00af",
    "\uac00\ub098\ub2e4 \ud55c\uad6d\uc5b4", "\u1100\u1161\u11a8\u1102\u1161 \u1112\u1161\u11ab", "\u0627\u0644\u0639\u0631\u0628\u064a\u0651\u064e\u0629",
    "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", "\u0e44\u0e17\u0e22\u0e19\u0e49\u0e33", "\u0939\u093f\u0928\u094d\u0926\u0940 \u0915\u093c \u0958",
    "\u5317\u4eac\u5927\u5b66\u751f abc\u4e2ddef", "\u304b\u3099 \u30ab\u3099 \uff76\uff9e\uff77\uff9e \uff8a\uff9f\uff9d",
    "\uff21\uff22\uff23 \uff11\uff12 \ufb01 \u00bd \u2460", "\u00bd\u0301 \u2460\u0301 \u00a0\u0301 \uff21\u0301", "\ufffd a\ufffdb",
    "\u0000", "a\u0000b\u0001c\u007fd", "\u200b a\u200bb\u200dc\ufeffd", "\u2028x\u2029 \u0085", "\ud7ff\ue000\uffff\U0010ffff \ufdd0x",
    "\u0130stanbul \u0131 \u1e9e \u03a3\u03c3\u03c2", "[MASK]", "a [MASK] b [MASK][MASK] c", "[CLS][SEP] [PAD]x[UNK]",
    "[mask] [MASKS] \uff3bMASK\uff3d", "<0x41> a<0x41>b <s> </s>", "\u2581", "\u2581\u2581a", "a\u2581", "a\u2581b \u2581 c", " \u2581 ",
    "the\u2581cat", "aaaaaaaaaaaaaaaaaaaaaaaa", "=====---===== ababababab", "x" * 300, "the " * 40, "\U000e0020x\U000e007f \u0600\u0661",
]
HARD += [form for text in HARD[20:34] for name in ("NFC", "NFD", "NFKD")
         if (form := unicodedata.normalize(name, text)) not in HARD]
# A letter with its first mark in one code point, and a further mark: no rule of SentencePiece composes the two, NFC does.
HARD += ["Ti\u00ea\u0301ng vi\u1eb9\u0302t", "\u01a0\u0301 \u00fc\u0304 \u1f00\u0345", "\uac00\u11a8 \uffa1\uffc2", "\uff25\u0302\u0301"]
# Vowel signs of two parts, which are marks and compose with each other; a vowel that is a letter and continues a grapheme.
HARD += ["\u0b95\u0bc6\u0bbe \u09ae\u09c7\u09be \u0d32\u0d47\u0d3e \u0cc6\u0cc2\u0cd5 \u0dd9\u0dcf\u0dca", "\u0e19\u0e33 \u00a0\u0e33 \u00aa\u0eb3"]
# Two paths through a run of one character can have the same score. Which is taken depends on how
# sums are rounded, to 32 bits in the one library and to 64 in the other.
TIES = {"aaaaaaaaaaaaaaaaaaaaaaaa", "=====---===== ababababab", "x" * 300}


def train_sentencepiece(kind, normalization, **options):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TRAINING * 3), model_writer=out, model_type=kind, vocab_size=520 if "byte_fallback" in options else 300,
        normalization_rule_name=normalization, character_coverage=0.99, pad_id=0, unk_id=1, bos_id=2, eos_id=3,
        pad_piece="[PAD]", unk_piece="[UNK]", bos_piece="[CLS]", eos_piece="[SEP]", control_symbols=["[MASK]"],
        hard_vocab_limit=False, minloglevel=2, **options)
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(out.getvalue())
    return model


def exported(program, folder, arguments):
    output = folder / "exported"
    subprocess.run([program, "tokenizer", "export", *arguments, "--output", output, "--overwrite"], check=True,
                   stdout=subprocess.DEVNULL)
    return output / "tokenizer.json"


def case(file, texts):
    tokenizer = Tokenizer.from_file(str(file))
    document = json.loads(file.read_text(encoding="utf-8"))
    for step in (document["normalizer"] or {}).get("normalizers", []):
        step.pop("precompiled_charsmap", None)
    parts = {name: document[name] for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "added_tokens")}
    if document["model"]["type"] == "BPE":
        parts["merges"] = document["model"]["merges"]
    return {"parts": parts, "left_out": [HARD.index(text) for text in HARD if text not in texts],
            "ids": [tokenizer.encode(text, add_special_tokens=False).ids for text in texts],
            "pair": tokenizer.encode("the cat", "lower").ids}


def sentencepiece_cases(program, folder):
    llama = {"remove_extra_whitespaces": False, "byte_fallback": True, "allow_whitespace_only_pieces": True}
    for name, kind, normalization, options in (
            ("unigram", "unigram", "nmt_nfkc", {}), ("bpe", "bpe", "nmt_nfkc", {}),
            ("folded unigram", "unigram", "nmt_nfkc_cf", {}), ("nfkc bpe with bytes", "bpe", "nfkc", {"byte_fallback": True}),
            ("unigram as it is", "unigram", "identity", {"add_dummy_prefix": False}), ("llama", "bpe", "identity", llama),
            ("unigram with spaces and bytes", "unigram", "nmt_nfkc", llama)):
        model = train_sentencepiece(kind, normalization, **options)
        (folder / "a.model").write_bytes(model.SerializeToString())
        texts = [text for text in HARD if kind == "bpe" or text not in TIES]
        yield name, {
            "model": model.trainer_spec.model_type, "normalization": normalization,
            "byte_fallback": model.trainer_spec.byte_fallback, "adds_prefix": model.normalizer_spec.add_dummy_prefix,
            "removes_extra_spaces": model.normalizer_spec.remove_extra_whitespaces,
            "pieces": [[piece.piece, piece.score, piece.type] for piece in model.pieces],
            **case(exported(program, folder, [folder / "a.model"]), texts)}


def learned(kind, lines, pieces):
    if kind == "byte_level":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=pieces, min_frequency=2, special_tokens=SPECIAL, show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    else:
        cased = kind == "cased"
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased, strip_accents=not cased)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=pieces, min_frequency=3, limit_alphabet=1000,
                                            special_tokens=SPECIAL, show_progress=False)
    tokenizer.train_from_iterator([line + "\n" for line in lines], trainer)
    vocabulary = tokenizer.get_vocab()
    result = {"pieces": sorted(vocabulary, key=vocabulary.get)}
    if kind == "byte_level":
        result["merges"] = [" ".join(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]
    return result


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    cases = {}
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for name, found in sentencepiece_cases(program, folder):
            cases[name] = found
        text = folder / "text.txt"
        text.write_text("\n".join(TRAINING) + "\n", encoding="utf-8")
        for name, arguments in (("wordpiece", ["--kind", "wordpiece", "--pieces", "330"]),
                                ("cased wordpiece", ["--kind", "wordpiece", "--pieces", "330", "--cased"]),
                                ("byte_level", ["--kind", "byte_level", "--pieces", "400"]),
                                ("characters", ["--kind", "characters", "--pieces", "100"])):
            subprocess.run([program, "tokenizer", "train", text, *arguments, "--output", folder / "trained", "--overwrite"],
                           check=True, stdout=subprocess.DEVNULL)
            names = {"characters": "characters.json", "byte_level": "tokenizer.json"}
            contents = (folder / "trained" / names.get(name, "vocab.txt")).read_text(encoding="utf-8")
            cases[name] = {"contents": contents, "cased": "--cased" in arguments,
                           **case(folder / "trained/tokenizer.json",
                                  [text for text in HARD if name != "characters" or not any(word in text for word in SPECIAL)])}
        cases["bytes"] = case(exported(program, folder, ["--bytes"]), [text for text in HARD if not any(word in text for word in SPECIAL)])
    trained = {}
    for kind, pieces in (("byte_level", 420), ("uncased", 380), ("cased", 400)):
        # The trainers of `tokenizers` break some ties by chance: what they always learn is kept.
        runs = [learned(kind, TRAINING, pieces) for _ in range(1 if kind == "byte_level" else 12)]
        if kind == "byte_level":
            trained[kind] = runs[0]
            continue
        sets = [set(run["pieces"]) for run in runs]
        trained[kind] = {"size": len(sets[0]), "always": sorted(set.intersection(*sets)), "sometimes": sorted(set.union(*sets))}
    result = {"texts": HARD, "training": TRAINING, "cases": cases, "trained": trained}
    pathlib.Path("hugging_face_cases.json").write_text(json.dumps(result, ensure_ascii=True, separators=(",", ":")) + "\n", encoding="utf-8")
    for name, found in cases.items():
        print(f"{name}: {len(found['ids'])} texts")
    for kind in ("uncased", "cased"):
        print(kind, trained[kind]["size"], "always", len(trained[kind]["always"]), "sometimes", len(trained[kind]["sometimes"]))


if __name__ == "__main__":
    main()
