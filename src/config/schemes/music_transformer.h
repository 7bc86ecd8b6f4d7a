// Settings of `music_transformer`: a table of distances for each head (Huang 2018).
#pragma once

#include <cstdint>

namespace roformer {

struct MusicTransformerSettings {
  std::int64_t length = 512;
};

}  // namespace roformer
