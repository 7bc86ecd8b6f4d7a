#!/usr/bin/env python3
"""Writes src/text/new_code_points.h: the general categories that the regular expressions of Hugging
Face's `tokenizers` give to code points which Python's Unicode (14.0 in 3.11) does not have yet.

    pip install tokenizers==0.23.3 && python3 make_new_code_points.py > ../../src/text/new_code_points.h
"""
import unicodedata

from tokenizers import Regex, pre_tokenizers

NAMES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cf").split()
HEAD = """// Categories of the code points that Unicode assigned after version 14, as the regular expressions of
// Hugging Face's tokenizers know them; for an ICU that is older. Made by
// tests/text/make_new_code_points.py.
#pragma once

#include <unicode/uchar.h>

#include <cstdint>

namespace roformer {

struct NewCodePoints {
  char32_t first, last;
  std::uint32_t category;  // U_GC_..._MASK
};

inline constexpr NewCodePoints kNewCodePoints[] = {"""


def members(name, points):
    split = pre_tokenizers.Split(Regex(f"\\p{{{name}}}"), "removed", invert=True)
    text = "".join(map(chr, points))
    return {ord(c) for part, _ in split.pre_tokenize_str(text) for c in part}


def main():
    points = [c for c in range(0x110000) if unicodedata.category(chr(c)) == "Cn"]
    category = {c: name for name in NAMES for c in members(name, points)}
    ranges = []
    for point in sorted(category):
        if ranges and ranges[-1][1] == point - 1 and ranges[-1][2] == category[point]:
            ranges[-1][1] = point
        else:
            ranges.append([point, point, category[point]])
    print(HEAD)
    for first, last, name in ranges:
        print(f"    {{0x{first:X}, 0x{last:X}, U_GC_{name.upper()}_MASK}},")
    print("};\n\n}  // namespace roformer")


main()
