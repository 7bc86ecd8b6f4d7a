// The readers of torch.save's archives that are fuzzed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "fuzz/reader.h"
#include "fuzz/torch_archive.h"
#include "tensor/pickled_tensors.h"
#include "tensor/stored_zip.h"

namespace roformer::fuzz {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Members lie inside the archive.
inline void read_zip(std::string_view input) {
  for (const StoredMember& member : stored_members(bytes_of(input), kFile)) {
    ROFORMER_ASSERT(member.begin <= input.size() && member.size <= input.size() - member.begin);
    ROFORMER_ASSERT(member.name.data() >= input.data() &&
                    member.name.data() + member.name.size() <= input.data() + input.size());
  }
}

// Tensors lie inside the archive's storages.
inline void read_pickle(std::string_view input) {
  const std::string archive = torch_archive(input);
  const std::size_t begin = archive.find("\1\1\1\1\1\1\1\1\1\1\1\1");
  for (const SafetensorsEntry& entry : parse_pickled_tensors(bytes_of(archive), kFile)) {
    std::size_t last = 0, elements = 1;
    ROFORMER_ASSERT(entry.shape.size() == entry.strides.size());
    for (std::size_t i = 0; i < entry.shape.size(); ++i) {
      ROFORMER_ASSERT(entry.shape[i] >= 0 && entry.strides[i] >= 0);
      elements *= static_cast<std::size_t>(entry.shape[i]);
      last += static_cast<std::size_t>((entry.shape[i] - 1) * entry.strides[i]);
    }
    const std::size_t size = safetensors_bytes(entry.type);
    ROFORMER_ASSERT(entry.begin >= begin && entry.begin <= entry.end &&
                    entry.end <= archive.size());
    ROFORMER_ASSERT(elements == 0 || entry.end - entry.begin == (last + 1) * size);
    ROFORMER_ASSERT(elements * size <= 24);
  }
}

}  // namespace roformer::fuzz
