// Products of a few rows on every instruction set that this processor has, against sums in double.
#include "tensor/few_row_kernels.h"

#include <cmath>
#include <vector>

#include "base/random.h"
#include "catch.h"

using namespace roformer;

namespace {

std::vector<float> few_row_numbers(std::int64_t count, std::uint64_t seed) {
  Random random(random_key({seed}));
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<float>(random.uniform() - 0.5));
  }
  return numbers;
}

}  // namespace

TEST_CASE("products of a few rows are exact sums on every instruction set, row by row") {
  const char* const name = GENERATE("avx512_vnni", "avx_vnni", "avx2", "baseline");
  const kernels::MultiplyFewRows multiply = kernels::few_row_kernel(name);
  if (multiply == nullptr) return;  // not this processor
  const std::int64_t in = GENERATE(3, 16, 70), out = 11, most = 13;
  const std::vector<float> x = few_row_numbers(most * in, 1), weight = few_row_numbers(out * in, 2);
  std::vector<float> alone(static_cast<std::size_t>(most * out));
  for (std::int64_t row = 0; row < most; ++row) {
    multiply({.rows = 1,
              .in = in,
              .out = out,
              .x = x.data() + row * in,
              .weight = weight.data(),
              .product = alone.data() + row * out},
             0, out);
  }
  for (std::int64_t rows = 1; rows <= most; ++rows) {
    std::vector<float> found(static_cast<std::size_t>(rows * out));
    const kernels::FewRowProduct work{.rows = rows,
                                      .in = in,
                                      .out = out,
                                      .x = x.data(),
                                      .weight = weight.data(),
                                      .product = found.data()};
    multiply(work, 0, 5);  // as two threads share it
    multiply(work, 5, out);
    bool near = true, same = true;
    for (std::int64_t i = 0; i < rows * out; ++i) {
      double sum = 0;
      for (std::int64_t c = 0; c < in; ++c) {
        sum += static_cast<double>(x[static_cast<std::size_t>(i / out * in + c)]) *
               static_cast<double>(weight[static_cast<std::size_t>(i % out * in + c)]);
      }
      near &= std::abs(found[static_cast<std::size_t>(i)] - sum) < 1e-5;
      same &= found[static_cast<std::size_t>(i)] == alone[static_cast<std::size_t>(i)];
    }
    CHECK(near);
    CHECK(same);
  }
}
