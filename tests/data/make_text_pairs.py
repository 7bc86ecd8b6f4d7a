"""Writes text_pairs.json with Hugging Face's BERT tokenizer (pip install transformers; made with
5.23.0): sentences and pairs of invented words of all lengths, cut to many lengths, as ids and token
types. Run it in this folder."""
import json
import random
import tempfile

from transformers import BertTokenizer

WORDS = ["the", "cat", "dog", "runs", "sees", "##ning", "a", "red", "blue", "house", ".", ",", "?"]
vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS
with tempfile.NamedTemporaryFile("w", suffix="vocab.txt", delete=False) as file:
    file.write("\n".join(vocabulary) + "\n")
tokenizer = BertTokenizer(file.name)
random.seed(7)


def sentence(length):
    return " ".join(random.choice(WORDS[:5] + WORDS[6:]) for _ in range(length))


cases = []
for first in (0, 1, 2, 5, 6, 9):
    for second in (None, 1, 4, 5, 6, 10):
        for length in (3, 4, 7, 8, 12, 13, 64):
            if first == 0 and second is None or second is not None and length < 5:
                continue
            texts = [sentence(first)] + ([] if second is None else [sentence(second)])
            encoded = tokenizer(*texts, truncation="longest_first", max_length=length)
            cases.append({"first": texts[0], "second": texts[1] if second is not None else None,
                          "length": length, "ids": encoded["input_ids"],
                          "types": encoded["token_type_ids"]})
with open("text_pairs.json", "w") as file:
    file.write('{"vocabulary": ' + json.dumps(vocabulary) + ',\n"cases": [\n')
    file.write(",\n".join(json.dumps(case) for case in cases) + "\n]}\n")
print(len(cases), "cases")
