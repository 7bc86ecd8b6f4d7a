// Attention by tiles against the softmax as the formula says, in float64 with recorded gradients.
#include "tensor/tiled_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <limits>

#include "catch.h"
#include "distance.h"

using namespace roformer;

namespace {

constexpr std::int64_t kHeads = 2, kWidth = 8;

struct Results {
  at::Tensor output, query, key, value;
  std::vector<at::Tensor> additive;

  std::vector<at::Tensor> all() const {
    std::vector<at::Tensor> tensors{output, query, key, value};
    tensors.insert(tensors.end(), additive.begin(), additive.end());
    return tensors;
  }
};

// Two texts: one of more queries than a tile holds, one of fewer queries than keys.
struct Example {
  bool causal = false;
  std::vector<AttentionSegment> segments{
      {.query_begin = 0, .query_length = 300, .key_begin = 0, .key_length = 300},
      {.query_begin = 300, .query_length = 5, .key_begin = 300, .key_length = 1030}};
  // Parts of packed rows, as the attention finds them.
  at::Tensor packed = at::randn({1330, 3 * kHeads* kWidth}, at::kDouble);
  at::Tensor gradient = at::randn({305, kHeads* kWidth}, at::kDouble);
  std::vector<at::Tensor> additive;

  void add_biases() {
    additive = {at::randn({kHeads, 300, 300}, at::kDouble), at::randn({1, 5, 1030}, at::kDouble)};
    additive[0].narrow(1, 7, 1).fill_(-std::numeric_limits<double>::infinity());
    additive[1].narrow(2, 0, 4).fill_(-std::numeric_limits<double>::infinity());
    segments[0].additive = 0;
    segments[1].additive = 1;
  }
  // The same of differences of positions, and one of them for two texts of the same lengths.
  void add_tables() {
    segments.push_back(
        {.query_begin = 305, .query_length = 5, .key_begin = 1330, .key_length = 1030});
    packed = at::randn({2360, 3 * kHeads * kWidth}, at::kDouble);
    gradient = at::randn({310, kHeads * kWidth}, at::kDouble);
    additive = {at::randn({kHeads, 599}, at::kDouble), at::randn({1, 1034}, at::kDouble)};
    additive[0].narrow(1, 120, 40).fill_(-std::numeric_limits<double>::infinity());
    segments[0].additive = 0;
    segments[1].additive = segments[2].additive = 1;
  }
  // Tables that hide what is far: the first text's queries see keys from 30 before to 20 behind
  // them, of the second head none, and those of the others the 300 keys in the middle.
  void add_windows() {
    add_tables();
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    additive[0].narrow(1, 0, 299 - 30).fill_(kHidden);
    additive[0].narrow(1, 299 + 20 + 1, 599 - 320).fill_(kHidden);
    additive[0].narrow(1, 299, 10).copy_(at::randn({kHeads, 10}, at::kDouble));
    additive[0].select(0, 1).fill_(kHidden);
    additive[1].narrow(1, 0, 400).fill_(kHidden);
    additive[1].narrow(1, 700, 334).fill_(kHidden);
  }
  // A bias of a segment's pairs, [1 or H, Lq, Lk], with its graph.
  static at::Tensor of_pairs(const at::Tensor& bias, const AttentionSegment& s) {
    if (bias.dim() == 3) return bias;
    const at::Tensor entry =
        at::arange(s.query_length - 1, -1, -1).unsqueeze(1) + at::arange(s.key_length).unsqueeze(0);
    return at::index_select(bias, 1, entry.flatten())
        .view({bias.size(0), s.query_length, s.key_length});
  }
  std::int64_t queries() const { return gradient.size(0); }
  at::Tensor part(const at::Tensor& rows, std::int64_t which) const {
    return rows.narrow(1, which * kHeads * kWidth, kHeads * kWidth);
  }

  Results plain() const {
    const at::Tensor rows = packed.detach().clone().requires_grad_();
    std::vector<at::Tensor> biases;
    for (const at::Tensor& x : additive) biases.push_back(x.detach().clone().requires_grad_());
    std::vector<at::Tensor> outputs;
    for (const AttentionSegment& s : segments) {
      const auto heads = [&](std::int64_t which, std::int64_t begin, std::int64_t count) {
        return part(rows, which)
            .narrow(0, begin, count)
            .view({count, kHeads, kWidth})
            .transpose(0, 1);
      };
      at::Tensor scores = at::matmul(heads(0, s.query_begin, s.query_length),
                                     heads(1, s.key_begin, s.key_length).transpose(1, 2)) *
                          0.4;
      if (s.additive >= 0) {
        scores = scores + of_pairs(biases[static_cast<std::size_t>(s.additive)], s);
      }
      if (causal) {
        const at::Tensor future = at::ones({s.query_length, s.key_length}, at::kBool)
                                      .triu(s.key_length - s.query_length + 1);
        scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
      }
      const at::Tensor empty = scores.isinf().all(-1, true);
      const at::Tensor weights =
          at::softmax(scores.masked_fill(empty, 0), -1).masked_fill(empty, 0);
      outputs.push_back(at::matmul(weights, heads(2, s.key_begin, s.key_length))
                            .transpose(0, 1)
                            .reshape({s.query_length, kHeads * kWidth}));
    }
    const at::Tensor output = at::cat(outputs);
    (output * gradient).sum().backward();
    Results results{.output = output.detach()};
    // Rows of queries from the second text on do not stand where its keys do.
    const at::Tensor all = rows.grad();
    results.query = part(all, 0).narrow(0, 0, queries());
    results.key = part(all, 1);
    results.value = part(all, 2);
    for (const at::Tensor& bias : biases) results.additive.push_back(bias.grad());
    return results;
  }

