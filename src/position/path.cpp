// PaTH (Yang 2025, arXiv:2505.16381): between a key and a query stand the matrices of all tokens
// from one to the other, each the identity but for one direction that the token gives. With forget
// gates, PaTH-FoX. Section 22.
#include "config/schemes/path.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "position/fox.h"
#include "position/householder_products.h"
#include "position/scheme.h"

namespace roformer {
namespace {

constexpr double kProjection = 0.02;  // standard deviation of the projections at the start

class Path : public PositionScheme {
 public:
  explicit Path(const SchemeInputs& in)
      : settings_(in.settings.of<PathSettings>()), head_width_(in.shape.head_width) {
    for (std::int64_t layer = 0; layer < in.shape.layers; ++layer) add_layer(in, layer);
  }

  SchemeCapabilities capabilities() const override {
    return {.running_sums = settings_.forget_gate,
            .scores = ContentScores::own,
            .changes_keys = true,
            .token_inputs = true,
            .token_inputs_before = std::max<std::int64_t>(settings_.convolution - 1, 0)};
  }
  // Of each token and head: D numbers of w before the convolution, beta before its sigmoid, and the
  // gate before its own.
  at::Tensor token_inputs(std::int64_t layer, const at::Tensor& input) const override {
    const Layer& own = layers_[static_cast<std::size_t>(layer)];
    at::Tensor x = input.to(own.beta.weight.scalar_type());
    const auto of_heads = [&](const Projection& projection) {
      return (at::matmul(x, projection.weight.t()) + projection.bias).unsqueeze(-1);
    };
    std::vector<at::Tensor> parts(1);
    parts.push_back(of_heads(own.beta));
    if (settings_.forget_gate) parts.push_back(of_heads(own.gate));
    const at::Tensor narrow = own.down.defined() ? at::matmul(x, own.down.t()) : x;
    parts[0] = at::matmul(narrow, own.up.t()).unflatten(-1, {-1, head_width_});
    return at::cat(parts, -1);
  }

  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    const at::ScalarType type = context.token_inputs.scalar_type();
    HouseholderInputs products = products_of(context);
    products.query = terms.query.to(type);
    products.key = terms.key.to(type);
    products.scale = terms.scale;
    return householder_scores(products);
  }

  at::Tensor running_sums(const AttentionContext& context) const override {
    const at::Tensor sums = summed_log_gates(context.token_inputs.select(-1, head_width_ + 1));
    return settings_.gate_scaled ? sums * score_scale(head_width_) : sums;
  }

  at::Tensor changed_keys(const AttentionContext& context, const at::Tensor& key) const override {
    HouseholderInputs products = products_of(context);
    products.key = key.to(context.token_inputs.scalar_type());
    return settled_keys(products);
  }

 private:
  struct Projection {
    at::Tensor weight;  // [H, M]
    at::Tensor bias;    // [H]
  };
  struct Layer {
    at::Tensor down, up;     // [rank, M] and [H D, rank], or undefined and [H D, M]
    at::Tensor convolution;  // [H D, K], the token itself last
    Projection beta, gate;
  };
  PathSettings settings_;
  std::int64_t head_width_;
  std::vector<Layer> layers_;

  void add_layer(const SchemeInputs& in, std::int64_t layer) {
    const std::int64_t width = in.shape.width, heads = in.shape.heads;
    const std::int64_t inner = heads * head_width_;
    const auto add = [&](const char* name, std::vector<std::int64_t> shape, Initializer initial) {
      const bool weight = shape.size() > 1;
      return in.parameters.add({.name = layer_parameter(layer, name),
                                .shape = std::move(shape),
                                .initial = std::move(initial),
                                .decay = weight,
                                .depth = static_cast<int>(layer) + 1});
    };
    Layer own;
    if (settings_.rank > 0) {
      own.down = add("down.weight", {settings_.rank, width}, normal(kProjection));
    }
    own.up =
        add("up.weight", {inner, settings_.rank > 0 ? settings_.rank : width}, normal(kProjection));
    if (settings_.convolution > 0) {
      const double bound = 1 / std::sqrt(static_cast<double>(settings_.convolution));
      own.convolution = add("convolution", {inner, settings_.convolution}, uniform(-bound, bound));
    }
    const auto add_projection = [&](const std::string& name) {
      return Projection{
          .weight = add((name + ".weight").c_str(), {heads, width}, normal(kProjection)),
          .bias = add((name + ".bias").c_str(), {heads}, zeros())};
    };
    own.beta = add_projection("beta");
    if (settings_.forget_gate) own.gate = add_projection("gate");
    layers_.push_back(std::move(own));
  }

  // w and beta of the queries' tokens; the keys in front of them are settled.
  HouseholderInputs products_of(const AttentionContext& context) const {
    const at::Tensor& token_inputs = context.token_inputs;
    const std::int64_t count = context.queries.count(), settled = token_inputs.size(2) - count;
    const at::Tensor direction = directions(context, settled, count);
    const at::Tensor length = (direction.square().sum(-1, true) + settings_.epsilon).sqrt();
    const at::Tensor beta = token_inputs.narrow(2, settled, count).select(-1, head_width_);
    return {.w = direction / length, .beta = 2 * at::sigmoid(beta), .settled = settled};
  }

  // silu of the convolution over the token and those in front of it, [B, H, count, D].
  at::Tensor directions(const AttentionContext& context, std::int64_t first,
                        std::int64_t count) const {
    const at::Tensor all = context.token_inputs.narrow(-1, 0, head_width_);
    const std::int64_t taps = settings_.convolution;
    if (taps == 0) return all.narrow(2, first, count);
    const std::int64_t before = std::min(first, taps - 1);
    const at::Tensor seen = at::constant_pad_nd(all.narrow(2, first - before, before + count),
                                                {0, 0, taps - 1 - before, 0});
    const at::Tensor& weight = layers_[static_cast<std::size_t>(context.layer)].convolution;
    at::Tensor sum;
    for (std::int64_t t = 0; t < taps; ++t) {
      const at::Tensor tap = weight.select(1, t).view({-1, 1, head_width_});  // [H, 1, D]
      const at::Tensor part = seen.narrow(2, t, count) * tap;
      sum = sum.defined() ? sum + part : part;
    }
    return at::silu(sum);
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_path(const SchemeInputs& inputs) {
  return std::make_unique<Path>(inputs);
}

}  // namespace roformer
