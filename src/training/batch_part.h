// How the processes of one training share a step. The step has the same micro-batches whatever
// their number: each process takes whole micro-batches where they can be dealt out evenly, else a
// part of each of its micro-batches.
#pragma once

#include <cstdint>
#include <span>

namespace roformer {

// One of `count` parts of a micro-batch. A part is a range of its sequences.
struct BatchPart {
  std::int64_t index = 0;
  std::int64_t count = 1;

  bool whole() const { return count == 1; }
  // This part's share of `total` things that belong to no sequence.
  std::int64_t share_of(std::int64_t total) const {
    return total * (index + 1) / count - total * index / count;
  }
};

// The sequences first ... last - 1.
struct SequenceRange {
  std::int64_t first = 0, last = 0;
};

// The part's sequences, if the whole micro-batch has sequences of these lengths in tokens. All
// parts together have each sequence once, and about equally many tokens. Each part has a sequence
// if there are as many sequences as parts.
SequenceRange sequences_of(const BatchPart& part, std::span<const std::int64_t> lengths);

// The share of a step that one process computes. The micro-batches of a training are numbered 0, 1,
// 2, ... without a gap through all steps. Groups of `parts` neighbouring processes divide a
// micro-batch: of G groups, group g takes the micro-batches g, g + G, g + 2 G, ...
struct BatchNumbers {
  std::int64_t accumulation = 1;  // passes of this process in a step
  std::int64_t rank = 0;
  std::int64_t processes = 1;
  std::int64_t parts = 1;  // of a micro-batch; divides `processes`

  std::int64_t groups() const { return processes / parts; }
  // Whole micro-batches of a step, over all processes.
  std::int64_t per_step() const { return accumulation * groups(); }
  // The index of the micro-batch of this process's i-th pass among those of the step.
  std::int64_t index_in_step(std::int64_t i) const { return i * groups() + rank / parts; }
  // The number of that micro-batch, counted from the step that begins with `first`.
  std::int64_t number(std::int64_t first, std::int64_t i) const { return first + index_in_step(i); }
  BatchPart part() const { return {.index = rank % parts, .count = parts}; }
};

// The share of one of several processes in a step of so many micro-batches. Whole micro-batches are
// dealt out as far as they go round evenly.
BatchNumbers share_of_step(std::int64_t micro_batches, std::int64_t rank, std::int64_t processes);

}  // namespace roformer
