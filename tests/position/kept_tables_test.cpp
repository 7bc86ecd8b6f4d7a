// What schemes keep from one pass to the next, while a pass is recorded as a graph: the graph reads
// a kept table wherever it lies, also after a text of another length has replaced it.
#include <ATen/ATen.h>

#include "catch.h"
#include "position/constant_bias.h"
#include "position/rotary_table.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

AttentionContext context_of(std::int64_t length) {
  return {.queries = Positions::range(0, length),
          .keys = Positions::range(0, length),
          .type = at::kFloat,
          .device = at::kCPU};
}

}  // namespace

TEST_CASE("a recording keeps the rotary tables that it is given") {
  RotaryTables tables;
  const RotaryKey key{.positions = Positions::range(0, 4),
                      .angles = {.frequencies = {1.0, 0.1}},
                      .type = at::kFloat,
                      .device = at::kCPU};
  const Rotation made = tables.get(key);
  GraphRecording recording(7, at::kCPU);
  CHECK_FALSE(recording.keeps(made.cosine));
  const GraphRecording::Scope scope(recording);
  tables.get(key);
  CHECK(recording.keeps(made.cosine));
  CHECK(recording.keeps(made.sine));
}

TEST_CASE("a recording keeps the biases that it is given, and nobody keeps those that it makes") {
  ConstantBias biases;
  int made = 0;
  const auto get = [&](std::int64_t length) {
    return biases.get(context_of(length), [&] {
      ++made;
      return at::ones({1, 1, length, length});
    });
  };
  const at::Tensor before = get(3);
  GraphRecording recording(7, at::kCPU);
  {
    const GraphRecording::Scope scope(recording);
    CHECK(get(3).is_same(before));
    CHECK(recording.keeps(before));
    CHECK_FALSE(recording.keeps(get(5)));
    CHECK(made == 2);
  }
  get(5);
  CHECK(made == 3);
  get(5);
  CHECK(made == 3);
}

}  // namespace roformer
