// How often each word of a corpus occurs, in bounded memory: natural text repeats its words, so
// that 100 MB of it hold a million or two of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/text_hash.h"

namespace roformer {

class WordCounts {
 public:
  using Map = std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>>;

  // Where there are more different words than `limit`, the rarest are forgotten.
  explicit WordCounts(std::size_t limit = 10'000'000) : limit_(limit) {}

  void add(std::string_view word, std::uint64_t count = 1);
  const Map& counts() const { return counts_; }
  // The highest count of a word that was forgotten; 0: every count is exact.
  std::uint64_t forgotten() const { return forgotten_; }

 private:
  std::size_t limit_;
  std::uint64_t forgotten_ = 0;
  Map counts_;

  void forget_rarest();
};

}  // namespace roformer
