// The likely columns of rows of logits against LibTorch's functions.
#include "tensor/operations.h"

#include <ATen/ATen.h>

#include <limits>

#include "catch.h"

using namespace roformer;

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("the largest values and the sum of exponentials of each row are LibTorch's") {
  const auto columns = GENERATE(1, 7, 128, 129, 5000);
  at::manual_seed(3);
  const at::Tensor logits = at::randn({9, columns}) * 5;
  for (const std::int64_t wanted : {1, 8, 200}) {
    if (wanted > columns) continue;
    at::Tensor work = logits.clone();
    const RowTops tops = row_tops(work, {.wanted = wanted});
    const auto [values, ids] = at::topk(logits, wanted, 1);
    CHECK(at::equal(tops.values, values));
    CHECK(at::equal(tops.ids, ids));
    CHECK(at::allclose(tops.normalizers, at::logsumexp(logits, 1), 0, 1e-4));
    CHECK(at::equal(work, logits));
  }
}

TEST_CASE("of equal values the lower column stands first, in whatever block") {
  at::Tensor logits = at::zeros({2, 1000});
  logits[1][700] = 1;
  const RowTops tops = row_tops(logits, {.wanted = 3});
  CHECK(at::equal(tops.ids, at::tensor({0, 1, 2, 700, 0, 1}, at::kLong).view({2, 3})));
}

TEST_CASE("excluded columns are never likely, and count in the sum unless told otherwise") {
  const std::vector<std::int64_t> excluded = {3, 0, 500, -1};
  at::manual_seed(4);
  at::Tensor logits = at::randn({4, 300});
  logits.select(1, 3).fill_(9);
  at::Tensor kept = logits.clone();
  for (const std::int64_t column : {0, 3}) kept.select(1, column).fill_(kNever);
  for (const bool renormalize : {false, true}) {
    at::Tensor work = logits.clone();
    const RowTops tops =
        row_tops(work, {.wanted = 5, .excluded = excluded, .renormalize = renormalize});
    CHECK(at::equal(tops.ids, std::get<1>(at::topk(kept, 5, 1))));
    CHECK(at::allclose(tops.normalizers, at::logsumexp(renormalize ? kept : logits, 1), 0, 1e-4));
    CHECK(at::equal(work, kept));
  }
}
