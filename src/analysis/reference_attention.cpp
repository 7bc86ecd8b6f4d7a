#include "analysis/reference_attention.h"

#include <ATen/ops/diag_embed.h>
#include <ATen/ops/einsum.h>

#include <limits>
#include <map>
#include <set>

#include "attention/position_session.h"
#include "config/schemes/dape.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

// x [B, H, L, D] times the block-diagonal matrix of each position (RoFormer eq. 15; its eq. 34 is
// the efficient form).
at::Tensor rotated_by_matrices(const at::Tensor& x, const Rotation& rotation) {
  const std::int64_t length = x.size(2), width = rotation.width(), pairs = width / 2;
  const bool interleaved = rotation.layout == RotaryLayout::interleaved;
  at::Tensor matrices = at::diag_embed(at::ones({length, x.size(3)}, rotation.cosine.options()));
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const std::int64_t a = interleaved ? 2 * pair : pair, b = interleaved ? a + 1 : pair + pairs;
    const at::Tensor cosine = rotation.cosine.select(1, pair), sine = rotation.sine.select(1, pair);
    matrices.select(1, a).select(1, a).copy_(cosine);
    matrices.select(1, b).select(1, b).copy_(cosine);
    matrices.select(1, a).select(1, b).copy_(-sine);
    matrices.select(1, b).select(1, a).copy_(sine);
  }
  return at::einsum("lde,bhle->bhld", {matrices.to(x.scalar_type()), x});
}

}  // namespace

at::Tensor reference_attention(const ReferenceAttentionInputs& in) {
  const at::ScalarType type = in.query.scalar_type();
  const double scale = in.scheme.score_scale(in.query.size(-1));
  const PairVectors pairs = pair_vectors(in);
  at::Tensor query = in.query, key = in.key, value = in.value;
  const auto rotation = in.scheme.rotation(in.context, query.size(-1));
  if (rotation && !pairs.scores) {
    query = rotated_by_matrices(query, rotation->query);
    key = rotated_by_matrices(key, rotation->key);
    if (rotation->value) value = rotated_by_matrices(value, rotation->key);
  }
  at::Tensor scores =
      pairs.scores ? pairs.scores() : at::matmul(query, key.transpose(-2, -1)) * scale;
  const auto add = [&](const char* each_head, const char* shared, const at::Tensor& vectors,
                       const at::Tensor& x) {
    scores = scores + scale * (vectors.dim() == 4 ? at::einsum(each_head, {x, vectors})
                                                  : at::einsum(shared, {x, vectors}));
  };
  if (pairs.for_query.defined()) {
    const at::Tensor biased =
        pairs.query_bias.defined() ? query + pairs.query_bias.unsqueeze(1) : query;
    add("bhid,hijd->bhij", "bhid,ijd->bhij", pairs.for_query, biased);
  }
  if (pairs.for_key.defined()) {
    add("bhjd,hijd->bhij", "bhjd,ijd->bhij", pairs.for_key, key);
  }
  if (pairs.content_bias.defined()) {
    scores = scores + scale * at::matmul(pairs.content_bias.unsqueeze(1), key.transpose(-2, -1));
  }
  const at::Tensor bias = in.scheme.capabilities().bias ? in.scheme.bias(in.context) : at::Tensor();
  if (bias.defined()) scores = scores + bias;
  if (pairs.weights) {
    const at::Tensor weights = pairs.weights(scores);
    const at::Tensor output = at::matmul(weights, value);
    return pairs.remainder_term ? output + pairs.remainder_term(weights) : output;
  }
  at::Tensor mask = in.scheme.mask(in.context);
  if (!mask.defined() && in.context.causal) mask = causal_mask(in.context.queries, in.context.keys);
  if (mask.defined()) {
    scores = scores.masked_fill(mask.logical_not().to(scores.device()),
                                -std::numeric_limits<double>::infinity());
  }
  const at::Tensor probabilities = at::softmax(scores, -1).to(type);
  at::Tensor output = at::matmul(probabilities, value);
  if (pairs.for_value.defined()) {
    output = output + at::einsum("bhij,ijd->bhid", {probabilities, pairs.for_value});
  }
  return output;
}

double reference_attention_numbers(const PositionSettings& settings,
                                   const ReferenceAttentionSize& size) {
  const auto length = static_cast<double>(size.length);
  const auto scores = static_cast<double>(size.batch * size.heads) * length * length;
  const auto vectors = length * length * static_cast<double>(size.head_width);
  const auto heads = static_cast<double>(size.heads);
  // The scores, their softmax and the gradients of both; for each set of vectors also the copy that
  // the product makes.
  static const std::map<std::string, double> kSetsOfHead{
      {"music_transformer", 1}, {"transformer_xl", 1}, {"deberta", 2}};
  static const std::set<std::string> kByPair{"cope",       "rerope",    "self_extend",
                                             "dual_chunk", "streaming", "explicit_positions",
                                             "fox",        "path"};
  double numbers = 5 * scores;
  if (settings.scheme == "dape") {  // both layers with their inputs, for all texts
    numbers += 4 * scores * (2 + static_cast<double>(settings.of<DapeSettings>().width) / heads);
  }
  if (const auto sets = kSetsOfHead.find(settings.scheme); sets != kSetsOfHead.end()) {
    numbers += 4 * sets->second * heads * vectors;
  } else if (settings.scheme == "shaw" || settings.scheme == "nezha") {
    numbers += 4 * 2 * vectors;
  } else if (kByPair.contains(settings.scheme)) {
    numbers += 6 * scores * static_cast<double>(size.head_width);
  }
  return numbers;
}

at::Tensor cumulative_linear_attention(const LinearFeatures& features, const at::Tensor& value) {
  const at::Tensor states =  // [B, H, L, F, D]
      (features.rotated_key.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(2);
  const at::Tensor sums = at::matmul(features.rotated_query.unsqueeze(-2), states).squeeze(-2);
  return sums / linear_denominator(features, /*causal=*/true);
}

}  // namespace roformer
