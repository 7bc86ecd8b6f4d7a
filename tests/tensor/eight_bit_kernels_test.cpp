// Products in eight bits on every instruction set that this processor has, against sums of the
// same integers in plain C++.
#include "tensor/eight_bit_kernels.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "catch.h"

using namespace roformer;

namespace {

struct EightBitCase {
  std::int64_t rows, in, out;
  std::vector<float> x, weight;

  EightBitCase(std::int64_t rows, std::int64_t in, std::int64_t out)
      : rows(rows), in(in), out(out) {
    Random random(random_key({static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(in)}));
    for (std::int64_t i = 0; i < rows * in; ++i) {
      x.push_back(static_cast<float>(random.uniform() - 0.5));
    }
    for (std::int64_t i = 0; i < out * in; ++i) {
      weight.push_back(static_cast<float>((random.uniform() - 0.5) * std::pow(10.0, i / in % 5)));
    }
  }
};

// The product and everything that it was computed from.
struct EightBitResult {
  kernels::EightBitProduct work;
  std::vector<std::uint8_t> panels;
  std::vector<std::int8_t> numbers;
  std::vector<std::int32_t> sums;
  std::vector<float> scales, weight_scales, product;

  EightBitResult(const kernels::EightBitKernels& loops, const EightBitCase& given)
      : work{.rows = given.rows, .in = given.in, .out = given.out} {
    const std::int64_t count = (given.out + loops.panel - 1) / loops.panel;
    const std::int64_t width = work.quads() * 4;
    panels.resize(static_cast<std::size_t>(count * loops.panel * width));
    numbers.resize(static_cast<std::size_t>(given.rows * width));
    sums.resize(static_cast<std::size_t>(given.rows));
    scales.resize(static_cast<std::size_t>(given.rows));
    weight_scales.resize(static_cast<std::size_t>(given.out));
    product.resize(static_cast<std::size_t>(given.rows * given.out));
    loops.pack(given.weight.data(), given.out, given.in, panels.data(), weight_scales.data());
    work.panels = panels.data();
    work.weight_scales = weight_scales.data();
    work.x = {.numbers = numbers.data(), .scales = scales.data(), .sums = sums.data()};
    work.product = product.data();
    loops.quantize(given.x.data(), work);
    loops.multiply(work, 0, count);
  }

  std::int32_t number(std::int64_t row, std::int64_t i) const {
    return numbers[static_cast<std::size_t>(row * work.quads() * 4 + i)];
  }
  std::int32_t weight(std::int64_t panel, std::int64_t o, std::int64_t i) const {
    const std::int64_t quad = (o / panel * work.quads() + i / 4) * panel + o % panel;
    return panels[static_cast<std::size_t>(quad * 4 + i % 4)] - 128;
  }
};

}  // namespace

TEST_CASE("eight-bit loops sum the integers exactly on every instruction set") {
  const char* const name = GENERATE("avx512_vnni", "avx_vnni", "avx2", "baseline");
  const kernels::EightBitKernels* const loops = kernels::eight_bit_kernels(name);
  if (loops == nullptr) return;  // not this processor
  const std::int64_t rows = GENERATE(1, 2, 5, 6, 13);
  const std::int64_t in = GENERATE(3, 64, 130);
  const EightBitCase given(rows, in, 70);
  const EightBitResult found(*loops, given);
  bool exact = true, near = true;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float scale = found.scales[static_cast<std::size_t>(row)];
    for (std::int64_t i = 0; i < in; ++i) {
      const float x = given.x[static_cast<std::size_t>(row * in + i)];
      near &= std::abs(x - scale * static_cast<float>(found.number(row, i))) <= 0.5001F * scale;
    }
    for (std::int64_t o = 0; o < given.out; ++o) {
      const float weight_scale = found.weight_scales[static_cast<std::size_t>(o)];
      std::int32_t sum = 0;
      for (std::int64_t i = 0; i < in; ++i) {
        const std::int32_t weight = found.weight(loops->panel, o, i);
        const float given_weight = given.weight[static_cast<std::size_t>(o * in + i)];
        near &= std::abs(given_weight - weight_scale * static_cast<float>(weight)) <=
                0.5001F * weight_scale;
        sum += found.number(row, i) * weight;
      }
      const float product = found.product[static_cast<std::size_t>(row * given.out + o)];
      exact &= product == static_cast<float>(sum) * (scale * weight_scale);
    }
  }
  CHECK(near);
  CHECK(exact);
}

TEST_CASE("eight-bit loops do not overflow at the largest numbers") {
  for (const char* const name : {"avx512_vnni", "avx_vnni", "avx2", "baseline"}) {
    const kernels::EightBitKernels* const loops = kernels::eight_bit_kernels(name);
    if (loops == nullptr) continue;
    INFO(name);
    EightBitCase given(2, 256, 64);
    for (std::size_t i = 0; i < given.x.size(); ++i) given.x[i] = i < 256 ? 1 : -1;
    for (float& weight : given.weight) weight = 3;
    const EightBitResult found(*loops, given);
    CHECK(std::abs(found.product.front() - 768) < 6.1F);  // half a step of x's seven bits
    CHECK(std::abs(found.product.back() + 768) < 6.1F);
  }
}

TEST_CASE("a row that is not finite has no eight-bit product") {
  EightBitCase given(3, 64, 10);
  given.x[70] = std::numeric_limits<float>::quiet_NaN();
  given.x[140] = -std::numeric_limits<float>::infinity();
  const EightBitResult found(kernels::eight_bit_kernels(), given);
  CHECK(std::isfinite(found.product[9]));
  CHECK(std::isnan(found.product[10]));
  CHECK(std::isnan(found.product[29]));
}
