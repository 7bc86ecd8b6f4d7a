// The reader of golden files that is fuzzed.
#pragma once

#include <ATen/core/Tensor.h>

#include "analysis/golden_file.h"
#include "fuzz/memory_file.h"
#include "fuzz/reader.h"

namespace roformer::fuzz {

inline void read_golden(std::string_view input) {
  const MemoryFile file(input);
  const GoldenCase read = read_golden_case(file.path());
  for (const GoldenArrays* arrays : {&read.inputs, &read.parameters, &read.expected}) {
    for (const auto& [name, array] : *arrays) {
      ROFORMER_ASSERT(array.defined() && array.numel() <= static_cast<std::int64_t>(input.size()));
    }
  }
}

inline constexpr Reader kReaders[] = {{"golden", read_golden}};

}  // namespace roformer::fuzz
