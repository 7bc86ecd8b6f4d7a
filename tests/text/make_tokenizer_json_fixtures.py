#!/usr/bin/env python3
"""Writes the fixtures of SentencePiece-style tokenizer.json files with Hugging Face's `tokenizers`: two
small trained models (BPE with byte fallback, unigram), the parts of the families' files around them
(Llama 2, Mistral, Gemma, XLM-R, CamemBERT, T5, DeBERTa-v2, ...), and what the reference makes of hard
texts with each.

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 && python3 make_tokenizer_json_fixtures.py

writes pieces_bpe.json, pieces_unigram.json and tokenizer_json_cases.json into the working directory.
With --fuzz PROGRAM nothing is written: random texts go through the reference and through `PROGRAM
tokenizer encode` with each variant and SentencePiece's own rules (nmt_nfkc), and the first differences
are shown.
"""
import argparse
import base64
import io
import json
import pathlib
import random
import subprocess
import tempfile

import sentencepiece
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
MARK = "\u2581"
TRAINING = """The windows of the lower house were newer than the windows of the winter garden.
Der niedrige Winter war der k\u00e4lteste; die Fenster, gr\u00f6\u00dfer und sch\u00f6ner, waren ge\u00f6ffnet.
L'\u00e9t\u00e9 dernier, le caf\u00e9 \u00e9tait ferm\u00e9 \u2014 c'est na\u00eff, mais voil\u00e0.
def encode(text):     return [vocabulary[piece] for piece in split(text)]
it's we're they've I'm she'll he'd don't can't 1234567890 2024-01-31 $5+3=8
\u5317\u4eac\u5927\u5b66\u751f\u524d\u6765\u5e94\u8058\u3002\u4eca\u65e5\u306f\u826f\u3044\u5929\u6c17\u3067\u3059\u306d\u3002
\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u03ba\u03cc\u03c3\u03bc\u03b5 \u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd
the the the the house house winter winter window window windows windows er er er in in in the of
""".split("\n")
HARD = [
    "", " ", "  ", "   a", "a   ", " a b  c   d    e ", "\t", "\n", "\n\n\n", "\t\n\r\n  \n x", "line\nline\r\n\nend", "Hello, world!", "hello", " hello",
    "the windows", "it's IT'S don't", "a\u00a0b\u00a0\u00a0c", "\u3000x\u2009z\u200bw\u0085v\x1cu", "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd",
    "e\u0301te\u0301 \u00e9t\u00e9 a\u030a\u0323 \u212b \ufb01", "\u1e9b\u0323 \uac00\u1100\u1161\u11a8 \ud55c\uad6d\uc5b4", "\u0645\u064e\u0631\u0652\u062d\u064e\u0628\u064b\u0627 \u0627\u0644\u0633\u0651\u0644\u0627\u0645", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "\u5317\u4eac abc\u4e2ddef \u3042\u30a2",
    "<s>a</s>", "<s> a </s>", "x<unk>y", "<pad><mask> the <mask>", "a <mask> b<mask>c  <mask>  d", "foo foobar foo", "the sw sword sw", " foo", "foo", "[TAG]x [TAG] [TAG]",
    MARK, MARK + MARK, "a" + MARK + "b", MARK + "the", " " + MARK + " ", "the" + MARK + MARK + "the", "x" * 300, "ab" * 200, "the " * 50, "house" * 30, "zq" * 40,
    "<0x41>", "<0x0A>x", "\x00a\x01b\x7f\u00ad\ufeff", "\ufffd \ue000 \U0010ffff", "1234567 12 3 \u0661\u0662\u0663\u2167\u00bd", "\uff21\uff22\uff23 \uff11\uff12", "CamelCase HTTPServer \u01c5x \u0130I \u03a3\u03c3\u03c2", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0915\u094d\u0937\u0301 a\u0301b\u0323", "can\u2019t \u2018x\u2019 \u2026 \u00abq\u00bb", "\r\n\ra", "a\u200db\u200cc",
]
BROKEN = [b"\xff", b"a\xffb", b"\xc3", b"a\xe4\xb8 x", b"\xf0\x9f\x98 x", b"\xc0\xaf\xed\xa0\x80", b"ok \xe2\x28\xa1 ok", b"\x80\x80a"]
# A few of the rules of SentencePiece's nmt_nfkc: what is written, and for which code points.
RULES = {" ": ["09", "0A", "0D", "A0", "3000", "200B", "2009"], "": ["1", "7F", "AD", "FEFF"], "fi": ["FB01"], "\u00e9": ["65 301"], "\u00e5": ["61 30A", "212B"],
         "A": ["FF21"], "B": ["FF22"], "1": ["FF11"], "...": ["2026"], "1/2": ["BD"], "VIII": ["2167"], "\uac01": ["1100 1161 11A8"], "x\u0323": ["1E9B 323"], "q q": ["AB"], "\u0915\u093c": ["958"]}


