// Data-adaptive positional encoding (DAPE, Zheng 2024, arXiv:2405.14722): at each pair, a small
// network reads the scores and biases of all heads and adds to both. DAPE V2 (arXiv:2410.04798)
// also reads neighbouring keys, with two convolutions. Section 20.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/error.h"
#include "config/schemes/dape.h"
#include "position/constant_bias.h"
#include "position/relative_index.h"
#include "position/replaced_scores.h"
#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"
#include "tensor/attention_kernels.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/on_device.h"
#include "tensor/parallel.h"
#include "tensor/token_layout.h"

namespace roformer {
namespace {

constexpr double kLeastKernel = 0.01;  // least r1 and r2, as KERPLE's authors clamp them

class Dape : public PositionScheme {
 public:
  explicit Dape(const SchemeInputs& in)
      : settings_(in.settings.of<DapeSettings>()), slopes_(alibi_slopes(in.shape.heads)) {
    for (std::int64_t layer = 0; layer < in.shape.layers; ++layer) add_layer(in, layer);
  }

  SchemeCapabilities capabilities() const override {
    // Earlier results change with new keys: the second convolution reads the hidden layer right of
    // the diagonal.
    return {.scores = ContentScores::changed, .can_cache = settings_.kernel == 1};
  }
  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override {
    if (settings_.kind != DapeKind::rope) return std::nullopt;
    return tables_.pair(context, {.frequencies = rotary_frequencies(width, settings_.base),
                                  .layout = RotaryLayout::half});
  }

  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    const Layer& layer = layers_[static_cast<std::size_t>(context.layer)];
    const at::ScalarType type = terms.scores.scalar_type();
    const auto taps = [](const at::Tensor& weight) {
      return weight.dim() == 2 ? weight.unsqueeze(0) : weight;
    };
    at::Tensor bias;
    if (settings_.kind != DapeKind::rope) bias = bias_of_past(context, layer).to(type).squeeze(0);
    return with_score_network(
        {.scores = terms.scores,
         .bias = bias,
         .past = settings_.kernel > 1 ? on_device(past_of_pairs(context) >= 0, context.device)
                                      : at::Tensor(),
         .causal = context.causal && context.mask.defined(),
         .network = {.first_weight = taps(layer.network.first_weight).to(type),
                     .first_bias = layer.network.first_bias.to(type),
                     .second_weight = taps(layer.network.second_weight).to(type),
                     .second_bias = layer.network.second_bias.to(type),
                     .slope = settings_.slope}});
  }

 private:
  struct Layer {
    ScoreNetwork network;  // a weight drops its first dimension if that is 1
    at::Tensor r1, r2;     // [H], for kerple
  };
  DapeSettings settings_;
  std::vector<double> slopes_;
  std::vector<Layer> layers_;
  mutable ConstantBias constant_;
  mutable RotaryTables tables_;

  void add_layer(const SchemeInputs& in, std::int64_t layer) {
    const std::int64_t heads = in.shape.heads, width = settings_.width, taps = settings_.kernel;
    const std::int64_t channels = settings_.kind == DapeKind::rope ? heads : 2 * heads;
    const auto add = [&](const char* name, std::vector<std::int64_t> shape, std::int64_t inputs) {
      const double bound = 1 / std::sqrt(static_cast<double>(inputs));
      const bool weight = shape.size() > 1;
      return add_layer_parameter(in, layer,
                                 {.name = name,
                                  .shape = std::move(shape),
                                  .initial = uniform(-bound, bound),
                                  .decay = weight});
    };
    const auto shape = [&](std::int64_t from, std::int64_t to) {
      return taps == 1 ? std::vector<std::int64_t>{from, to}
                       : std::vector<std::int64_t>{taps, from, to};
    };
    Layer result;
    ScoreNetwork& net = result.network;
    net.first_weight = add("first.weight", shape(channels, width), taps * channels);
    net.first_bias = add("first.bias", {width}, taps * channels);
    net.second_weight = add("second.weight", shape(width, heads), taps * width);
    net.second_bias = add("second.bias", {heads}, taps * width);
    if (settings_.kind == DapeKind::kerple) {
      const auto add_kernel = [&](const char* name, double high) {
        return add_layer_parameter(
            in, layer,
            {.name = name,
             .shape = {heads},
             .initial = uniform(0, high),
             .decay = false,
             .constraint = [](at::Tensor& values) { values.clamp_(kLeastKernel); }});
      };
      result.r1 = add_kernel("r1", 2);
      result.r2 = add_kernel("r2", 1);
    }
    layers_.push_back(std::move(result));
  }

