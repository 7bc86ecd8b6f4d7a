"""Writes wordpiece_rules_cases.json with Hugging Face's `tokenizers` (pip install tokenizers; made
with 0.23.1): the texts of wordpiece_cases.json with each way of BERT's normaliser but the two plain
ones, and with added tokens. Run it in this folder after make_wordpiece_fixtures.py."""
import itertools
import json

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

ADDED = [  # content, and what differs from the defaults
    ("<new>", {}), ("New Words", {}), ("x\u0301y", {}), ("\u4e2d\u56fd", {}), ("<Raw>", {"normalized": False}),
    ("sw", {"single_word": True}), ("<l>", {"lstrip": True}), ("<r>", {"rstrip": True, "normalized": False}),
    ("[E1]", {"special": True}), ("<e2>", {"special": True, "lstrip": True}), ("<new><new>", {}),
    ("hello", {}), ("[MASK]", {"special": True, "lstrip": True}),
]
TEXTS = [
    "x <new> y", "x<NEW>y <new><new><new>", "new words NEW  WORDS New Words", "x\u0301y xy X\u0301Y", "a\u4e2d\u56fdb \u4e2d \u56fd",
    "<Raw> <raw>", "sw sword sw. asw \u4e2dsw", "a  <l>  b <l>", "a <r>  b", "a [E1] b[e1]", "a  <e2> b", "hello Hello hellohello",
    "a  [MASK] b [CLS]c [PAD]", "[UNK] [unused1]", "<new", "", " ", "<new> ", " <new>", "na\u00efve caf\u00e9 \u0130 \u1e9e \u03a3",
    "\u5317\u4eac\u5927\u5b66\u751f \u304c\u304b\u3099 \u30d7\u30ed abc\u4e2ddef", "\u00dcBERGR\u00d6SSE Stra\u00dfe Ma\u00df",
]


def tokenizer_of(entries, rules, tokens):
    tokenizer = Tokenizer(models.WordPiece({entry: id for id, entry in enumerate(entries)}, unk_token="[UNK]",
                                           max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(**rules)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    for token in tokens:  # one by one, so that the ids are in this order
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return tokenizer


def main():
    entries = open("wordpiece_vocab.txt", encoding="utf-8", newline="\n").read().split("\n")[:-1]
    assert len(set(entries)) == len(entries)
    texts = [bytes.fromhex(case["bytes"]) for case in json.load(open("wordpiece_cases.json"))]
    texts = texts[::2] + [text.encode() for text in TEXTS]
    # All content is in the vocabulary or counts on from it.
    numbers, next_id = {}, len(entries)
    for content, _ in ADDED:
        numbers[content] = entries.index(content) if content in entries else next_id
        next_id += content not in entries
    sets = [({"lowercase": lower, "strip_accents": strip, "handle_chinese_chars": chinese}, False)
            for lower, strip, chinese in itertools.product((False, True), repeat=3)
            if lower != strip or not chinese]
    sets += [({"lowercase": True, "strip_accents": True, "handle_chinese_chars": True}, True),
             ({"lowercase": False, "strip_accents": False, "handle_chinese_chars": True}, True),
             ({"lowercase": True, "strip_accents": False, "handle_chinese_chars": False}, True)]
    result = []
    for rules, added in sets:
        tokens = [AddedToken(content, **{"normalized": not options.get("special", False), **options})
                  for content, options in (ADDED if added else [])]
        roles = [AddedToken(name, special=True, normalized=False) for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
        everything = tokenizer_of(entries, rules, tokens + [role for role in roles if role.content not in {t.content for t in tokens}])
        shift = {everything.token_to_id(content): numbers[content] for content in numbers if added}
        # Data never yield special tokens: a reference that does not know them. Its ids of the others are moved.
        plain_tokens = [token for token in tokens if not token.special]
        plain = tokenizer_of(entries, rules, plain_tokens)
        plain_shift = {plain.token_to_id(token.content): numbers[token.content] for token in plain_tokens}
        ids = lambda tokenizer, moved, text: [moved.get(id, id) for id in tokenizer.encode(text, add_special_tokens=False).ids]
        cases = []
        for text in texts:
            decoded = text.decode("utf-8", "replace")
            case = {"bytes": text.hex(), "ids": ids(plain, plain_shift, decoded)}
            prompt = ids(everything, shift, decoded)
            if prompt != case["ids"]:
                case["prompt"] = prompt
            cases.append(case)
        result.append({"rules": rules, "added": [
            {"id": numbers[token.content], "content": token.content, "single_word": token.single_word, "lstrip": token.lstrip,
             "rstrip": token.rstrip, "normalized": token.normalized, "special": token.special} for token in tokens], "texts": cases})
    with open("wordpiece_rules_cases.json", "w") as file:
        file.write("[\n" + ",\n".join(
            json.dumps({k: v for k, v in one.items() if k != "texts"})[:-1] + ', "texts": [\n' +
            ",\n".join(json.dumps(case, separators=(",", ":")) for case in one["texts"]) + "\n]}" for one in result) + "\n]\n")


main()
