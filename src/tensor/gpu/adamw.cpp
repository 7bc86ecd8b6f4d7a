#include "tensor/gpu/adamw.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/gpu/launch.h"
#include "tensor/gpu/muon.h"

namespace roformer::gpu {
namespace {

constexpr std::int64_t kThreadsOfAdamW = 256;

const char* type_name(bool wide) {
  return wide ? "double" : "float";
}

}  // namespace

at::Tensor sums_of_squares(const at::Tensor& gradient) {
  constexpr std::int64_t kVector = 4;
  const bool wide = gradient.scalar_type() == at::kDouble;
  ROFORMER_ASSERT((wide || gradient.scalar_type() == at::kFloat) && gradient.is_contiguous());
  const at::Tensor sums = at::empty({kSquareSums}, gradient.options().dtype(at::kDouble));
  const void* const numbers = gradient.const_data_ptr();
  const std::int64_t size = gradient.numel();
  const bool whole = size % kVector == 0 && reinterpret_cast<std::uintptr_t>(numbers) % 16 == 0;
  double* const to = sums.mutable_data_ptr<double>();
  launch({.source = "adamw",
          .kernel = fmt::format("squares<{}, {}>", type_name(wide), whole ? kVector : 1),
          .blocks_x = kSquareSums,
          .threads = kThreadsOfAdamW,
          .values = {&numbers, &size, &to}},
         gradient.device());
  return sums;
}

void adamw_decide(const AdamWDecision& work, const at::Tensor& loss) {
  const bool wide = loss.scalar_type() == at::kDouble;
  ROFORMER_ASSERT(wide || loss.scalar_type() == at::kFloat);
  const void* const number = loss.const_data_ptr();
  launch({.source = "adamw",
          .kernel = fmt::format("adamw_decide<{}>", type_name(wide)),
          .threads = kThreadsOfAdamW,
          .values = {&work, &number}},
         loss.device());
}

namespace {

// A kernel over `work`, whose pieces of all buffers may begin anywhere.
template <typename T, typename Work>
void update(const char* kernel, const Work& work, std::initializer_list<const T*> begins,
            at::Device device) {
  constexpr std::int64_t kBlocks = 4096, kVector = 4;
  std::uintptr_t start = 0;
  for (const T* begin : begins) start |= reinterpret_cast<std::uintptr_t>(begin);
  const std::int64_t vector = work.size % kVector == 0 && start % 16 == 0 ? kVector : 1;
  const std::int64_t blocks = (work.size / vector + kThreadsOfAdamW - 1) / kThreadsOfAdamW;
  launch({.source = "adamw",
          .kernel = fmt::format("{}<{}, {}>", kernel, type_name(std::is_same_v<T, double>), vector),
          .blocks_x = std::min(blocks, kBlocks),
          .threads = kThreadsOfAdamW,
          .values = {&work}},
         device);
}

}  // namespace

template <typename T>
void adamw_update(const AdamWUpdate<T>& work, at::Device device) {
  update<T>("adamw_update", work, {work.value, work.gradient, work.first, work.second}, device);
}
template void adamw_update(const AdamWUpdate<float>&, at::Device);
template void adamw_update(const AdamWUpdate<double>&, at::Device);

template <typename T>
void muon_momentum(const MuonMomentum<T>& work, at::Device device) {
  update<T>("muon_momentum", work, {work.gradient, work.momentum}, device);
}
template void muon_momentum(const MuonMomentum<float>&, at::Device);
template void muon_momentum(const MuonMomentum<double>&, at::Device);

template <typename T>
void muon_descend(const MuonDescent<T>& work, at::Device device) {
  update<T>("muon_descend", work, {work.value, work.update}, device);
}
template void muon_descend(const MuonDescent<float>&, at::Device);
template void muon_descend(const MuonDescent<double>&, at::Device);

}  // namespace roformer::gpu
