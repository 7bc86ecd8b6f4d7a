#include "cli/machine.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/cores.h"
#include "base/memory.h"
#include "tensor/device.h"
#include "tensor/gpu/driver.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

std::string first_line(const fs::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

// "MemTotal:  16303428 kB" -> bytes; 0 where the line is missing.
std::uint64_t memory_line(const std::string& name) {
  std::ifstream stream("/proc/meminfo");
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kibibytes = 0;
    if (words >> key >> kibibytes && key == name + ":") return kibibytes << 10;
  }
  return 0;
}

// A number of bytes in a control group's file; 0 for "max" and where there is none.
std::uint64_t group_bytes(const std::string& file) {
  std::istringstream words(first_line("/sys/fs/cgroup/" + file));
  std::uint64_t bytes = 0;
  words >> bytes;
  return words ? bytes : 0;
}

void read_memory(Machine& machine) {
  machine.memory = memory_line("MemTotal");
  machine.memory_free = available_memory();
  const std::uint64_t limit = group_bytes("memory.max");
  if (limit > 0 && limit < machine.memory) machine.memory = limit;
}

}  // namespace

Machine inspect_machine(const fs::path& folder) {
  Machine machine;
  machine.processor = processor_name();
  for (const char* flag :
       {"sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16",
        "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8", "asimd", "sve", "bf16"}) {
    if (processor_has(flag)) machine.instruction_sets.emplace_back(flag);
  }
  machine.cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  machine.usable_cores = usable_cores();
  read_memory(machine);
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (!error) {
    machine.disk = space.capacity;
    machine.disk_free = space.available;
  }
  machine.nvidia_cards = gpu::card_names();
  return machine;
}

}  // namespace roformer