def character_map(name=None):
    """The precompiled table of SentencePiece's own rules, or of RULES."""
    with tempfile.TemporaryDirectory() as folder:
        how = {"normalization_rule_name": name}
        if not name:
            tsv = pathlib.Path(folder) / "rules.tsv"
            lines = [f"{points}\t{' '.join(f'{ord(c):X}' for c in written)}\n" for written, all_points in RULES.items() for points in all_points]
            tsv.write_text("".join(lines))
            how = {"normalization_rule_tsv": str(tsv)}
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TRAINING * 3), model_writer=model, vocab_size=200, hard_vocab_limit=False, minloglevel=3, **how)
        from sentencepiece import sentencepiece_model_pb2
        proto = sentencepiece_model_pb2.ModelProto()
        proto.ParseFromString(model.getvalue())
        return base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()


def lines():
    draw = random.Random(0)
    syllables = "wind low er est ing haus fen ster gar den te le pro gram tion qu ".split() + [" "] * 6
    return TRAINING + ["".join(draw.choice(syllables) for _ in range(60)) for _ in range(60)]


def train_bpe():
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>", "<pad>", "<mask>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer.train_from_iterator(lines(), trainers.BpeTrainer(vocab_size=620, special_tokens=special, show_progress=False, limit_alphabet=70))
    document = json.loads(tokenizer.to_str())
    model = document["model"]
    for count in (2, 4, 8):  # runs of spaces, as Llama has them
        model["vocab"][MARK * count] = len(model["vocab"])
        model["merges"].append([MARK * (count // 2)] * 2)
    return document


def train_unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(lines(), trainers.UnigramTrainer(vocab_size=300, special_tokens=special, unk_token="<unk>", show_progress=False))
    return json.loads(tokenizer.to_str())


def token(content, number, **how):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True, **how}


def sequence(kind, *steps):
    return {"type": "Sequence", kind: list(steps)}


def template(document, *parts, pair=None):
    vocabulary = document["model"]["vocab"]
    ids = vocabulary if isinstance(vocabulary, dict) else {piece: number for number, (piece, _) in enumerate(vocabulary)}

    def entries(names):
        return [{"Sequence": {"id": name, "type_id": 0}} if name in "AB" else {"SpecialToken": {"id": name, "type_id": 0}} for name in names]
    names = [name for name in parts if name not in "AB"]
    return {"type": "TemplateProcessing", "single": entries(parts), "pair": entries(pair or parts + ("B",)),
            "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in names}}


def added(document, *names, mask=None):
    vocabulary = document["model"]["vocab"]
    ids = vocabulary if isinstance(vocabulary, dict) else {piece: number for number, (piece, _) in enumerate(vocabulary)}
    after = len(vocabulary)
    tokens = [token(name, ids[name]) for name in names]
    if mask:
        tokens.append(token("<mask>", ids.get("<mask>", after), lstrip=mask == "left"))
        after += "<mask>" not in ids
    tokens += [token("foo", after, special=False, normalized=True, rstrip=True), token("sw", after + 1, special=False, normalized=True, single_word=True),
               token("[TAG]", after + 2, special=False, lstrip=True)]
    return sorted(tokens, key=lambda entry: entry["id"])


def metaspace(scheme, split=True):
    return {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": split}


def variants(bpe, unigram, charsmap):
    """(name, which model, parts of the file that replace the model's)."""
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
    fallback = sequence("decoders", {"type": "Replace", "pattern": {"String": MARK}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"})
    stripped = sequence("decoders", *fallback["decoders"], {"type": "Strip", "content": " ", "start": 1, "stop": 0})
    precompiled = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    of_bpe = added(bpe, "<unk>", "<s>", "</s>", "<pad>", mask="plain")
    of_unigram = added(unigram, "<s>", "<pad>", "</s>", "<unk>", mask="left")
    roberta = template(unigram, "<s>", "A", "</s>", pair=("<s>", "A", "</s>", "</s>", "B", "</s>"))
    plain = {"normalizer": None, "pre_tokenizer": None, "post_processor": None, "added_tokens": of_bpe}
    flat = {**plain, "added_tokens": of_unigram}
    return [
        ("llama 2", "bpe", {**plain, "normalizer": sequence("normalizers", {"type": "Prepend", "prepend": MARK}, spaces), "decoder": stripped, "post_processor": template(bpe, "<s>", "A")}),
        ("llama of today", "bpe", {**plain, "pre_tokenizer": metaspace("first", False), "decoder": stripped, "model": {"unk_token": None}}),
        ("mistral", "bpe", {**plain, "pre_tokenizer": metaspace("always", False), "decoder": stripped, "post_processor": template(bpe, "<s>", "A")}),
        ("gemma", "bpe", {**plain, "normalizer": spaces, "decoder": fallback, "post_processor": template(bpe, "<s>", "A", "</s>"),
                          "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}}),
        ("unknown joined", "bpe", {**plain, "pre_tokenizer": metaspace("never"), "decoder": metaspace("never"), "model": {"byte_fallback": False}}),
        ("unknown apart", "bpe", {**plain, "pre_tokenizer": metaspace("never", False), "decoder": metaspace("first"), "model": {"byte_fallback": False, "fuse_unk": False}}),
        ("whole words", "bpe", {**plain, "pre_tokenizer": metaspace("always"), "decoder": None, "model": {"ignore_merges": True}}),
        ("words alone", "bpe", {**plain, "pre_tokenizer": {"type": "Whitespace"}, "decoder": None, "normalizer": sequence("normalizers", {"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"})}),
        ("xlm-r", "unigram", {**flat, "normalizer": precompiled, "pre_tokenizer": sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace("always")), "decoder": metaspace("always"), "post_processor": roberta}),
        ("xlm-r of today", "unigram", {**flat, "normalizer": sequence("normalizers", precompiled, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}), "pre_tokenizer": metaspace("always", False), "decoder": metaspace("always"), "post_processor": roberta}),
        ("camembert", "unigram", {**flat, "normalizer": sequence("normalizers", {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, precompiled), "pre_tokenizer": metaspace("first"), "decoder": metaspace("first"), "post_processor": roberta}),
        ("t5", "unigram", {**flat, "pre_tokenizer": sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace("always")), "decoder": metaspace("always"), "post_processor": template(unigram, "A", "</s>")}),
        ("deberta", "unigram", {**flat, "pre_tokenizer": metaspace("first"), "decoder": metaspace("always"), "post_processor": roberta,
                                "normalizer": sequence("normalizers", {"type": "Replace", "pattern": {"Regex": r"\s{2,}|[\n\r\t]"}, "content": " "}, {"type": "NFC"}, {"type": "Strip", "strip_left": True, "strip_right": True})}),
        ("punctuation", "unigram", {**flat, "decoder": metaspace("always"), "normalizer": {"type": "NFKC"}, "pre_tokenizer": sequence("pretokenizers", {"type": "Punctuation", "behavior": "MergedWithPrevious"}, metaspace("always"))}),
        ("albert", "unigram", {**flat, "decoder": metaspace("always"), "pre_tokenizer": metaspace("always", False), "model": {"byte_fallback": False},
                               "normalizer": sequence("normalizers", {"type": "Replace", "pattern": {"String": "``"}, "content": "\""}, {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "Nmt"}, precompiled)}),
    ]


def patched(base, patch):
    return {**base, **patch, "model": {**base["model"], **patch.get("model", {})}}


def letters_only(document):
    """The same file with special tokens that no text can become: the program reads their names in
    data as letters. The reference's unigram model finds them among its pieces."""
    special = {entry["content"] for entry in document["added_tokens"] if entry["special"]}
    if document["model"]["type"] != "Unigram":
        return document
    hidden = [["\U000f0000" * 9 + piece if piece in special else piece, score] for piece, score in document["model"]["vocab"]]
    plain = [entry for entry in document["added_tokens"] if not entry["special"]]
    filler = [token("\U000f0001" * 9 + entry["content"], entry["id"]) for entry in document["added_tokens"]
              if entry["special"] and entry["id"] >= len(hidden)]
    return {**document, "model": {**document["model"], "vocab": hidden}, "post_processor": None,
            "added_tokens": sorted(plain + filler, key=lambda entry: entry["id"])}


def reference(document):
    tokenizer = Tokenizer.from_str(json.dumps(letters_only(document)))
    tokenizer.encode_special_tokens = True
    return tokenizer


def cases(bpe, unigram, charsmap):
    for name, which, patch in variants(bpe, unigram, charsmap):
        document = patched({"bpe": bpe, "unigram": unigram}[which], patch)
        data, prompt = reference(document), Tokenizer.from_str(json.dumps(document))
        texts = []
        for text in HARD + BROKEN:
            valid = text if isinstance(text, str) else text.decode("utf-8", "replace")
            ids = data.encode(valid, add_special_tokens=False).ids
            case = {"text": text} if isinstance(text, str) else {"bytes": text.hex()}
            case["ids"] = ids
            named = prompt.encode(valid, add_special_tokens=False).ids
            if named != ids:
                case["prompt"] = named
            case["decoded"] = prompt.decode(named)
            texts.append({**case, "cut": prompt.decode(named[1::2], skip_special_tokens=False)})
        yield {"name": name, "model": which, "patch": patch, "texts": texts}


def random_text(draw):
    parts = []
    for _ in range(draw.randint(1, 12)):
        kind = draw.random()
        if kind < 0.35:
            parts.append(draw.choice(" ".join(TRAINING).split()) + draw.choice(["", " ", "  "]))
        elif kind < 0.5:
            parts.append(draw.choice(HARD)[:40])
        elif kind < 0.65:
            parts.append(draw.choice(" \t\u00a0\u2003\u3000\r" + MARK) * draw.randint(1, 9))
        elif kind < 0.8:
            block = draw.choice([0x20, 0x80, 0xc0, 0x300, 0x400, 0x600, 0x900, 0x1100, 0x1e00, 0x2000, 0x3040, 0x4e00, 0xac00, 0xfb00, 0xff00, 0x1f300])
            parts.append("".join(chr(block + draw.randint(0, 95)) for _ in range(draw.randint(1, 6))))
        elif kind < 0.9:
            points = [draw.randint(0, 0x10ffff) for _ in range(3)]
            parts.append("".join(chr(c) for c in points if not 0xd800 <= c < 0xe000))
        else:
            parts.append(draw.choice(["foo", " sw ", "[TAG]", "a\u0301", "e\u0323\u0301", "\u00e9\u0301", "ab", "  "]))
    return "".join(parts).replace("\n", " ")


def fuzz(program, count, seed):
    bpe, unigram = (json.loads((HERE / name).read_text()) for name in ("pieces_bpe.json", "pieces_unigram.json"))
    draw = random.Random(seed)
    different = tried = 0
    for name, which, patch in variants(bpe, unigram, character_map("nmt_nfkc")):
        document = patched({"bpe": bpe, "unigram": unigram}[which], patch)
        texts = [random_text(draw) for _ in range(count)]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "tokenizer.json"
            file.write_text(json.dumps(document))
            run = subprocess.run([program, "tokenizer", "encode", file], capture_output=True, check=True,
                                 input="".join(text + "\n" for text in texts).encode())
        got = run.stdout.decode().split("\n")[:-1]
        assert len(got) == len(texts), (name, len(got), len(texts))
        before = different
        for text, line, encoding in zip(texts, got, reference(document).encode_batch(texts, add_special_tokens=False)):
            tried += 1
            if [int(word) for word in line.split()] != encoding.ids:
                different += 1
                if different <= before + 3:
                    print(name, ascii(text), line, encoding.ids, sep="\n  ")
    print(f"{tried} texts, {different} different")
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fuzz", metavar="PROGRAM")
    parser.add_argument("--count", type=int, default=2000, help="texts of each variant")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.fuzz:
        return fuzz(options.fuzz, options.count, options.seed)
    bpe, unigram = train_bpe(), train_unigram()
    for name, document in (("pieces_bpe.json", bpe), ("pieces_unigram.json", unigram)):
        pathlib.Path(name).write_text(json.dumps(document, ensure_ascii=False) + "\n")
    text = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases(bpe, unigram, character_map()))
    pathlib.Path("tokenizer_json_cases.json").write_text(f"[\n{text}\n]\n")
    return 0


raise SystemExit(main())
