// How much of a held-out set is in the training set word for word.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/dataset.h"

namespace roformer {

struct Overlap {
  std::uint64_t spans = 0;   // different ones of the held-out set
  std::uint64_t shared = 0;  // of these, in the training set too
  std::uint64_t places = 0;  // where the training set has one
};

// Counts the spans of `length` tokens, each inside one document, by a hash of 64 bits. Takes 16
// bytes of memory for each token of the held-out set, and reads the training set once.
Overlap overlap_with_training(const Dataset& dataset, Split held_out, std::size_t length);

}  // namespace roformer
