// Section `probe` of the configuration.
#pragma once

#include <cstdint>

namespace roformer {

enum class ProbeKind { copy, reverse, passkey, addition, dyck, recall };

struct ProbeSettings {
  ProbeKind kind = ProbeKind::copy;
  std::int64_t longest = 8;     // as a multiple of data.length
  std::int64_t examples = 200;  // of each length in a validation
};

}  // namespace roformer
