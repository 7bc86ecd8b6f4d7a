// Moving the rows of a cache against selecting them by index.
#include "attention/attention_cache.h"

#include <ATen/ATen.h>

#include "base/random.h"
#include "catch.h"

using namespace roformer;

namespace {

at::Tensor memory_of(std::int64_t rows) {
  at::manual_seed(3);
  return at::randn({rows, 2, 5, 3});
}

}  // namespace

TEST_CASE("moved rows are the selected rows, for any selection") {
  Random random(7);
  for (int round = 0; round < 400; ++round) {
    const auto rows = static_cast<std::int64_t>(1 + random.below(6));
    std::vector<std::int64_t> sources(1 + random.below(8));
    for (std::int64_t& source : sources) {
      source = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(rows)));
    }
    const at::Tensor memory = memory_of(rows), index = at::tensor(sources, at::kLong);
    const at::Tensor expected = memory.index_select(0, index).narrow(2, 0, 4).clone();
    const at::Tensor moved = RowMoves(sources, rows).apply(memory.clone(), 4);
    REQUIRE(at::equal(moved.narrow(2, 0, 4), expected));
    REQUIRE(moved.size(2) == 5);
  }
}

TEST_CASE("rows that stay are not copied, and dropping rows copies none") {
  const at::Tensor memory = memory_of(4);
  CHECK(RowMoves(std::vector<std::int64_t>{0, 1, 2, 3}, 4).nothing());
  const RowMoves dropping(std::vector<std::int64_t>{0, 1}, 4);
  CHECK_FALSE(dropping.nothing());
  CHECK(dropping.copies() == 0);
  CHECK(dropping.apply(memory, 5).data_ptr() == memory.data_ptr());
  CHECK(RowMoves(std::vector<std::int64_t>{0, 2, 2, 3}, 4).copies() == 1);
  CHECK(RowMoves(std::vector<std::int64_t>{1, 0, 2, 3}, 4).copies() == 3);  // two and the spare
}
