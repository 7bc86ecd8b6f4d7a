#!/usr/bin/env python3
"""Writes the byte-level BPE fixtures of this folder with Hugging Face's `tokenizers`: a small trained
tokenizer.json, variants of it (as patches of its top-level parts), and what the reference makes of
hard texts with each.

    pip install tokenizers==0.23.3 && python3 make_byte_level_fixtures.py

writes byte_level.json, byte_level_cases.json and byte_level_cutting_cases.json (steps of normalizers and
pre-tokenizers alone) into the working directory. With --fuzz PROGRAM
nothing is written: random texts go through the reference and through `PROGRAM tokenizer encode` with
each variant, and the first differences are shown.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = GPT4.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m"
         r"|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t"
         r"|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TRAINING = """The windows of the lower house were newer than the windows of the winter garden.
Der niedrige Winter war der k\u00e4lteste; die Fenster, gr\u00f6\u00dfer und sch\u00f6ner, waren ge\u00f6ffnet.
L'\u00e9t\u00e9 dernier, le caf\u00e9 \u00e9tait ferm\u00e9 \u2014 c'est na\u00eff, mais voil\u00e0.
def encode(text: str) -> list[int]:\n    return [vocabulary[piece] for piece in split(text)]\n
for (int i = 0; i < 100; ++i) {\n\tsum += values[i] * 3.14159;\n}\n
it's we're they've I'm she'll he'd don't can't IT'S WE'RE\n
\u5317\u4eac\u5927\u5b66\u751f\u524d\u6765\u5e94\u8058\u3002\u4eca\u65e5\u306f\u826f\u3044\u5929\u6c17\u3067\u3059\u306d\u3002
\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u03ba\u03cc\u03c3\u03bc\u03b5 \u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd
\U0001f600 \U0001f44d\U0001f3fd \u2764\ufe0f 1234567890 2024-01-31 $5+3=8
""".split("\n")
HARD = [
    "", " ", "  ", "   a", "a   ", "\t\n\r\n  \n x", "Hello, world!", "hello", " hello", "it's IT'S \u017f'\u017f 's's",
    "[MASK] [CLS]a [SEP] <|endoftext|>", "the [MASK] house", "  [MASK]  [MASK]", "|||IP||| x|||IP|||", "foo    bar", "foo   foo",
    "        return 1\n\n\n    pass\n", "1234567 12 3", "\u0661\u0662\u0663\u2167\u00bd", "e\u0301te\u0301 \u00e9t\u00e9 a\u030a\u0323 \u212b \ufb01",
    "\u1e9b\u0323 \uac00\u1100\u1161\u11a8", "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \U0001f1e9\U0001f1ea", "\u00a0x\u3000y\u2009z\u200bw\u0085v\x1cu",
    "\u5317\u4eac abc\u4e2ddef \u3042\u30a2", "a\x00b\x01c\x7fd\u00ade\ufeff", "\ufffd \ue000 \U0010ffff", "\u0120x \u010a \u0121",
    "aaa aaaaa baaab", "word sw sword sw", "x" * 300, "ab" * 200, "the " * 50, "CamelCaseWord HTTPServer \u01c5x", "can\u2019t 'll 'LL 'lL\r\n", "\U00031350\U00016d40\u1c89\u0898\u0301",
]
BROKEN = [b"\xff", b"a\xffb", b"\xc3", b"a\xe4\xb8 x", b"\xf0\x9f\x98 x", b"\xc0\xaf\xed\xa0\x80", b"ok \xe2\x28\xa1 ok", b"\x80\x80a"]


def train():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "[UNK]", "[CLS]", "[SEP]", "[PAD]"]
    draw = random.Random(0)
    syllables = "wind low er est ing haus fen ster gar den te le pro gram tion qu ".split() + [" "] * 6
    lines = ["".join(draw.choice(syllables) for _ in range(60)) for _ in range(60)]
    tokenizer.train_from_iterator(TRAINING + lines, trainers.BpeTrainer(
        vocab_size=1200, min_frequency=1, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(8, 1, -1)])
    tokenizer.add_tokens([AddedToken("|||IP|||", normalized=True)])
    tokenizer.add_special_tokens([AddedToken("[MASK]", lstrip=True, normalized=False)])
    return json.loads(tokenizer.to_str())


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}


def token(content, number, **how):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": True, "special": False, **how}


def variants(base):
    """Name: parts of the file that replace those of the base file; "model" is merged into the base file's."""
    after = max(entry["id"] for entry in base["added_tokens"]) + 1
    odd = base["added_tokens"] + [token("foo", after, rstrip=True), token("sw", after + 1, single_word=True),
                                  token("\u212b", after + 2), token("bar", after + 3, lstrip=True, normalized=False)]
    few = {piece: i for i, piece in enumerate(["[UNK]", "a", "b", "e", "t", "h", "\u0120", "th", "the", "aa"])}
    template = {"type": "TemplateProcessing", "single": [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}},
        {"Sequence": {"id": "B", "type_id": 0}}], "special_tokens": {
            name: {"id": name, "ids": [base["model"]["vocab"][name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")}}
    return {
        "gpt2": {},
        "modernbert": {"normalizer": {"type": "NFC"}, "post_processor": template},
        "prefix": {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
        "llama3": {"pre_tokenizer": split(GPT4), "model": {"ignore_merges": True}},
        "qwen2": {"pre_tokenizer": split(QWEN), "normalizer": {"type": "NFC"}},
        "o200k": {"pre_tokenizer": split(O200K, "Removed", True)},
        "dropped": {"pre_tokenizer": split(r"\s", "Removed")},
        "digits": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True},
            {"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]}},
        "odd tokens": {"added_tokens": odd, "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]}},
        "nfkd": {"added_tokens": odd, "normalizer": {"type": "NFKD"}},
        "nfkc": {"normalizer": {"type": "NFKC"}},
        "nfd": {"normalizer": {"type": "NFD"}},
        "unknown": {"model": {"vocab": few, "merges": [["t", "h"], ["th", "e"], ["a", "a"]], "unk_token": "[UNK]"}, "added_tokens": []},
        "unknown joined": {"model": {"vocab": few, "merges": ["t h", "th e", "a a"], "unk_token": "[UNK]", "fuse_unk": True}, "added_tokens": []},
        "unknown dropped": {"model": {"vocab": few, "merges": [["t", "h"], ["th", "e"], ["a", "a"]]}, "added_tokens": []},
    }


def steps(*parts, prefix=False, regex=False):
    return {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [*parts, {
        "type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}]}}


def one_split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"
PATTERNS = (
    r"\w+|[^\w\s]+", r"\W", r"\p{Han}+|\p{Hiragana}|[\p{Latin}\p{Cyrillic}]+|\P{Greek}", r"\p{Lu}\p{Ll}*|\p{Sc}|[\p{Nd}\p{Zs}]+|\p{^L}",
    r"(?<=[a-z])[A-Z]+|(?<!\p{L})\p{N}", r"(?<=\s|x)\S+", r"(?<![\w']\s)\w{2,3}(?!\w)", r"(?=\p{P})[\p{P}\p{S}]++", r"[a-z&&[^aeiou]]+|[\p{L}&&\P{Latin}]",
    r"(?i:[sdmt]|ll|ve|re)|[^(\s|[.,!?])]+", r"\x{4E2D}|\u0065|\x20+|\t", r".o|[\n]", r"\p{Uppercase_Letter}|\p{letter}{1,2}")


def cutting_variants(base):
    lower = {"type": "Lowercase"}
    # The reference fails for an added token that a normalizer makes empty.
    special = [entry for entry in base["added_tokens"] if entry["content"] in base["model"]["vocab"]]
    digits = {"type": "Digits", "individual_digits": False}
    groups = {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": False}
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    result = {
        "falcon": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior": "Contiguous"}, step, digits, groups]}},
        "bloom": steps(one_split(BLOOM)),
        "lower case": {"normalizer": {"type": "Sequence", "normalizers": [lower, {"type": "NFKC"}]}},
        "replaced": {"added_tokens": special, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Strip", "strip_left": True, "strip_right": True}]}},
        "prepended": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": " x"}, {"type": "Replace", "pattern": {"String": "e"}, "content": "\u00e9"}]}},
        "whitespace": steps({"type": "Whitespace"}), "whitespace split": steps({"type": "WhitespaceSplit"}, prefix=True, regex=True),
        "bert": steps({"type": "BertPreTokenizer"}), "delimiter": steps({"type": "CharDelimiterSplit", "delimiter": "e"}),
        "digits": steps({"type": "Digits", "individual_digits": True}, {"type": "Digits", "individual_digits": False}),
    }
    for behavior in BEHAVIORS:
        result[f"punctuation {behavior}"] = steps({"type": "Punctuation", "behavior": behavior})
        result[f"split {behavior}"] = steps(one_split(r"\s|o", behavior))
        result[f"split {behavior} inverted"] = steps(one_split(r"\s|o|\d+", behavior, True))
    for number, pattern in enumerate(PATTERNS):
        result[f"pattern {number}"] = steps(one_split(pattern))
    return result


def cutting_cases(base):
    texts = [text for text in HARD if len(text) < 60] + ["Hi, \"you\"... (a+b)=c; d!e?? -- 3,141.59 $5", "\u4f60\u597d\uff0c\u4e16\u754c\uff01\u3053\u3093 camelCaseX xa \u0444\u0416 \u03b1", "a.b..c,,d ,e, f\n,g",
                                                          "\u0928\u092e\u0938\u094d\u0924\u0947\u0964 \u0645\u0631\u062d\u0628\u0627\u06d4 x\u200dy \u00b2\u00b3\u00bc", "\u0130I\u03a3\u03c2 \U0001e900\ua7cb\u1e9e", "\u2eff0 \U0002ebf0\u3007\u30fc"]
    for name, patch in cutting_variants(base).items():
        tokenizer = reference(patched(base, patch))
        yield {"name": name, "patch": patch, "texts": [
            {"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids} for text in texts]}


def patched(base, patch):
    return {**base, **patch, "model": {**base["model"], **patch.get("model", {})}}


def reference(document):
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.encode_special_tokens = True
    return tokenizer


def cases(base):
    for name, patch in variants(base).items():
        tokenizer = reference(patched(base, patch))
        texts = []
        for text in HARD + BROKEN:
            ids = tokenizer.encode(text if isinstance(text, str) else text.decode("utf-8", "replace"),
                                   add_special_tokens=False).ids
            case = {"text": text} if isinstance(text, str) else {"bytes": text.hex()}
            texts.append({**case, "ids": ids, "decoded": tokenizer.decode(ids),
                          "cut": tokenizer.decode(ids[::2], skip_special_tokens=False)})
        yield {"name": name, "patch": patch, "texts": texts}


def random_text(draw):
    parts = []
    for _ in range(draw.randint(1, 12)):
        kind = draw.random()
        if kind < 0.35:
            parts.append(draw.choice(" ".join(TRAINING).split()) + draw.choice(["", " ", "  "]))
        elif kind < 0.5:
            parts.append(draw.choice(HARD[:-1])[:40])
        elif kind < 0.65:
            parts.append(draw.choice(" \t\u00a0\u2003\u3000\r") * draw.randint(1, 9))
        elif kind < 0.8:
            block = draw.choice([0x20, 0xc0, 0x300, 0x400, 0x600, 0x900, 0x1100, 0x1e00, 0x2000, 0x3040, 0x4e00, 0xac00, 0xfb00, 0x1f300])
            parts.append("".join(chr(block + draw.randint(0, 95)) for _ in range(draw.randint(1, 6))))
        elif kind < 0.9:
            points = [draw.randint(0, 0x10ffff) for _ in range(3)]
            parts.append("".join(chr(c) for c in points if not 0xd800 <= c < 0xe000))
        else:
            parts.append(draw.choice(["[MASK]", "|||IP|||", "foo", "bar", " sw ", "<|endoftext|>", "\u212b", "'s", "'LL", "'re"]))
    return "".join(parts).replace("\n", " ")


def fuzz(program, count, seed):
    base = json.loads((HERE / "byte_level.json").read_text())
    draw = random.Random(seed)
    different = tried = 0
    for name, patch in (variants(base) | cutting_variants(base)).items():
        document = patched(base, patch)
        tokenizer = reference(document)
        texts = [random_text(draw) for _ in range(count)]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "tokenizer.json"
            file.write_text(json.dumps(document))
            run = subprocess.run([program, "tokenizer", "encode", file], capture_output=True, check=True,
                                 input="".join(text + "\n" for text in texts).encode())
        lines = run.stdout.decode().split("\n")[:-1]
        assert len(lines) == len(texts), (name, len(lines), len(texts))
        for text, line, encoding in zip(texts, lines, tokenizer.encode_batch(texts, add_special_tokens=False)):
            tried += 1
            if [int(word) for word in line.split()] != encoding.ids:
                different += 1
                if different <= 10:
                    print(name, ascii(text), line, encoding.ids, sep="\n  ")
    print(f"{tried} texts, {different} different")
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fuzz", metavar="PROGRAM")
    parser.add_argument("--count", type=int, default=10000, help="texts of each variant")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.fuzz:
        return fuzz(options.fuzz, options.count, options.seed)
    base = train()
    pathlib.Path("byte_level.json").write_text(json.dumps(base, ensure_ascii=False) + "\n")
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases(base))
    pathlib.Path("byte_level_cases.json").write_text(f"[\n{lines}\n]\n")
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cutting_cases(base))
    pathlib.Path("byte_level_cutting_cases.json").write_text(f"[\n{lines}\n]\n")
    return 0


raise SystemExit(main())
