// The names that other programs and papers use for our keys, values, schemes and tasks.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace roformer {

struct Synonym {
  std::string_view word;        // lower case, underscores
  std::string_view meant;       // a key ("training.batch") or a value ("cuda")
  std::string_view value = {};  // the key's value with this meaning: bf16 for `--bf16`
};

// A word with several meanings is in several rows, the most likely one first.
std::span<const Synonym> synonyms();

// What the word means here: its rows, or the scheme that is also called so (PositionFacts).
std::vector<Synonym> meanings_of(std::string_view word);

// The other names of a key or a value, for searches.
std::vector<std::string_view> other_names_of(std::string_view meant);

}  // namespace roformer
