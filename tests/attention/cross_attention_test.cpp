// Attention to a memory in groups against each pair of sequences alone, as the formula says.
#include "attention/cross_attention.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "distance.h"
#include "schemes.h"

using namespace roformer;

namespace {

constexpr std::int64_t kHeads = SmallScheme::kHeads, kHeadWidth = SmallScheme::kHeadWidth;

// query [Lq, H * D], packed [Lk, 2 * H * D] -> [Lq, H * D]; queries at `begin` and after.
at::Tensor alone(const SmallScheme& small, const at::Tensor& query, const at::Tensor& packed,
                 std::int64_t begin = 0) {
  const auto heads = [](const at::Tensor& x) {
    return x.reshape({1, x.size(0), kHeads, kHeadWidth}).transpose(1, 2);
  };
  at::Tensor q = heads(query), k = heads(packed.narrow(1, 0, SmallScheme::kInner)),
             v = heads(packed.narrow(1, SmallScheme::kInner, SmallScheme::kInner));
  const AttentionContext context{.queries = Positions::range(begin, query.size(0)),
                                 .keys = Positions::range(0, packed.size(0)),
                                 .type = at::kDouble};
  if (const auto rotation = small.scheme->rotation(context, kHeadWidth)) {
    q = rotated(q, rotation->query);
    k = rotated(k, rotation->key);
  }
  const at::Tensor scores = at::matmul(q, k.transpose(2, 3)) / 2.0;  // sqrt of the head width
  return at::matmul(at::softmax(scores, -1), v)
      .transpose(1, 2)
      .reshape({query.size(0), SmallScheme::kInner});
}

struct Pairs {
  std::vector<std::int64_t> memory_lengths{7, 7, 6, 8, 2, 30, 30, 1};
  std::vector<std::int64_t> query_lengths{5, 5, 5, 4, 9, 3, 3, 1};
  TokenLayout memory = TokenLayout::of_lengths(memory_lengths);
  TokenLayout queries = TokenLayout::of_lengths(query_lengths);
  at::Tensor packed =
      at::randn({memory.tokens, 2 * SmallScheme::kInner}, at::kDouble).requires_grad_();
  at::Tensor query = at::randn({queries.tokens, SmallScheme::kInner}, at::kDouble).requires_grad_();

  at::Tensor each_alone(const SmallScheme& small) const {
    std::vector<at::Tensor> outputs;
    std::int64_t q = 0, k = 0;
    for (std::size_t i = 0; i < memory_lengths.size(); ++i) {
      outputs.push_back(alone(small, query.narrow(0, q, query_lengths[i]),
                              packed.narrow(0, k, memory_lengths[i])));
      q += query_lengths[i];
      k += memory_lengths[i];
    }
    return at::cat(outputs, 0);
  }
};

}  // namespace

TEST_CASE("pairs of sequences in groups give what each pair gives alone, with gradients") {
  at::manual_seed(4);
  const SmallScheme small(GENERATE("none", "rope"));
  const Pairs pairs;
  const at::Tensor expected = pairs.each_alone(small);
  const at::Tensor weights = at::randn(expected.sizes(), at::kDouble);
  const auto gradients = [&](const at::Tensor& output) {
    pairs.query.mutable_grad() = at::Tensor();
    pairs.packed.mutable_grad() = at::Tensor();
    (output * weights).sum().backward();
    return at::cat({pairs.query.grad().flatten(), pairs.packed.grad().flatten()});
  };
  CrossMemory memory(pairs.memory, pairs.queries);
  memory.add_layer(pairs.packed, kHeads, *small.scheme, at::kDouble);
  CHECK(memory.calls() < 6);
  const at::Tensor output = memory.attend({.query = pairs.query,
                                           .heads = kHeads,
                                           .scheme = *small.scheme,
                                           .positions = Positions::range(0, pairs.queries.longest),
                                           .type = at::kDouble});
  CHECK(distance(output, expected) < 1e-12);
  CHECK(distance(gradients(output), gradients(expected)) < 1e-12);
}

TEST_CASE("the general path of attention dropout sees the same keys") {
  at::manual_seed(4);
  const SmallScheme small(GENERATE("none", "rope"));
  const Pairs pairs;
  CrossMemory memory(pairs.memory, pairs.queries);
  memory.add_layer(pairs.packed, kHeads, *small.scheme, at::kDouble);
  // As good as none is dropped.
  const at::Tensor output = memory.attend({.query = pairs.query,
                                           .heads = kHeads,
                                           .scheme = *small.scheme,
                                           .positions = Positions::range(0, pairs.queries.longest),
                                           .type = at::kDouble,
                                           .dropout = {.probability = 1e-12, .key = 3}});
  CHECK(distance(output, pairs.each_alone(small)) < 1e-9);
}

