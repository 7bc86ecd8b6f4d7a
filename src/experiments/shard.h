// A study in shards: several processes, on as many machines as there are, that share its folder.
// Each takes every n-th run; who finds all of them finished draws the table.
#pragma once

#include <cstdint>
#include <string>

#include "base/launch.h"

namespace roformer {

struct StudyShard {
  std::int64_t number = 1;  // from 1
  std::int64_t count = 1;

  bool whole() const { return count == 1; }
  bool takes(std::size_t run) const { return static_cast<std::int64_t>(run) % count == number - 1; }
};

// "2/8", or "slurm": as the variables of a Slurm job array say. Throws Error (usage).
StudyShard parse_shard(const std::string& text,
                       const Environment& environment = process_environment());

}  // namespace roformer
