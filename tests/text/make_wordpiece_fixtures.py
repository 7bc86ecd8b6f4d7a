"""Writes the WordPiece fixtures of this folder with Hugging Face's `tokenizers` (pip install
tokenizers; made with 0.23.3): a small vocabulary, hard and random texts with their ids, and what the
reference does with each code point. Run it in this folder."""
import json
import random
import unicodedata

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

HARD = [
    "", " ", "\t\r\n", "Hello, world!", "[MASK] [CLS] <mask> [UNK] [PAD]", "##ing ## #x",
    "e\u0301te\u0301 \u00e9t\u00e9 \u1e69 s\u0323\u0307 s\u0307\u0323", "\u0301", "a\u200b\u0301b",
    "na\u00efve caf\u00e9 \u0130stanbul STRASSE stra\u00dfe \u03a3\u0391\u03a3 \ufb01nd",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd",
    "\u4f60\u597d\u4e16\u754c abc\u4e2ddef \u3042\u30a2\u304c \uac00\uac01\ud55c\uae00 \uf900 \U0002f800",
    "\uff21\uff22\uff23 \uff11\uff12 \uff01 \uffe5 \u3000x", "\u037e \u0387 \u2260 \u226e \u1fef a\u226eb",
    "a\x00b\x01c\x7fd\x85e\u00ade\ufeff\u2028f\u2029g\u00a0h\u1680i", "\ufffd a\ufffdb", "\ue000\U000f0000x",
    "\u302e\u302f a\u302e\u0301b \U0001d15e\U0001d165\U0001d16d q\U0001d165\u302eq", "\u0e01\u0e33 \u0915\u094d\u0937",
    "x" * 100, "x" * 101, "ab " + "\u00e9" * 100 + " " + "\u00e9" * 101, "\u1e69" * 100, "don't can\u2019t \u201cquoted\u201d",
    "$5+3=8 ^_^ `~` <|>", "unaffable unaffablest \u00dcBERGR\u00d6SSE", "\u01c5 \u1f88 \u0149 \u0390 \u1e9e",
]
BROKEN = [b"\xff", b"a\xffb", b"\xc3", b"a\xe4\xb8", b"\xf0\x9f\x98 x", b"\xc0\xaf\xed\xa0\x80", b"ok \xe2\x28\xa1 ok", b"\x80\x80a"]


def roles(text_words):
    if text_words == ["ab"]:
        return "dropped", ""
    if text_words == ["a", "b"]:
        return "space", ""
    if len(text_words) == 3 and text_words[0] == "a" and text_words[2] == "b":
        return "punctuation", text_words[1]
    if len(text_words) == 1:
        return "letter", text_words[0][1:-1]
    return "plain", ""


def words(normalizer, text):
    pieces = pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normalizer.normalize_str(text))
    return [piece for piece, _ in pieces]


def main():
    generator = random.Random(7)
    old = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000
           and unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Co")]
    old_marks = [c for c in old if unicodedata.category(chr(c)).startswith("M")]
    small = [c for c in old if c < 0x600]
    texts = [text.encode() for text in HARD] + BROKEN
    for _ in range(150):
        pool = generator.choice([old, small, small + old_marks * 2])
        texts.append("".join(chr(generator.choice(pool)) if generator.random() < 0.8 else " "
                             for _ in range(24)).encode())

    normalizer = {False: normalizers.BertNormalizer(lowercase=True),
                  True: normalizers.BertNormalizer(lowercase=False)}
    entries = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "un", "##aff", "##able", "##ing", "##"]
    found = {}
    for text in texts:
        for cased in (False, True):
            for word in words(normalizer[cased], text.decode("utf-8", "replace")):
                for place, character in enumerate(word):
                    found[("##" if place else "") + character] = None
                if len(word) > 2:
                    found[word[:2]] = None
    generator.shuffle(listed := list(found))
    # A part is left out, so that [UNK] occurs.
    entries += [entry for entry in listed[: len(listed) * 9 // 10] if entry not in entries]
    with open("wordpiece_vocab.txt", "w", encoding="utf-8", newline="\n") as file:
        file.write("".join(entry + "\n" for entry in entries))

    cases = []
    for text in texts:
        case = {"bytes": text.hex()}
        for cased in (False, True):
            tokenizer = Tokenizer(models.WordPiece({entry: id for id, entry in enumerate(entries)},
                                                   unk_token="[UNK]", max_input_chars_per_word=100))
            tokenizer.normalizer = normalizer[cased]
            tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            case["cased" if cased else "uncased"] = tokenizer.encode(text.decode("utf-8", "replace")).ids
        cases.append(case)
    with open("wordpiece_cases.json", "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")

    runs, changed = [], []
    for point in range(0x110000):
        if 0xD800 <= point < 0xE000:
            continue
        text = "a" + chr(point) + "b"
        role, _ = roles(words(normalizer[True], text))
        uncased_role, written = roles(words(normalizer[False], text))
        if written not in ("", chr(point)) and not 0xAC00 <= point <= 0xD7A3:
            changed.append(f"{point:X} {written.encode().hex()}")
        if runs and runs[-1][1] == point - 1 and runs[-1][2:] == [role, uncased_role]:
            runs[-1][1] = point
        else:
            runs.append([point, point, role, uncased_role])
    with open("code_point_roles.txt", "w") as file:
        file.writelines(f"{first:X} {last:X} {cased[0]}{uncased[0]}\n" for first, last, cased, uncased in runs)
    with open("code_point_uncased.txt", "w") as file:
        file.writelines(line + "\n" for line in changed)


main()
