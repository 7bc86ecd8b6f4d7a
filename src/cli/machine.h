// Facts about this machine from the system: processor, memory, disk and graphics cards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace roformer {

struct Machine {
  std::string processor;
  std::vector<std::string> instruction_sets;  // the relevant ones
  std::int64_t cores = 0;
  double usable_cores = 0;   // limited by affinity and by the container's quota
  std::uint64_t memory = 0;  // bytes, limited by the container
  std::uint64_t memory_free = 0;
  std::uint64_t disk = 0;  // bytes of the given folder's file system
  std::uint64_t disk_free = 0;
  std::vector<std::string>
      nvidia_cards;  // known to the driver, whether LibTorch can use them or not
};

Machine inspect_machine(const std::filesystem::path& folder);

}  // namespace roformer
