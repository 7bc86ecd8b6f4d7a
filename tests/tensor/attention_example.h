// Two or three texts with biases of every kind, and attention over them by tiles beside the softmax
// as the formula says, in float64 with recorded gradients.
#pragma once

#include <ATen/ATen.h>

#include <limits>
#include <vector>

#include "tensor/tiled_attention.h"

namespace roformer {

struct AttentionResults {
  at::Tensor output, query, key, value;
  std::vector<at::Tensor> additive;

  std::vector<at::Tensor> all() const {
    std::vector<at::Tensor> tensors{output, query, key, value};
    tensors.insert(tensors.end(), additive.begin(), additive.end());
    return tensors;
  }
};

// Two texts: one of more queries than a tile holds, one of fewer queries than keys.
struct AttentionExample {
  static constexpr std::int64_t kHeads = 2;
  std::int64_t width = 8;  // of a head
  bool causal = false;
  std::int64_t text = 300, keys = 1030;  // of the first text, and those of the second
  std::vector<AttentionSegment> segments{
      {.query_begin = 0, .query_length = text, .key_begin = 0, .key_length = text},
      {.query_begin = text, .query_length = 5, .key_begin = text, .key_length = keys}};
  // Parts of packed rows, as the attention finds them.
  at::Tensor packed = at::randn({text + keys, 3 * kHeads* width}, at::kDouble);
  at::Tensor gradient = at::randn({text + 5, kHeads* width}, at::kDouble);
  std::vector<at::Tensor> additive;

  void add_biases() {
    additive = {at::randn({kHeads, text, text}, at::kDouble), at::randn({1, 5, keys}, at::kDouble)};
    additive[0].narrow(1, 7, 1).fill_(-std::numeric_limits<double>::infinity());
    additive[1].narrow(2, 0, 4).fill_(-std::numeric_limits<double>::infinity());
    segments[0].additive = 0;
    segments[1].additive = 1;
  }
  // The same of differences of positions, and one of them for two texts of the same lengths.
  void add_tables() {
    segments.push_back(
        {.query_begin = text + 5, .query_length = 5, .key_begin = text + keys, .key_length = keys});
    packed = at::randn({text + 2 * keys, 3 * kHeads * width}, at::kDouble);
    gradient = at::randn({text + 10, kHeads * width}, at::kDouble);
    additive = {at::randn({kHeads, 2 * text - 1}, at::kDouble),
                at::randn({1, keys + 4}, at::kDouble)};
    additive[0].narrow(1, 120, 40).fill_(-std::numeric_limits<double>::infinity());
    segments[0].additive = 0;
    segments[1].additive = segments[2].additive = 1;
  }
  // Tables that hide what is far: the first text's queries see keys from 30 before to 20 after
  // them, of the second head none, and those of the others the keys in the middle.
  void add_windows() {
    add_tables();
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    additive[0].narrow(1, 0, text - 1 - 30).fill_(kHidden);
    additive[0].narrow(1, text + 20, text - 1 - 20).fill_(kHidden);
    additive[0].narrow(1, text - 1, 10).copy_(at::randn({kHeads, 10}, at::kDouble));
    additive[0].select(0, 1).fill_(kHidden);
    additive[1].narrow(1, 0, first_visible()).fill_(kHidden);
    additive[1].narrow(1, keys * 7 / 10, keys + 4 - keys * 7 / 10).fill_(kHidden);
  }
  std::int64_t first_visible() const { return keys * 2 / 5; }
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
    return rows.narrow(1, which * kHeads * width, kHeads * width);
  }

  AttentionResults plain() const {
    const at::Tensor rows = packed.detach().clone().requires_grad_();
    std::vector<at::Tensor> biases;
    for (const at::Tensor& x : additive) biases.push_back(x.detach().clone().requires_grad_());
    std::vector<at::Tensor> outputs;
    for (const AttentionSegment& s : segments) {
      const auto heads = [&](std::int64_t which, std::int64_t begin, std::int64_t count) {
        return part(rows, which)
            .narrow(0, begin, count)
            .view({count, kHeads, width})
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
                            .reshape({s.query_length, kHeads * width}));
    }
    const at::Tensor output = at::cat(outputs);
    (output * gradient).sum().backward();
    AttentionResults results{.output = output.detach()};
    // Rows of queries from the second text on do not stand where its keys do.
    const at::Tensor all = rows.grad();
    results.query = part(all, 0).narrow(0, 0, queries());
    results.key = part(all, 1);
    results.value = part(all, 2);
    for (const at::Tensor& bias : biases) results.additive.push_back(bias.grad());
    return results;
  }

  // `unwanted`: of which bias no gradient is asked for; it is undefined in what is returned.
  AttentionResults tiled(at::ScalarType type, std::size_t unwanted = ~std::size_t{0}) const {
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
    AttentionResults results{.output = at::empty({queries(), kHeads * width}, type)};
    const at::Tensor logarithm = tiled_attention_forward(attention, results.output);
    const at::Tensor gradients = at::zeros_like(rows);
    TiledAttentionGradients into{
        .query = part(gradients, 0), .key = part(gradients, 1), .value = part(gradients, 2)};
    for (std::size_t i = 0; i < additive.size(); ++i) {
      std::vector<std::int64_t> sizes = additive[i].sizes().vec();
      sizes[0] = kHeads;
      into.additive.push_back(i == unwanted ? at::Tensor() : at::zeros(sizes, wide));
    }
    tiled_attention_backward(attention, results.output, logarithm, gradient.to(type), into);
    results.query = into.query.narrow(0, 0, queries());
    results.key = into.key;
    results.value = into.value;
    for (std::size_t i = 0; i < additive.size(); ++i) {
      const bool summed = i != unwanted && additive[i].size(0) == 1;
      results.additive.push_back(summed ? into.additive[i].sum(0, true) : into.additive[i]);
    }
    return results;
  }
};

}  // namespace roformer
