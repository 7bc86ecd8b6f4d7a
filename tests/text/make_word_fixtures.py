"""Writes the fixtures of Chinese words of this folder with jieba 0.42.1 and transformers 4.57.6 (pip
install jieba 'transformers<5'): texts with the words that `jieba.cut(text, HMM=False)` makes of them
and the pieces of RoFormerTokenizer over that segmentation. The dictionary is the part of jieba's own
(MIT licence) whose words occur in the texts, word_dictionary.txt; the vocabulary is the part of the
Chinese RoFormer's (Apache-2.0, its path is the argument) that they need, word_vocab.txt. Run it in
this folder: python make_word_fixtures.py VOCABULARY"""
import json
import os
import random
import re
import sys

import jieba
from transformers import RoFormerTokenizer

TEXTS = [
    "",
    " ",
    "我来到北京清华大学。",
    "他来到了网易杭研大厦",
    "小明硕士毕业于中国科学院计算所，后在日本京都大学深造",
    "南京市长江大桥于1968年建成通车，全长6772米。",
    "研究生命的起源，结婚的和尚未结婚的。",
    "原告李某1诉称，2015年3月6日，被告夏某1因欠缺资金，向丰辉借款70000元。",
    "请求法院依法判决：1、被告偿还其本金70000元及利息；2、由被告承担本案诉讼费。",
    "中华人民共和国民法典第一千一百六十五条",
    "RoFormer是一种带有旋转位置编码的Transformer模型，base版有12层。",
    "T恤、A股和K歌；C++与c#，3.14%_x-y&z@foo.com",
    "葡萄牙语 ﻿\t零宽​空格　全角空格\r\n换行",
    "繁體中文的詞彙在簡體詞表裡常常是未知的，臺灣與龍門。",
    "ＡＢＣ１２３　“引号”《书名》——破折号……省略号",
    "ÀÉÎ naïve İstanbul ΣΑΣ ﬁnd straße",
    "日本語のひらがなとカタカナ 한국어 текст 😀👍🏽",
    "𠀀𠮷㐀㐁龦龻鿕鿖鿗",
    "abc中def文ghi123四五六789",
    "a" * 101 + "中" + "1" * 100,
    "[CLS][MASK] [UNK]中国[SEP]##国",
    "工信处女干事每月经过下属科室都要亲口交代24口交换机等技术性器件的安装工作",
    "乒乓球拍卖完了，武汉市长江大桥，下雨天留客天留我不留",
]
MADE = ["中国", "北京", "大学", "研究", "生命", "法院", "判决", "的", "了", "a", "B", "12", ".", "-", "#", "+", " ",
        "\n", "，", "é", "Σ", "龦", "鿗", "㐀", "の", "人", "民", "法", "典", "长", "江", "大", "桥", "市"]


def main():
    generator = random.Random(3)
    texts = list(TEXTS)
    for _ in range(40):
        texts.append("".join(generator.choice(MADE) for _ in range(generator.randint(1, 25))))
    everything = "\n".join(texts)
    folder = os.path.dirname(jieba.__file__)
    with open(os.path.join(folder, "dict.txt"), encoding="utf-8") as lines, \
            open("word_dictionary.txt", "w", encoding="utf-8") as kept:
        for line in lines:
            if line.split(" ")[0] in everything:
                kept.write(line)
        kept.write("生命 0 n\n工信处 3\n")  # a word that is none, and one without a tag

    def tokenizer(vocabulary, lower):
        made = RoFormerTokenizer(vocabulary, do_lower_case=lower)
        class Words:
            dictionary = jieba.Tokenizer(dictionary=os.path.abspath("word_dictionary.txt"))
            def cut(self, text, hmm):
                assert not hmm
                return list(self.dictionary.cut(text, HMM=False))
        made.jieba = Words()
        return made

    whole = tokenizer(sys.argv[1], True)
    with open(sys.argv[1], encoding="utf-8") as lines:
        vocabulary = [line.rstrip("\n") for line in lines]
    # A part of it, so that some words are missing: what the texts need, less every seventh word.
    needed = set()
    for text in texts:
        for lower in (True, False):
            whole.basic_tokenizer.do_lower_case = lower
            needed.update(whole.tokenize(text))
        needed.update(text)
    words = [piece for piece in vocabulary if len(piece) > 1 and piece in needed and not piece.startswith(("[", "##"))]
    dropped = set(words[::7])
    kept = [piece for piece in vocabulary if piece in needed and piece not in dropped or re.fullmatch(r"\[(PAD|UNK|CLS|SEP|MASK)\]", piece)]
    with open("word_vocab.txt", "w", encoding="utf-8", newline="\n") as file:
        file.write("".join(piece + "\n" for piece in kept))

    cases = []
    lowered, cased = tokenizer("word_vocab.txt", True), tokenizer("word_vocab.txt", False)
    special = re.compile(r"\[(PAD|UNK|CLS|SEP|MASK)\]")
    for text in texts:
        case = {"text": text, "words": lowered.jieba.cut(text, False)}
        # Special tokens in the text are text here, and tokens of their own there.
        if not special.search(text):
            case["uncased"] = lowered.convert_tokens_to_ids(lowered.tokenize(text))
            case["cased"] = cased.convert_tokens_to_ids(cased.tokenize(text))
        cases.append(case)
    with open("word_cases.json", "w", encoding="utf-8") as file:
        json.dump(cases, file, ensure_ascii=False, indent=0)
        file.write("\n")


main()
