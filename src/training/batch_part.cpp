#include "training/batch_part.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace roformer {
namespace {

// The first sequence of part `index`.
std::int64_t first_of_part(std::int64_t index, std::int64_t parts,
                           std::span<const std::int64_t> lengths) {
  const auto sequences = static_cast<std::int64_t>(lengths.size());
  const std::int64_t all = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  std::int64_t first = 0;
  // A sequence belongs to the part in which its middle lies.
  for (std::int64_t before = 0; first < sequences; ++first) {
    const std::int64_t length = lengths[static_cast<std::size_t>(first)];
    if ((2 * before + length) * parts >= 2 * all * index) break;
    before += length;
  }
  if (sequences < parts) return first;
  return std::clamp(first, index, sequences - (parts - index));
}

}  // namespace

SequenceRange sequences_of(const BatchPart& part, std::span<const std::int64_t> lengths) {
  const auto sequences = static_cast<std::int64_t>(lengths.size());
  const auto border = [&](std::int64_t index) {
    if (index == 0) return std::int64_t{0};
    return index == part.count ? sequences : first_of_part(index, part.count, lengths);
  };
  return {.first = border(part.index), .last = border(part.index + 1)};
}

BatchNumbers share_of_step(std::int64_t micro_batches, std::int64_t rank, std::int64_t processes) {
  ROFORMER_ASSERT(micro_batches > 0 && rank >= 0 && rank < processes);
  const std::int64_t groups = std::gcd(micro_batches, processes);
  return {.accumulation = micro_batches / groups,
          .rank = rank,
          .processes = processes,
          .parts = processes / groups};
}

}  // namespace roformer
