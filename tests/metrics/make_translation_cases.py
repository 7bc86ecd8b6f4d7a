"""Makes translation_cases.json: texts with the scores of sacreBLEU and the tokens of Moses beside them.

Run: python make_translation_cases.py MOSES > translation_cases.json
with sacrebleu 2.6.0 and numpy 2 installed; MOSES is a checkout of mosesdecoder, whose Perl scripts
tokenizer.perl and multi-bleu.perl say what the older BLEU is. The texts are made up: invented
sentences and whatever is odd in Unicode.
"""
import itertools
import json
import logging
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.bleu import _get_tokenizer
from sacrebleu.significance import PairedTest

assert sacrebleu.__version__ == "2.6.0" and numpy.__version__.startswith("2.")
logging.disable(logging.WARNING)
moses = pathlib.Path(sys.argv[1]).resolve() / "scripts"
dice = random.Random(20240917)

ODD = [  # hypothesis, another hypothesis, reference
    ("", "", ""),
    ("", "etwas", "Hier steht ein Satz."),
    ("Hier steht ein Satz.", "", ""),
    ("Wort", "Wort", "Wort"),
    ("Wort", "Worte", "Haus"),
    ("a", "b", "a"),
    (".", "…", "."),
    ("Zwei Wörter", "Wörter zwei", "Zwei Wörter"),
    ("   führende und folgende Leerzeichen \u3000\u00a0", "führende und folgende", "führende und folgende Leerzeichen"),
    ("geschützte\u00a0Leer\u2009zeichen\u3000hier\u0085und\u2028da", "geschützte Leer zeichen", "geschützte Leer zeichen hier und da"),
    ("Trenner\x1cvon\x1dASCII\x1eund\x1fTab\tund\rRücklauf\x0b\x0cEnde", "Trenner von ASCII", "Trenner von ASCII und Tab und Rücklauf Ende"),
    ("kein\u200bLeerzeichen \u2060und\ufeff BOM\u00adweich", "kein Leerzeichen", "kein\u200bLeerzeichen und BOM"),
    ("\x01Steuer\x02zeichen \x03 hier", "Steuer zeichen", "Steuerzeichen hier"),
    ("İSTANBUL ΣΊΣΥΦΟΣ ΟΔΟΣ. ΣΑΣ' Ǆ ẞ ŒUVRE", "istanbul σίσυφος οδος", "i̇stanbul σίσυφος οδός. σας' ǆ ß œuvre"),
    ("Cafe\u0301 nai\u0308ve e\u0301e\u0301 \u0301allein", "Café naïve", "Café naïve éé allein"),
    ("👩‍👩‍👧‍👦 und 🇩🇪🇫🇷 ☺️✔︎ ❤", "👩 und 🇩🇪", "👩‍👩‍👧‍👦 und 🇩🇪 ☺ ❤"),
    ("他今天去了北京大学，买了3.5公斤苹果。", "他去北京，买了三公斤苹果。", "他今天去北京大学买了3.5公斤的苹果。"),
    ("𠀀𪛖㐀䶵龥龻豈﨩ｗｉｄｅ１２３，．！？", "𠀀㐀龥ｗｉｄｅ", "𠀀𪛖㐀䶵龥龻豈 ｗｉｄｅ１２３"),
    ("第(一)章:“引言”《书》〈章〉【注】「引」、・｡･", "第一章：引言", "第（一）章：「引言」《书》"),
    ("東京タワーは高さ３３３メートルです。ﾊﾝｶｸ", "東京タワーは３３３メートル。", "東京タワーの高さは333メートルです。"),
    ("한국어 문장은 띄어쓰기가 있습니다. 그렇죠?", "한국어 문장입니다.", "한국어 문장에는 띄어쓰기가 있습니다."),
    ("مرحبا بالعالم، كيف حالك؟ ٣٫٥ و ١٬٠٠٠", "مرحبا بالعالم", "مرحبا يا عالم، كيف حالك؟ ٣٫٥"),
    ("नमस्ते दुनिया। १२३.४ किलो", "नमस्ते दुनिया", "नमस्ते दुनिया। १२३.४ किलोग्राम"),
    ("½ + ² = Ⅷ ①, ㈱ ㌔ №5", "½ + ²", "½ plus ² = Ⅷ ①, ㈱"),
    ("€5,50 $3.99 £2 ¥100 ₿1 5% 5‰ 3°C ±2 ×4 ÷5", "€5,50 und $3.99", "5,50 € 3,99 $ £2 ¥100"),
    ("&quot;Zitat&quot; &amp; &lt;b&gt; &amp;lt; &apos; &#39;", "\"Zitat\" & <b>", "\"Zitat\" & <b> &lt;"),
    ("<skipped> davor<skipped>danach &amp", "davor danach", "davor danach &"),
    ("1,000.50-3 a.b.c. ... 3.14. 5, ,5 .5 5- -5 1-2 x-1", "1,000.50-3", "1,000.50 - 3 a.b.c. … 3,14."),
    ("A,B,C,D,E,, 1,2,3 a,1 1,a 5,", "A, B, C", "A,B,C,D,E 1,2,3"),
    ("Satz.Ohne.Leerzeichen. Und..zwei Punkte...drei.... Ende..", "Satz. Ohne", "Satz. Ohne Leerzeichen. Und.. zwei"),
    ("z.B. d.h. usw. Hr. Nr. 5 No. 5 No. x pp. 3 Art. 7 Dr. Meier bzw. nicht. Ja.", "z. B. d. h.", "z.B. d.h. usw. Hr. Nr. 5"),
    ("usw. (siehe oben) etc. , 12. Mai 3. U.S. troops u.s.w. Fig. 1990's", "usw. siehe", "usw. (siehe oben) 12. Mai"),
    ("I don't, can't; rock'n'roll '90s 1990's dogs' \"it's'\" O'Neill's x'", "I do not", "I don't, can't; rock 'n' roll '90s"),
    ("Er sagte 'nein.' und 'ja.'", "Er sagte nein.", "Er sagte: 'nein' und 'ja.'"),
    ("a-b-c-d ä-ö-ü rich-text-format x--y -z- E-Mail-Adresse 中-文-字 ##AT##-##AT##", "rich text format", "a-b-c-d rich-text format E-Mail-Adresse"),
    ("[x] {y} (z) | \\ ` ~ ^ _ @ # * + = < > / ; : ! ?", "[x] {y}", "[x] (z) | / ; : ! ?"),
    ("(hi) \"quoted\", --dash-- ...dots... 'a' - b", "(hi) quoted", "(hi) \"quoted\" -- dash"),
    ("http://example.org/a_b?c=d&e=f user@example.org #tag @name", "http://example.org", "http://example.org/a_b user@example.org #tag"),
    ("„Deutsch“ «français» “english” ‘single’ ‚tief‘ – — ‐ ‑ ―", "„Deutsch“", "„Deutsch“ «français» \"english\" – —"),
    ("ﬁn ﬂ ﬀ ĳ ŉ ǰ ΐ ﬃ", "fin", "fin fl ff"),
    ("replacement \ufffd private \ue000 \U000f0000 last \U0010fffd", "replacement", "replacement \ufffd"),
    ("das das das das das das", "das", "das das"),
    (" ".join(["a", "b"] * 40), " ".join(["b", "a"] * 30), " ".join(["b", "a"] * 35)),
    (" ".join(str(i) for i in range(70)), " ".join(str(i) for i in range(69, -1, -1)),
     " ".join(str((i * 29) % 70) for i in range(70))),
    ("eins", "zwei", " ".join(f"w{i}" for i in range(120))),
    (" ".join(f"w{i}" for i in range(120)), "w1 w5", "w3 w4 w5"),
]
WORDS = ("der die das ein eine Haus Häuser Mann Frau geht sieht groß größer schnell am im über unter nicht "
         "heute 3.5 1990 Berlin E-Mail z.B. und oder aber weil 's it's U.S. Straße läuft kam war ist").split()


