// PaTH (Yang 2025, arXiv:2505.16381): the score of a query and a key multiplies the matrices of all
// tokens between them. Each matrix is the identity except along one direction, which depends on its
// token. With forget gates it is PaTH-FoX. Section 22.
#include <algorithm>
#include <cmath>
#include <vector>

#include "config/schemes/path.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/householder_attention.h"

namespace roformer {
namespace {

constexpr double kProjection = 0.02;  // initial standard deviation of the projections

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
            .attends = !settings_.forget_gate,
            .token_inputs = true,
            .token_inputs_before = std::max<std::int64_t>(settings_.convolution - 1, 0)};
  }
  // For each token and head: the D numbers of w before the convolution, followed by beta and the
  // gate before their sigmoids.
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

  at::Tensor attended(const AttentionContext& context, const at::Tensor& query,
                      const at::Tensor& key, const at::Tensor& value) const override {
    const at::ScalarType type = accumulate_type(query.scalar_type());
    const HouseholderInputs products = products_of(context);
    return householder_attention({.query = query,
                                  .key = key,
                                  .value = value,
                                  .w = products.w.to(type),
                                  .beta = products.beta.to(type),
                                  .scale = score_scale(head_width_)});
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
      return add_layer_parameter(in, layer,
                                 {.name = name,
                                  .shape = std::move(shape),
                                  .initial = std::move(initial),
                                  .decay = weight});
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

  // w and beta of the queries' tokens. The keys before them are settled.
  HouseholderInputs products_of(const AttentionContext& context) const {
    const at::Tensor& token_inputs = context.token_inputs;
    const std::int64_t count = context.queries.count(), settled = token_inputs.size(2) - count;
    const at::Tensor beta = token_inputs.narrow(2, settled, count).select(-1, head_width_);
    return {.w = unit_directions(context, settled, count),
            .beta = 2 * at::sigmoid(beta),
            .settled = settled};
  }

  at::Tensor unit_directions(const AttentionContext& context, std::int64_t first,
                             std::int64_t count) const {
    if (first == 0 && settings_.convolution > 0 && runs_loops(context.token_inputs)) {
      return householder_directions(context.token_inputs.narrow(-1, 0, head_width_),
                                    layers_[static_cast<std::size_t>(context.layer)].convolution,
                                    settings_.epsilon);
    }
    const at::Tensor direction = directions(context, first, count);
    return direction / (direction.square().sum(-1, true) + settings_.epsilon).sqrt();
  }

  // silu of the convolution over each token and the tokens before it, [B, H, count, D].
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

namespace {

constexpr std::int64_t kTokens = 64;  // per chunk: about a head's width

// The combined matrices of several tokens: their product is I - w^T inverse diag(beta) w.
struct ProductChunk {
  std::int64_t begin = 0, end = 0;  // indices among all keys
  at::Tensor w, scaled;             // [B, H, c, D]: w, beta w
  at::Tensor inverse;               // of I + the strict lower triangle of beta w w^T, [B, H, c, c]

  ProductChunk(const HouseholderInputs& in, std::int64_t first, std::int64_t last)
      : begin(first), end(last) {
    w = in.w.narrow(2, begin - in.settled, end - begin);
    scaled = w * in.beta.narrow(2, begin - in.settled, end - begin).unsqueeze(-1);
    const at::Tensor one = at::eye(end - begin, w.options());
    inverse = at::linalg_solve_triangular(one + at::matmul(scaled, w.transpose(-2, -1)).tril(-1),
                                          one.expand({1, 1, -1, -1}),
                                          /*upper=*/false, /*left=*/true, /*unitriangular=*/true);
  }

  at::Tensor own(const at::Tensor& key) const { return key.narrow(2, begin, end - begin); }

  // The keys before and inside the chunk, as the token after the chunk sees them.
  at::Tensor carried(const at::Tensor& before, const at::Tensor& key) const {
    const at::Tensor carrier = at::matmul(inverse.transpose(-2, -1), w);
    const auto through = [&](const at::Tensor& keys, const at::Tensor& products) {
      return keys - at::matmul(products, carrier);
    };
    const at::Tensor mine = own(key);
    const at::Tensor inner = at::matmul(scaled, mine.transpose(-2, -1)).tril(-1);
    const at::Tensor result = through(mine, inner.transpose(-2, -1));
    if (before.size(2) == 0) return result;
    return at::cat({through(before, at::matmul(before, scaled.transpose(-2, -1))), result}, 2);
  }

  // Products of the chunk's queries with the keys before and inside the chunk: [B, H, c, end].
  at::Tensor scores(const at::Tensor& query, const at::Tensor& before,
                    const at::Tensor& key) const {
    const at::Tensor mine = own(key).transpose(-2, -1);
    const at::Tensor through = at::matmul(at::matmul(query, w.transpose(-2, -1)).tril(), inverse);
    const at::Tensor inner =
        at::matmul(query, mine).tril() - at::matmul(through, at::matmul(scaled, mine).tril(-1));
    if (before.size(2) == 0) return inner;
    const at::Tensor carried_query = query - at::matmul(through, scaled);
    return at::cat({at::matmul(carried_query, before.transpose(-2, -1)), inner}, 3);
  }
};

// Chunks begin at the end of the settled keys, at the first query, and every kTokens tokens.
std::vector<std::int64_t> chunk_bounds(const HouseholderInputs& in) {
  const std::int64_t keys = in.key.size(2);
  const std::int64_t first = in.query.defined() ? keys - in.query.size(2) : in.settled;
  std::vector<std::int64_t> bounds{in.settled};
  while (bounds.back() < keys) {
    const std::int64_t limit = bounds.back() < first ? first : keys;
    bounds.push_back(std::min(bounds.back() + kTokens, limit));
  }
  return bounds;
}

}  // namespace

at::Tensor householder_scores(const HouseholderInputs& in) {
  const std::int64_t keys = in.key.size(2), first = keys - in.query.size(2);
  const std::vector<std::int64_t> bounds = chunk_bounds(in);
  at::Tensor before = in.key.narrow(2, 0, in.settled);
  std::vector<at::Tensor> rows;
  for (std::size_t n = 0; n + 1 < bounds.size(); ++n) {
    const ProductChunk chunk(in, bounds[n], bounds[n + 1]);
    if (chunk.begin >= first) {
      const at::Tensor query = in.query.narrow(2, chunk.begin - first, chunk.end - chunk.begin);
      rows.push_back(
          at::constant_pad_nd(chunk.scores(query, before, in.key), {0, keys - chunk.end}));
    }
    if (chunk.end < keys) before = chunk.carried(before, in.key);
  }
  return at::cat(rows, 2) * in.scale;
}

at::Tensor settled_keys(const HouseholderInputs& in) {
  const std::vector<std::int64_t> bounds = chunk_bounds(in);
  at::Tensor before = in.key.narrow(2, 0, in.settled);
  for (std::size_t n = 0; n + 1 < bounds.size(); ++n) {
    before = ProductChunk(in, bounds[n], bounds[n + 1]).carried(before, in.key);
  }
  return before;
}

}  // namespace roformer