  // Returns [1, H, Lq, Lk], 0 for keys after the query.
  at::Tensor bias_of_past(const AttentionContext& context, const Layer& layer) const {
    const bool alibi = settings_.kind == DapeKind::alibi;
    const auto make = [&] {
      return bias_of_distance(context.queries, context.keys, [&](const at::Tensor& distances) {
        const auto options = at::TensorOptions().dtype(context.type).device(context.device);
        const at::Tensor past = on_device((-distances).clamp_min(0), options).unsqueeze(0);
        if (alibi) return past * -on_device(at::tensor(slopes_, at::kDouble), options).unsqueeze(1);
        return -layer.r1.unsqueeze(1) * at::log1p(layer.r2.unsqueeze(1) * past);
      });
    };
    return alibi ? constant_.get(context, make) : make();
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_dape(const SchemeInputs& inputs) {
  return std::make_unique<Dape>(inputs);
}

namespace {

constexpr std::int64_t kNumbers = std::int64_t{1} << 22;  // of hidden features held at a time

// One layer over rows of pairs: y[o, i, j] = b[o] + sum over t, c of W[t, c, o] x[c, i, j + t -
// K/2].
struct PairLayer {
  at::Tensor weight;  // [K, in, out]
  at::Tensor bias;    // [out]

  std::int64_t taps() const { return weight.size(0); }
  at::Tensor padded(const at::Tensor& x) const {
    return taps() == 1 ? x : at::constant_pad_nd(x, {taps() / 2, taps() / 2});
  }

  // x [in, rows, Lk] -> [out, rows, Lk]
  at::Tensor forward(const at::Tensor& x) const {
    const std::int64_t keys = x.size(2);
    const at::Tensor wide = padded(x);
    at::Tensor sum = bias.unsqueeze(1);
    for (std::int64_t t = 0; t < taps(); ++t) {
      sum = sum + at::matmul(weight[t].t(), wide.narrow(2, t, keys).flatten(1));
    }
    return sum.unflatten(1, {x.size(1), keys});
  }

  // Adds to the gradients of weight and bias; returns the gradient of x.
  at::Tensor backward(const at::Tensor& x, const at::Tensor& slopes, const PairLayer& to) const {
    const std::int64_t keys = x.size(2);
    const at::Tensor wide = padded(x), flat = slopes.flatten(1);
    const at::Tensor to_wide = at::zeros_like(wide);
    to.bias.add_(flat.sum(1));
    for (std::int64_t t = 0; t < taps(); ++t) {
      to.weight[t].add_(at::matmul(wide.narrow(2, t, keys).flatten(1), flat.t()));
      to_wide.narrow(2, t, keys).add_(at::matmul(weight[t], flat).unflatten(1, {x.size(1), keys}));
    }
    return to_wide.narrow(2, taps() / 2, keys);
  }
};

struct ScoreNetworkState {
  at::Tensor scores, bias, past;
  PairLayer first, second;
  double slope = 0.01;

  std::vector<TextBlock> blocks() const {
    const std::int64_t queries = scores.size(2);
    const std::int64_t numbers = scores.size(3) * first.weight.size(2);  // for one query
    const std::int64_t rows = std::clamp<std::int64_t>(
        kNumbers / std::max<std::int64_t>(1, numbers), 1, std::max<std::int64_t>(1, queries));
    return text_blocks(scores.size(0), queries, rows, numbers, kNumbers);
  }

  // x [texts, C, rows, Lk]
  at::Tensor visible(const at::Tensor& x, const TextBlock& block) const {
    return past.defined() ? x * past.narrow(0, block.row, block.rows) : x;
  }
  // [C, texts * rows, Lk], the form that a layer takes.
  at::Tensor channels(const TextBlock& block) const {
    at::Tensor own = block.rows_of(scores);
    if (bias.defined()) {
      const at::Tensor rows = bias.narrow(1, block.row, block.rows).unsqueeze(0);
      own = at::cat({own, rows.expand({block.texts, -1, -1, -1})}, 1);
    }
    return of_layer(visible(own, block));
  }
  static at::Tensor of_layer(const at::Tensor& x) { return x.transpose(0, 1).flatten(1, 2); }
  static at::Tensor of_texts(const at::Tensor& x, const TextBlock& block) {
    return x.unflatten(1, {block.texts, block.rows}).transpose(0, 1);
  }
};

at::Tensor composed(const ScoreNetworkInputs& in) {
  const ScoreNetwork& net = in.network;
  GradientRecorder recorder(
      "attention/score_network",
      {in.scores, in.bias, net.first_weight, net.first_bias, net.second_weight, net.second_bias});
  const auto state = std::make_shared<ScoreNetworkState>(ScoreNetworkState{
      .scores = in.scores.detach(),
      .bias = in.bias.defined() ? in.bias.detach() : at::Tensor(),
      .past = in.past,
      .first = {.weight = net.first_weight.detach(), .bias = net.first_bias.detach()},
      .second = {.weight = net.second_weight.detach(), .bias = net.second_bias.detach()},
      .slope = net.slope});
  const at::Tensor result =
      state->bias.defined() ? state->scores + state->bias : state->scores.clone();
  for (const TextBlock& block : state->blocks()) {
    const at::Tensor hidden =
        at::leaky_relu(state->first.forward(state->channels(block)), state->slope);
    block.rows_of(result).add_(ScoreNetworkState::of_texts(state->second.forward(hidden), block));
  }
  return recorder.finish(result, [state](const Gradients& gradients) -> Gradients {
    const at::Tensor& slopes = gradients[0];
    const auto zeros = [](const PairLayer& layer) {
      return PairLayer{.weight = at::zeros_like(layer.weight), .bias = at::zeros_like(layer.bias)};
    };
    const PairLayer to_first = zeros(state->first), to_second = zeros(state->second);
    const at::Tensor to_scores = slopes.clone(at::MemoryFormat::Contiguous);
    const at::Tensor to_bias = state->bias.defined() ? slopes.sum(0) : at::Tensor();
    const std::int64_t heads = slopes.size(1);
    for (const TextBlock& block : state->blocks()) {
      const at::Tensor channels = state->channels(block);
      const at::Tensor before = state->first.forward(channels);
      const at::Tensor own = ScoreNetworkState::of_layer(block.rows_of(slopes));
      at::Tensor back =
          state->second.backward(at::leaky_relu(before, state->slope), own, to_second);
      back = at::where(before > 0, back, back * state->slope);
      back = ScoreNetworkState::of_texts(state->first.backward(channels, back, to_first), block);
      back = state->visible(back, block);
      block.rows_of(to_scores).add_(back.narrow(1, 0, heads));
      if (to_bias.defined()) {
        to_bias.narrow(1, block.row, block.rows).add_(back.narrow(1, heads, heads).sum(0));
      }
    }
    return {to_scores, to_bias, to_first.weight, to_first.bias, to_second.weight, to_second.bias};
  });
}

// Gives the loops access to one query's pairs in one text.
template <typename T>
class NetworkRows {
 public:
  NetworkRows(const ScoreNetworkInputs& in, const at::Tensor& scores)
      : scores_(scores),
        bias_(in.bias.defined() ? in.bias.detach().contiguous() : at::Tensor()),
        past_(in.past.defined() ? in.past.contiguous() : at::Tensor()),
        first_weight_(in.network.first_weight.detach().contiguous()),
        first_bias_(in.network.first_bias.detach().contiguous()),
        second_weight_(in.network.second_weight.detach().contiguous()),
        second_bias_(in.network.second_bias.detach().contiguous()),
        slope_(static_cast<T>(in.network.slope)),
        causal_(in.causal && first_weight_.size(0) == 1) {}

  std::int64_t texts() const { return scores_.size(0); }
  std::int64_t heads() const { return scores_.size(1); }
  std::int64_t queries() const { return scores_.size(2); }
  std::int64_t keys() const { return scores_.size(3); }
  std::vector<at::Tensor> parameters() const {
    return {first_weight_, first_bias_, second_weight_, second_bias_};
  }

  // The first number of the query in [B, H, Lq, Lk].
  T* in_text(const at::Tensor& pairs, std::int64_t text, std::int64_t query) const {
    return pairs.data_ptr<T>() + (text * heads() * queries() + query) * keys();
  }

  kernels::ScoreNetworkRow<T> row(std::int64_t text, std::int64_t query) const {
    return {.scores = in_text(scores_, text, query),
            .bias = bias_.defined() ? in_text(bias_, 0, query) : nullptr,
            .past = past_.defined() ? past_.const_data_ptr<bool>() + query * keys() : nullptr,
            .head_step = queries() * keys(),
            .heads = heads(),
            .keys = seen(query),
            .taps = first_weight_.size(0),
            .hidden = first_weight_.size(2),
            .first_weight = first_weight_.const_data_ptr<T>(),
            .first_bias = first_bias_.const_data_ptr<T>(),
            .second_weight = second_weight_.const_data_ptr<T>(),
            .second_bias = second_bias_.const_data_ptr<T>(),
            .slope = slope_};
  }

  // Zeros for the query's keys that are not seen.
  void clear_hidden(const at::Tensor& pairs, std::int64_t text, std::int64_t query) const {
    for (std::int64_t head = 0; head < heads(); ++head) {
      T* const row = in_text(pairs, text, query) + head * queries() * keys();
      std::fill(row + seen(query), row + keys(), T(0));
    }
  }

 private:
  at::Tensor scores_, bias_, past_, first_weight_, first_bias_, second_weight_, second_bias_;
  T slope_;
  bool causal_;

  std::int64_t seen(std::int64_t query) const {
    return causal_ ? keys() - queries() + query + 1 : keys();
  }
};

template <typename T>
at::Tensor looped(const ScoreNetworkInputs& in) {
  const ScoreNetwork& net = in.network;
  GradientRecorder recorder(
      "attention/score_network",
      {in.scores, in.bias, net.first_weight, net.first_bias, net.second_weight, net.second_bias});
  const at::Tensor scores = in.scores.detach().contiguous();
  const NetworkRows<T> rows(in, scores);
  const at::Tensor result = at::empty_like(scores);
  for_rows(rows.texts() * rows.queries(), rows.heads() * rows.keys(),
           [&](std::int64_t begin, std::int64_t end) {
             thread_local Scratch<T> memory;
             for (std::int64_t i = begin; i < end; ++i) {
               const std::int64_t text = i / rows.queries(), query = i % rows.queries();
               kernels::ScoreNetworkRow<T> row = rows.row(text, query);
               row.output = rows.in_text(result, text, query);
               row.memory = memory(row.memory_needed());
               kernels::score_kernels<T>().score_network(row);
               rows.clear_hidden(result, text, query);
             }
           });
  return recorder.finish(result, [rows, has_bias = in.bias.defined()](const Gradients& gradients) {
    const at::Tensor slopes = gradients[0].contiguous(), to_scores = at::empty_like(slopes);
    const at::Tensor to_bias =
        has_bias ? at::zeros({1, rows.heads(), rows.queries(), rows.keys()}, slopes.options())
                 : at::Tensor();
    std::int64_t weights = 0;
    for (const at::Tensor& x : rows.parameters()) weights += x.numel();
    at::Tensor sums = for_rows_with_sums<T>(
        rows.queries(), weights * kernels::kLaneSums<T>, 1,
        [&](std::int64_t begin, std::int64_t end, T* to_weights) {
          thread_local Scratch<T> memory;
          for (std::int64_t query = begin; query < end; ++query) {
            for (std::int64_t text = 0; text < rows.texts(); ++text) {
              kernels::ScoreNetworkRow<T> row = rows.row(text, query);
              row.output_gradient = rows.in_text(slopes, text, query);
              row.to_scores = rows.in_text(to_scores, text, query);
              row.to_bias = has_bias ? rows.in_text(to_bias, 0, query) : nullptr;
              row.to_weights = to_weights;
              row.memory = memory(row.memory_needed());
              kernels::score_kernels<T>().score_network_slopes(row);
              rows.clear_hidden(to_scores, text, query);
            }
          }
        });
    sums = sums.view({weights, -1}).sum(1);
    Gradients result{to_scores, has_bias ? to_bias.squeeze(0) : to_bias};
    std::int64_t first = 0;
    for (const at::Tensor& x : rows.parameters()) {
      result.push_back(sums.narrow(0, first, x.numel()).view_as(x));
      first += x.numel();
    }
    return result;
  });
}

}  // namespace

at::Tensor with_score_network(const ScoreNetworkInputs& in) {
  if (!runs_loops(in.scores)) return composed(in);
  if (in.scores.scalar_type() == at::kDouble) return looped<double>(in);
  ROFORMER_ASSERT(in.scores.scalar_type() == at::kFloat);
  return looped<float>(in);
}

}  // namespace roformer