def invent():
    words = [dice.choice(WORDS) for _ in range(dice.randint(3, 25))]
    if len(words) > 8:
        words[dice.randint(3, 6)] += dice.choice([",", ";", ":", " -", " (so)"])
    return (" ".join(words).capitalize() + dice.choice([".", "!", "?", ".", ""]))


def worsen(line, changes):
    words = line.split()
    for _ in range(changes):
        if len(words) < 2:
            break
        where, kind = dice.randrange(len(words)), dice.randrange(4)
        if kind == 0:
            words[where] = dice.choice(WORDS)
        elif kind == 1:
            words.insert(where, dice.choice(WORDS))
        elif kind == 2:
            del words[where]
        else:
            size = dice.randint(1, 4)
            part = words[where:where + size]
            del words[where:where + size]
            at = dice.randint(0, len(words))
            words[at:at] = part
    return " ".join(words)


first = [h for h, _, _ in ODD]
second = [o for _, o, _ in ODD]
references = [[r for _, _, r in ODD], [], []]
for _ in range(30):
    line = invent()
    references[0].append(line)
    first.append(worsen(line, dice.randint(0, 5)))
    second.append(worsen(line, dice.randint(2, 9)))
references[1] = [worsen(line, 3) for line in references[0]]
references[2] = [worsen(line, 5).lower() for line in references[0]]
lines = sorted({line.rstrip() for line in first + [r for _, _, r in ODD]})  # for the tokenizers
first, second = [[line.rstrip() for line in system] for system in (first, second)]
references = [[line.rstrip() for line in reference] for reference in references]