  Results tiled(at::ScalarType type) const {
    const at::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor rows = packed.to(type);
    TiledAttention attention{.query = part(rows, 0),
                             .key = part(rows, 1),
                             .value = part(rows, 2),
                             .segments = segments,
                             .heads = kHeads,
                             .scale = 0.4,
                             .causal = causal};
    for (const at::Tensor& bias : additive) attention.additive.push_back(bias.to(wide));
    Results results{.output = at::empty({queries(), kHeads * kWidth}, type)};
    const at::Tensor logarithm = tiled_attention_forward(attention, results.output);
    const at::Tensor gradients = at::zeros_like(rows);
    TiledAttentionGradients into{
        .query = part(gradients, 0), .key = part(gradients, 1), .value = part(gradients, 2)};
    for (const at::Tensor& bias : additive) {
      std::vector<std::int64_t> sizes = bias.sizes().vec();
      sizes[0] = kHeads;
      into.additive.push_back(at::zeros(sizes, wide));
    }
    tiled_attention_backward(attention, results.output, logarithm, gradient.to(type), into);
    results.query = into.query.narrow(0, 0, queries());
    results.key = into.key;
    results.value = into.value;
    for (std::size_t i = 0; i < additive.size(); ++i) {
      results.additive.push_back(additive[i].size(0) == 1 ? into.additive[i].sum(0, true)
                                                          : into.additive[i]);
    }
    return results;
  }
};

}  // namespace

TEST_CASE("attention by tiles is the softmax, with the gradients of rows and biases") {
  at::manual_seed(2);
  Example example{.causal = GENERATE(false, true)};
  switch (GENERATE(0, 1, 2, 3)) {
    case 1:
      example.add_biases();
      break;
    case 2:
      example.add_tables();
      break;
    case 3:
      example.add_windows();
      break;
  }
  const std::vector<at::Tensor> expected = example.plain().all();
  const auto check = [&](at::ScalarType type, double bound) {
    const std::vector<at::Tensor> found = example.tiled(type).all();
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO("result " << i << ", " << c10::toString(type));
      const double largest = expected[i].abs().max().item<double>();
      CHECK(distance(found[i].to(at::kDouble), expected[i]) < bound * largest);
    }
  };
  check(at::kDouble, 1e-13);
  check(at::kFloat, 1e-5);
  check(at::kBFloat16, 0.02);
}

TEST_CASE("attention by tiles gives the same numbers on any count of threads") {
  at::manual_seed(3);
  Example example{.causal = true};
  if (GENERATE(false, true)) {
    example.add_biases();
  } else {
    example.add_tables();
  }
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<at::Tensor> one = example.tiled(at::kFloat).all();
  at::set_num_threads(2);
  const std::vector<at::Tensor> two = example.tiled(at::kFloat).all();
  at::set_num_threads(threads);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(at::equal(one[i], two[i]));
}

TEST_CASE("a bias of differences gives bitwise what it gives spread over all pairs") {
  at::manual_seed(4);
  Example tables{.causal = GENERATE(false, true)};
  tables.add_tables();
  Example pairs = tables;
  pairs.additive.clear();
  for (AttentionSegment& s : pairs.segments) {
    pairs.additive.push_back(
        Example::of_pairs(tables.additive[static_cast<std::size_t>(s.additive)], s));
    s.additive = static_cast<std::int64_t>(pairs.additive.size()) - 1;
  }
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Results table = tables.tiled(type), pair = pairs.tiled(type);
    CHECK(at::equal(table.output, pair.output));
    CHECK(at::equal(table.query, pair.query));
    CHECK(at::equal(table.key, pair.key));
    CHECK(at::equal(table.value, pair.value));
    // The sums along the diagonals.
    std::vector<at::Tensor> sums;
    for (const at::Tensor& x : tables.additive) sums.push_back(at::zeros(x.sizes(), at::kDouble));
    for (std::size_t i = 0; i < pairs.segments.size(); ++i) {
      const at::Tensor sum = sums[static_cast<std::size_t>(tables.segments[i].additive)];
      const at::Tensor of_pair = pair.additive[i].to(at::kDouble);
      for (std::int64_t query = 0; query < of_pair.size(1); ++query) {
        sum.narrow(1, of_pair.size(1) - 1 - query, of_pair.size(2)).add_(of_pair.select(1, query));
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double largest = sums[i].abs().max().item<double>();
      CHECK(distance(table.additive[i].to(at::kDouble), sums[i]) < 1e-5 * largest);
    }
  }
}
