#include "tensor/profile.h"

#include <ATen/ATen.h>

#include "catch.h"

using namespace roformer;

TEST_CASE("the meter sees the most that was in use at once, gradients too") {
  constexpr std::int64_t kMebibyte = 1 << 20;
  const at::Tensor before = at::zeros({kMebibyte});
  const MemoryMeter meter;
  { const at::Tensor large = at::zeros({kMebibyte}); }  // 4 MiB, given back
  const at::Tensor small = at::zeros({kMebibyte / 4});
  CHECK(meter.peak() == 4 * kMebibyte);
  const at::Tensor other = at::zeros({kMebibyte});
  CHECK(meter.peak() == 5 * kMebibyte);
  at::Tensor x = at::ones({2 * kMebibyte}).requires_grad_();  // 8 MiB, and its gradient
  (x * x).sum().backward();
  CHECK(meter.peak() >= (5 + 8 + 8) * kMebibyte);
  CHECK(before.numel() == kMebibyte);
}

TEST_CASE("a meter sees nothing of what came before or after it") {
  { const MemoryMeter other; }
  const at::Tensor before = at::zeros({1000});
  const MemoryMeter meter;
  CHECK(meter.peak() == 0);
}
