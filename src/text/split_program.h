// A pattern that splits text, as its reader builds it and its matcher walks it (split_pattern.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/character_class.h"
#include "text/split_pattern.h"

namespace roformer {

// The value of the next node if the pattern, or the part in a lookahead, is over.
constexpr int kAccept = -1;

struct PatternNode {
  // lookbehind_end: the end of the part inside a lookbehind, which must be where it began to look
  enum class Kind { characters, choice, lookahead, lookbehind, lookbehind_end };
  Kind kind = Kind::characters;
  int next = kAccept;
  std::size_t set = 0;      // of characters
  int least = 1, most = 1;  // lookbehind: characters of the part inside
  bool possessive = false;
  bool negative = false;   // lookahead, lookbehind
  std::vector<int> parts;  // choice: the alternatives; lookahead, lookbehind: the one inside
};

// A compiled pattern; the matcher walks its nodes over a text.
struct SplitProgram {
  std::vector<PatternNode> nodes;
  std::vector<CharacterClass> sets;
  int start = kAccept;
};

// Throws Error (failure, `location`) for a pattern that split_pattern.h does not promise to read.
SplitProgram read_split_program(std::string_view pattern, const std::string& location,
                                EmptyMatches empty);

}  // namespace roformer
