#include "tensor/gpu/adamw.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "tensor/gpu/launch.h"

namespace roformer::gpu {

void adamw_decide(const AdamWDecision& work, const at::Tensor& loss) {
  const bool wide = loss.scalar_type() == at::kDouble;
  ROFORMER_ASSERT(wide || loss.scalar_type() == at::kFloat);
  const void* const number = loss.const_data_ptr();
  launch({.source = "adamw",
          .kernel = wide ? "adamw_decide<double>" : "adamw_decide<float>",
          .threads = 1,
          .values = {&work, &number}},
         loss.device());
}

template <typename T>
void adamw_update(const AdamWUpdate<T>& work, at::Device device) {
  constexpr std::int64_t kThreads = 256, kBlocks = 4096, kVector = 4;
  // A piece begins anywhere in the flat buffers, which all begin alike.
  const auto start = reinterpret_cast<std::uintptr_t>(work.value) |
                     reinterpret_cast<std::uintptr_t>(work.gradient) |
                     reinterpret_cast<std::uintptr_t>(work.first) |
                     reinterpret_cast<std::uintptr_t>(work.second);
  const std::int64_t vector = work.size % kVector == 0 && start % 16 == 0 ? kVector : 1;
  const std::int64_t blocks = (work.size / vector + kThreads - 1) / kThreads;
  launch({.source = "adamw",
          .kernel = fmt::format("adamw_update<{}, {}>",
                                std::is_same_v<T, double> ? "double" : "float", vector),
          .blocks_x = std::min(blocks, kBlocks),
          .threads = kThreads,
          .values = {&work}},
         device);
}
template void adamw_update(const AdamWUpdate<float>&, at::Device);
template void adamw_update(const AdamWUpdate<double>&, at::Device);

}  // namespace roformer::gpu
