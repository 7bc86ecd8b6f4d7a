#include "cli/machine.h"

#include <system_error>
#include <thread>

#include "base/cores.h"
#include "base/memory.h"
#include "tensor/device.h"
#include "tensor/gpu/driver.h"

namespace roformer {
namespace fs = std::filesystem;

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
  machine.memory = total_memory();
  machine.memory_free = available_memory();
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
