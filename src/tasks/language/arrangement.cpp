#include "tasks/language/arrangement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace roformer {
namespace {

std::vector<std::int64_t> without_middle(std::int64_t length, double share) {
  const auto dropped = static_cast<std::int64_t>(std::llround(share * static_cast<double>(length)));
  if (share < 0 || length - dropped < 2) {
    throw_usage("--drop-middle",
                fmt::format("a share of {} leaves {} of {} tokens", share,
                            std::max<std::int64_t>(0, length - dropped), length),
                "a number from 0 to 0.9");
  }
  const std::int64_t begin = std::max<std::int64_t>(1, (length - dropped) / 2);
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < length; ++i) {
    if (i < begin || i >= begin + dropped) order.push_back(i);
  }
  return order;
}

// A random order of 0 .. count-1, count > 1, that does not begin with 0 and in which no number
// follows its predecessor. So every seam joins parts that were apart. About a third of all orders
// qualify.
std::vector<std::int64_t> parted(std::int64_t count) {
  Random random(random_key({random_word("shuffled blocks")}));
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (;;) {
    for (std::size_t i = order.size() - 1; i > 0; --i)
      std::swap(order[i], order[random.below(i + 1)]);
    const auto followed = std::ranges::adjacent_find(
        order, [](std::int64_t a, std::int64_t b) { return b == a + 1; });
    if (order.front() != 0 && followed == order.end()) return order;
  }
}

std::vector<std::int64_t> with_shuffled_blocks(std::int64_t length, std::int64_t blocks) {
  const std::int64_t tokens = length - 1;  // all but the first
  if (blocks < 2 || blocks > tokens) {
    throw_usage("--shuffle-blocks",
                fmt::format("{} blocks cannot be made of {} tokens", blocks, tokens),
                fmt::format("from 2 to {}", tokens));
  }
  std::vector<std::int64_t> order = {0};
  for (const std::int64_t block : parted(blocks)) {
    for (std::int64_t token = block * tokens / blocks; token < (block + 1) * tokens / blocks;
         ++token) {
      order.push_back(1 + token);
    }
  }
  return order;
}

bool keeps_order(std::int64_t length, const Arrangement& arrangement) {
  return static_cast<std::int64_t>(arrangement.order.size()) == length &&
         std::ranges::is_sorted(arrangement.order);
}

// The values at the kept positions, in their order, row by row.
template <typename T>
std::vector<T> picked(const std::vector<T>& values, std::int64_t length,
                      const Arrangement& arrangement) {
  std::vector<T> result;
  const auto rows = static_cast<std::int64_t>(values.size()) / length;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const std::int64_t position : arrangement.order) {
      result.push_back(values[static_cast<std::size_t>(row * length + position)]);
    }
  }
  return result;
}

void arrange_tokens(TokenBatch& batch, const Arrangement& arrangement) {
  ROFORMER_ASSERT(static_cast<std::int64_t>(batch.sequence_starts.size()) == batch.rows + 1);
  batch.ids = picked(batch.ids, batch.length, arrangement);
  batch.length = static_cast<std::int64_t>(arrangement.order.size());
  for (std::int64_t row = 0; row <= batch.rows; ++row) {
    batch.sequence_starts[static_cast<std::size_t>(row)] = row * batch.length;
  }
}

}  // namespace

Arrangement arrange(std::int64_t length, const ArrangementSettings& settings) {
  if (settings.drop_middle != 0 && settings.shuffle_blocks != 0) {
    throw_usage("--drop-middle", "cannot be combined with --shuffle-blocks", "one at a time");
  }
  Arrangement result;
  if (settings.drop_middle != 0) {
    result.order = without_middle(length, settings.drop_middle);
    result.positions = Positions::of(result.order).shifted(settings.shift);
    return result;
  }
  if (settings.shuffle_blocks != 0) {
    result.order = with_shuffled_blocks(length, settings.shuffle_blocks);
  } else {
    result.order.resize(static_cast<std::size_t>(length));
    std::iota(result.order.begin(), result.order.end(), 0);
  }
  result.positions = Positions::range(settings.shift, length);
  return result;
}

MaskedBatch arranged(MaskedBatch batch, const Arrangement& arrangement) {
  if (keeps_order(batch.length, arrangement)) return batch;
  std::vector<std::int64_t> label_of(batch.ids.size(), -1);
  for (std::size_t i = 0; i < batch.target_positions.size(); ++i) {
    label_of[static_cast<std::size_t>(batch.target_positions[i])] = batch.labels[i];
  }
  label_of = picked(label_of, batch.length, arrangement);
  arrange_tokens(batch, arrangement);
  batch.target_positions.clear();
  batch.labels.clear();
  for (std::size_t i = 0; i < label_of.size(); ++i) {
    if (label_of[i] < 0) continue;
    batch.target_positions.push_back(static_cast<std::int64_t>(i));
    batch.labels.push_back(label_of[i]);
  }
  return batch;
}

CausalBatch arranged(CausalBatch batch, const Arrangement& arrangement) {
  if (keeps_order(batch.length, arrangement)) return batch;
  batch.targets = picked(batch.targets, batch.length, arrangement);
  arrange_tokens(batch, arrangement);
  batch.target_count = static_cast<std::int64_t>(batch.targets.size()) -
                       std::ranges::count(batch.targets, CausalBatch::kNoTarget);
  return batch;
}

}  // namespace roformer
