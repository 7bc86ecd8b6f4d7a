// Settings of `dape`: a small network that changes scores and their bias together, across the heads
// (Zheng 2024, arXiv:2405.14722 and arXiv:2410.04798).
#pragma once

#include <cstdint>

#include "config/word_list.h"

namespace roformer {

// The biases or rotations that the network sees besides the scores.
enum class DapeKind { alibi, kerple, rope };
ROFORMER_WORDS(DapeKind, "alibi", "kerple", "rope");

struct DapeSettings {
  DapeKind kind = DapeKind::kerple;
  std::int64_t kernel = 1;  // neighbouring keys that the network sees; 1: DAPE, more: DAPE V2
  std::int64_t width = 32;  // of the hidden layer
  double slope = 0.01;      // of LeakyReLU
  double base = 10000;      // of rope
};

}  // namespace roformer
