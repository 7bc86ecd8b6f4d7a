// What this machine is: processor, memory, disk and graphics cards, as the system tells.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace roformer {

struct Machine {
  std::string processor;
  std::vector<std::string> instruction_sets;  // of those that matter here
  std::int64_t cores = 0;                     // of the machine
  double usable_cores = 0;        // that this process may use: affinity and the container's quota
  std::uint64_t memory = 0;       // bytes; the container's limit where that is lower
  std::uint64_t memory_free = 0;  // bytes that are available
  std::uint64_t disk = 0;         // bytes of the file system of the given folder
  std::uint64_t disk_free = 0;
  std::vector<std::string>
      nvidia_cards;  // that the driver knows, with or without a LibTorch for them
};

Machine inspect_machine(const std::filesystem::path& folder);

}  // namespace roformer