TEST_CASE("rows of decoding find their sentence after doubling, moving and leaving") {
  at::manual_seed(8);
  const SmallScheme small(GENERATE("none", "rope"));
  const std::vector<std::int64_t> lengths{7, 3, 9};
  const TokenLayout layout = TokenLayout::of_lengths(lengths);
  const at::Tensor packed = at::randn({layout.tokens, 2 * SmallScheme::kInner}, at::kDouble);
  const std::vector<std::int64_t> begins{0, 7, 10};
  CrossMemory memory(layout);
  memory.add_layer(packed, kHeads, *small.scheme, at::kDouble);
  std::vector<std::int64_t> sentences{0, 1, 2};  // of the rows
  std::int64_t position = 0;
  const auto check = [&](std::int64_t tokens) {
    const auto rows = static_cast<std::int64_t>(sentences.size());
    const at::Tensor query = at::randn({rows * tokens, SmallScheme::kInner}, at::kDouble);
    const at::Tensor output = memory.attend({.query = query,
                                             .heads = kHeads,
                                             .scheme = *small.scheme,
                                             .positions = Positions::range(position, tokens),
                                             .type = at::kDouble});
    for (std::size_t row = 0; row < sentences.size(); ++row) {
      const auto sentence = static_cast<std::size_t>(sentences[row]);
      const auto begin = static_cast<std::int64_t>(row) * tokens;
      CHECK(distance(output.narrow(0, begin, tokens),
                     alone(small, query.narrow(0, begin, tokens),
                           packed.narrow(0, begins[sentence], lengths[sentence]), position)) <
            1e-12);
    }
    position += tokens;
  };
  const auto reorder = [&](const std::vector<std::int64_t>& rows) {
    std::vector<std::int64_t> next;
    for (const std::int64_t row : rows) next.push_back(sentences[static_cast<std::size_t>(row)]);
    sentences = next;
    memory.reorder(rows);
  };
  check(2);
  reorder({0, 0, 1, 1, 2, 2});
  check(1);
  reorder({1, 0, 2, 5, 5, 4});  // one of sentence 1, three of sentence 2
  check(1);
  reorder({0, 1, 3});  // sentence 1 is done
  check(2);
  reorder({2, 0, 2});  // rows of one sentence apart
  check(1);
}

TEST_CASE("the mean probabilities of the heads are those of each pair alone") {
  at::manual_seed(4);
  const SmallScheme small(GENERATE("none", "rope"));
  const Pairs pairs;
  CrossMemory memory(pairs.memory, pairs.queries);
  memory.add_layer(pairs.packed, kHeads, *small.scheme, at::kDouble);
  const auto found =
      memory.mean_probabilities({.query = pairs.query,
                                 .heads = kHeads,
                                 .scheme = *small.scheme,
                                 .positions = Positions::range(0, pairs.queries.longest),
                                 .type = at::kDouble});
  REQUIRE(found.size() == pairs.memory_lengths.size());
  std::int64_t q = 0, k = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::int64_t asking = pairs.query_lengths[i], keys = pairs.memory_lengths[i];
    // Values that are the unit vectors of four keys at a time give their probabilities.
    const at::Tensor packed = pairs.packed.narrow(0, k, keys).detach().clone();
    at::Tensor expected = at::zeros({asking, keys}, at::kDouble);
    for (std::int64_t begin = 0; begin < keys; begin += kHeadWidth) {
      at::Tensor values = packed.narrow(1, SmallScheme::kInner, SmallScheme::kInner);
      values.zero_();
      const std::int64_t count = std::min(kHeadWidth, keys - begin);
      for (std::int64_t j = 0; j < count; ++j) {
        for (std::int64_t head = 0; head < kHeads; ++head) {
          values[begin + j][head * kHeadWidth + j] = 1;
        }
      }
      const at::Tensor part = alone(small, pairs.query.narrow(0, q, asking).detach(), packed)
                                  .view({asking, kHeads, kHeadWidth})
                                  .mean(1);
      expected.narrow(1, begin, count).copy_(part.narrow(1, 0, count));
    }
    CHECK(distance(found[i], expected) < 1e-12);
    q += asking;
    k += keys;
  }
}
