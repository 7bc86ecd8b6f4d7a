// Settings of `cope`: positions counted by gates of the content (Golovneva 2024).
#pragma once

#include <cstdint>

namespace roformer {

struct CopeSettings {
  std::int64_t positions = 64;
  bool scaled = false;  // divide the position term as the released code does
};

}  // namespace roformer
