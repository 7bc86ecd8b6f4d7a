#include "training/batch_part.h"

#include <set>
#include <tuple>
#include <vector>

#include "catch.h"

namespace roformer {
namespace {

// Micro-batch, part and number of parts of all passes of a step that begins with micro-batch 100.
std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> passes_of_step(
    std::int64_t micro_batches, std::int64_t processes) {
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> passes;
  std::int64_t count = 0;
  for (std::int64_t rank = 0; rank < processes; ++rank) {
    const BatchNumbers own = share_of_step(micro_batches, rank, processes);
    CHECK(own.per_step() == micro_batches);
    for (std::int64_t i = 0; i < own.accumulation; ++i, ++count) {
      CHECK(own.number(100, i) == 100 + own.index_in_step(i));
      passes.insert({own.index_in_step(i), own.part().index, own.part().count});
    }
  }
  CHECK(std::ssize(passes) == count);
  return passes;
}

}  // namespace

TEST_CASE("any number of processes takes each part of a step once") {
  for (const std::int64_t micro_batches : {1, 2, 3, 4, 6, 12}) {
    for (const std::int64_t processes : {1, 2, 3, 4, 5, 8}) {
      CAPTURE(micro_batches, processes);
      const auto passes = passes_of_step(micro_batches, processes);
      const std::int64_t parts = std::get<2>(*passes.begin());
      CHECK(std::ssize(passes) == micro_batches * parts);
      CHECK(std::get<0>(*passes.rbegin()) == micro_batches - 1);
      CHECK(std::get<1>(*passes.rbegin()) == parts - 1);
    }
  }
  CHECK(share_of_step(4, 1, 2).parts == 1);
  CHECK(share_of_step(1, 1, 2).parts == 2);
  CHECK(share_of_step(2, 3, 4).parts == 2);  // six rows of two micro-batches: three rows each
}

TEST_CASE("parts have each sequence once and about as many tokens") {
  const std::vector<std::int64_t> equal(12, 7), rising = {1, 1, 2, 3, 5, 8, 13, 21};
  for (const auto& lengths : {equal, rising, std::vector<std::int64_t>{40, 1, 1}, {3}, {}}) {
    for (const std::int64_t parts : {1, 2, 3, 4}) {
      std::int64_t next = 0;
      for (std::int64_t index = 0; index < parts; ++index) {
        const SequenceRange range = sequences_of({.index = index, .count = parts}, lengths);
        CHECK(range.first == next);
        if (std::ssize(lengths) >= parts) CHECK(range.last > range.first);
        next = range.last;
      }
      CHECK(next == std::ssize(lengths));
    }
  }
  CHECK(sequences_of({.index = 1, .count = 3}, equal).first == 4);
  CHECK(sequences_of({.index = 1, .count = 3}, equal).last == 8);
  CHECK(sequences_of({.index = 1, .count = 2}, rising).first == 7);  // 33 and 21 tokens
  CHECK(BatchPart{.index = 1, .count = 3}.share_of(8) == 3);
}

}  // namespace roformer
