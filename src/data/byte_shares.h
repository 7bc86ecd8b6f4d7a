// How one file is divided by its bytes, in their order: the first of them train, the next validate,
// the last test, as enwik8 is. A shorter file is taken for a prefix and divided in the same shares.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/corpus.h"

namespace roformer {

struct ByteShares {
  std::array<std::uint64_t, 3> bytes = {};  // by Split, of the whole file; all 0: not divided so
  std::string sha1;                         // of the whole file; empty: not known
  std::string begins_with;                  // what a prefix is known by; empty: not known

  std::uint64_t whole() const { return bytes[0] + bytes[1] + bytes[2]; }
};

struct DividedFile {
  std::uint64_t bytes = 0;          // that the file has
  std::vector<std::uint64_t> cuts;  // where validation and test begin
};

// Reads the corpus' one file from beginning to end. Throws Error where there are several, it can be
// read only once, begins otherwise than the shares say, is longer than they say or too short to be
// divided, or has the right length and another SHA-1.
DividedFile divide_file(const CorpusOptions& corpus, const ByteShares& shares);

}  // namespace roformer