def perl(script, text, *arguments):
    run = subprocess.run(["perl", moses / script, *arguments], input=text.encode(), capture_output=True, check=True)
    return run.stdout.decode()


def moses_tokens(texts, language):
    # One process a line: a line holds no line feed, but the script's output must not either.
    output = perl("tokenizer/tokenizer.perl", "".join(t + "\n" for t in texts), "-q", "-l", language)
    return [" ".join(t.split(" ")).strip(" ") for t in output.split("\n")[:-1]]


def compounds(tokens):
    program = r"s{(\S)-(\S)}{$1 ##AT##-##AT## $2}g"
    run = subprocess.run(["perl", "-ple", program], input="".join(t + "\n" for t in tokens).encode(),
                         capture_output=True, check=True)
    return run.stdout.decode().split("\n")[:-1]


def multi_bleu(language, lowercase, count):
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            text = "".join(t + "\n" for t in compounds(moses_tokens(references[i], language)))
            (pathlib.Path(folder) / f"ref{i}").write_text(text, newline="")
        found = "".join(t + "\n" for t in compounds(moses_tokens(first, language)))
        output = perl("generic/multi-bleu.perl", found, *(["-lc"] if lowercase else []), f"{folder}/ref")
    return {"language": language, "lowercase": lowercase, "references": count, "output": output.strip()}


METRICS = {"bleu": BLEU, "chrf": CHRF, "ter": TER}


def score(metric, count, **settings):
    scorer = METRICS[metric](**settings)
    result = scorer.corpus_score(first, references[:count])
    signature = str(scorer.get_signature())
    sentences = [scorer.sentence_score(h, list(r)).score for h, *r in zip(first, *references[:count])]
    resampled = METRICS[metric](**settings)
    interval = resampled.corpus_score(first, references[:count], n_bootstrap=200)
    return {"metric": metric, "references": count, "settings": settings, "name": result.name,
            "score": result.score, "details": result._verbose, "signature": signature, "sentences": sentences,
            "mean": float(interval._mean), "half_width": float(interval._ci),
            "resampled_signature": str(resampled.get_signature())}


def paired(metric, count, test, samples, **settings):
    named = [("first", first), ("second", second)]
    signatures, scores = PairedTest(named, {metric: METRICS[metric](**settings)}, references[:count],
                                    test_type=test, n_samples=samples)()
    (name, results), = [(n, r) for n, r in scores.items() if n != "System"]
    return {"metric": metric, "references": count, "settings": settings, "test": test, "samples": samples,
            "signature": str(signatures[name]),
            "results": [{"score": r.score, "p_value": r.p_value, "mean": r.mean and float(r.mean),
                         "half_width": r.ci and float(r.ci)} for r in results]}


def random_case(seed, bound):
    return {"seed": seed, "bound": bound,
            "below": numpy.random.default_rng(seed).choice(bound, size=(3, 7)).flatten().tolist(),
            "bits": numpy.random.default_rng(seed).integers(2, size=70, dtype=bool).astype(int).tolist()}


def mean_case(size, kind):
    values = numpy.random.default_rng(size).random(size).astype(kind) * 100
    return {"single": kind == "float32", "values": values.astype(float).tolist(), "mean": float(values.mean())}


def command(*arguments):
    """Runs sacrebleu on files one.txt, two.txt, ref.txt, ref2.txt; ours takes the hypotheses first."""
    files = {"one.txt": first, "two.txt": second, "ref.txt": references[0], "ref2.txt": references[1]}
    with tempfile.TemporaryDirectory() as folder:
        for name, texts in files.items():
            (pathlib.Path(folder) / name).write_text("".join(t + "\n" for t in texts), newline="")
        program = [sys.executable, "-m", "sacrebleu", *arguments, "-q", "--no-color"]
        run = subprocess.run(program, capture_output=True, check=True, cwd=folder)
    return run.stdout.decode()


