#include "tasks/language/arrangement.h"

#include <algorithm>

#include "base/error.h"
#include "catch.h"

using namespace roformer;

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers(const Positions& positions) {
  Numbers result;
  for (std::int64_t i = 0; i < positions.count(); ++i) result.push_back(positions[i]);
  return result;
}

}  // namespace

TEST_CASE("a shifted text stands later, in the same order") {
  const Arrangement shifted = arrange(4, {.shift = 10});
  CHECK(shifted.order == Numbers{0, 1, 2, 3});
  CHECK(numbers(shifted.positions) == Numbers{10, 11, 12, 13});
}

TEST_CASE("without its middle the rest of a text keeps its positions") {
  const Arrangement dropped = arrange(10, {.shift = 5, .drop_middle = 0.4});
  CHECK(dropped.order == Numbers{0, 1, 2, 7, 8, 9});
  CHECK(numbers(dropped.positions) == Numbers{5, 6, 7, 12, 13, 14});
  CHECK_THROWS_AS(arrange(10, {.drop_middle = 1}), Error);
  CHECK_THROWS_AS(arrange(10, {.drop_middle = -0.1}), Error);
}

TEST_CASE("shuffled blocks keep the first token and the order inside a block") {
  const Arrangement shuffled = arrange(13, {.shuffle_blocks = 4});
  CHECK(numbers(shuffled.positions) == Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(shuffled.order[0] == 0);
  Numbers sorted = shuffled.order;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == numbers(shuffled.positions));
  CHECK(shuffled.order != sorted);
  for (std::size_t i = 1; i < 13; i += 3) {
    CHECK(shuffled.order[i] % 3 == 1);
    CHECK(shuffled.order[i + 1] == shuffled.order[i] + 1);
    CHECK(shuffled.order[i + 2] == shuffled.order[i] + 2);
  }
  CHECK_THROWS_AS(arrange(13, {.shuffle_blocks = 13}), Error);
  CHECK_THROWS_AS(arrange(13, {.shuffle_blocks = 1}), Error);
  CHECK_THROWS_AS(arrange(13, {.drop_middle = 0.1, .shuffle_blocks = 2}), Error);
}

TEST_CASE("every seam between shuffled blocks is one") {
  for (std::int64_t blocks = 2; blocks <= 40; ++blocks) {
    const Arrangement shuffled = arrange(blocks + 1, {.shuffle_blocks = blocks});
    for (std::size_t i = 1; i < shuffled.order.size(); ++i) {
      CAPTURE(blocks, i);
      CHECK(shuffled.order[i] != shuffled.order[i - 1] + 1);
    }
  }
}

TEST_CASE("labels and targets go with their tokens") {
  MaskedBatch masked;
  masked.rows = 2;
  masked.length = 4;
  masked.ids = {0, 1, 2, 3, 10, 11, 12, 13};
  masked.sequence_starts = {0, 4, 8};
  masked.target_positions = {1, 3, 6};
  masked.labels = {101, 103, 112};
  const Arrangement arrangement{.order = {0, 3, 2}, .positions = Positions::range(0, 3)};
  const MaskedBatch other = arranged(masked, arrangement);
  CHECK(other.ids == Numbers{0, 3, 2, 10, 13, 12});
  CHECK(other.length == 3);
  CHECK(other.sequence_starts == Numbers{0, 3, 6});
  CHECK(other.target_positions == Numbers{1, 5});
  CHECK(other.labels == Numbers{103, 112});

  CausalBatch causal;
  causal.rows = 1;
  causal.length = 4;
  causal.ids = {5, 6, 7, 8};
  causal.sequence_starts = {0, 4};
  causal.targets = {6, 7, 8, CausalBatch::kNoTarget};
  causal.target_count = 3;
  const CausalBatch moved = arranged(causal, arrangement);
  CHECK(moved.ids == Numbers{5, 8, 7});
  CHECK(moved.targets == Numbers{6, CausalBatch::kNoTarget, 8});
  CHECK(moved.target_count == 2);
}