def commands():
    def case(ours, *theirs):
        return {"arguments": ours, "output": command(*theirs)}
    one, two = ["one.txt", "ref.txt"], ["one.txt", "ref.txt", "--other", "two.txt"]
    both, i = ["--metrics", "bleu,chrf,ter"], ["ref.txt", "-i", "one.txt"]
    theirs = ["-m", "bleu", "chrf", "ter"]
    return [
        case(one, *i, "-f", "text"),
        case(one + both, *i, *theirs, "-f", "text"),
        case(one + both + ["--width", "3", "--confidence"], *i, *theirs, "-f", "text", "-w", "3", "--confidence"),
        case(one + both + ["--format", "json", "--confidence"], *i, *theirs, "--confidence"),
        case(one + ["--format", "json"], *i),
        case(one + both + ["--score-only"], *i, *theirs, "-f", "text", "-b"),
        case(["one.txt", "ref.txt", "ref2.txt"], "ref.txt", "ref2.txt", "-i", "one.txt", "-f", "text"),
        case(one + ["--sentence-level", "--width", "4"], *i, "-sl", "-w", "4"),
        case(two + both, *i, "two.txt", *theirs, "-f", "text"),
        case(two + ["--format", "json"], *i, "two.txt"),
        case(two + both + ["--paired-bs"], *i, "two.txt", *theirs, "--paired-bs", "-f", "text"),
        case(two + both + ["--paired-ar", "--paired-ar-n", "500"], *i, "two.txt", *theirs, "--paired-ar", "-f",
             "text", "--paired-ar-n", "500"),
        case(two + ["--paired-bs", "--format", "json"], *i, "two.txt", "--paired-bs"),
    ]


json.dump({
    "first": first, "second": second, "references": references, "lines": lines,
    "lower": [line.lower() for line in lines],
    "tokens": {name: [" ".join(_get_tokenizer(name)()(line).split()) for line in lines]
               for name in ("13a", "intl", "char", "zh")},
    "tercom": [{"settings": settings, "tokens": [TER(**settings)._preprocess_segment(line) for line in lines]}
               for settings in [dict(zip(("normalized", "no_punct", "asian_support"), flags))
                                for flags in itertools.product((False, True), repeat=3)]],
    "moses": {language: moses_tokens(lines, language) for language in ("en", "de")},
    "compounds": compounds(moses_tokens(lines, "de")),
    "scores":
        [score("bleu", 1, tokenize=t, lowercase=lc) for t in ("13a", "intl", "char", "none", "zh")
         for lc in (False, True)] +
        [score("bleu", n, smooth_method=m, smooth_value=v, effective_order=e)
         for n in (1, 3) for e in (False, True)
         for m, v in (("exp", None), ("floor", None), ("floor", 0.3), ("add-k", None), ("add-k", 0.5), ("none", None))] +
        [score("chrf", n, **s) for n in (1, 3)
         for s in ({}, {"word_order": 2}, {"char_order": 4, "word_order": 1, "beta": 3}, {"whitespace": True},
                   {"lowercase": True, "word_order": 2}, {"eps_smoothing": True, "word_order": 2})] +
        [score("ter", n, **s) for n in (1, 3)
         for s in ({}, {"normalized": True}, {"no_punct": True}, {"case_sensitive": True},
                   {"normalized": True, "no_punct": True, "asian_support": True})],
    "paired":
        [paired(m, n, t, s, **settings) for m, settings in
         (("bleu", {}), ("bleu", {"smooth_method": "add-k", "smooth_value": 0.7}), ("bleu", {"smooth_method": "floor"}),
          ("chrf", {}), ("chrf", {"word_order": 2, "eps_smoothing": True}), ("ter", {}))
         for t, s in (("bs", 1000), ("ar", 1000)) for n in (1, 2)],
    "multi_bleu": [multi_bleu(language, lowercase, count) for language in ("en", "de")
                   for lowercase in (False, True) for count in (1, 3)],
    "random": [random_case(seed, bound) for seed in (1, 12345, 2**63)
               for bound in (1, 2, 7, 3004, 2**31 - 1, 3 * 2**30)],
    "means": [mean_case(size, kind) for size in (1, 5, 8, 100, 128, 129) for kind in ("float32", "float64")],
    "commands": commands(),
}, sys.stdout, ensure_ascii=False, separators=(",", ":"))
print()
