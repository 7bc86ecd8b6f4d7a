#include "analysis/attention_record.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>

#include "attention/explicit_scores.h"
#include "base/error.h"
#include "base/random.h"
#include "tensor/aten.h"
#include "tensor/rotation.h"

namespace roformer {
namespace {

// Sorts by the angle by which one more position rotates each pair. Undefined factors of tables do
// not matter.
std::vector<double> wavelengths_of(const Rotation& rotation, const Positions& positions) {
  std::vector<double> result;
  const at::Tensor cosine = rotation.cosine.to(at::kDouble).cpu().contiguous();
  const at::Tensor sine = rotation.sine.to(at::kDouble).cpu().contiguous();
  const std::int64_t pairs = cosine.size(1);
  for (std::int64_t p = 0; p < pairs; ++p) {
    const auto angle = [&](std::int64_t row) {
      return std::atan2(sine.const_data_ptr<double>()[row * pairs + p],
                        cosine.const_data_ptr<double>()[row * pairs + p]);
    };
    const double steps =
        positions.count() > 1 ? static_cast<double>(positions[1] - positions[0]) : 1;
    const double per_token =
        positions.count() > 1
            ? std::abs(std::remainder(angle(1) - angle(0), 2 * std::numbers::pi)) / steps
            : 0;
    // In float32 the angle of a pair that is not rotated counts as 0.
    result.push_back(per_token > 1e-9 ? 2 * std::numbers::pi / per_token
                                      : std::numeric_limits<double>::infinity());
  }
  return result;
}

// The two features of a pair, [B, H, L, 2].
at::Tensor pair_of(const at::Tensor& x, const Rotation& rotation, std::int64_t pair) {
  const bool interleaved = rotation.layout == RotaryLayout::interleaved;
  const std::int64_t first = interleaved ? 2 * pair : pair;
  const std::int64_t second = interleaved ? first + 1 : pair + rotation.width() / 2;
  return at::stack({x.select(-1, first), x.select(-1, second)}, -1);
}

at::Tensor plus(const at::Tensor& sum, const at::Tensor& more) {
  return sum.defined() ? sum + more : more;
}

const at::TensorOptions kDoubles = at::TensorOptions().dtype(at::kDouble);

void add_to(at::Tensor& sum, const at::Tensor& more) {
  if (sum.defined()) {
    sum.add_(more);
  } else {
    sum = more.clone();
  }
}

}  // namespace

void FrequencyRecorder::add(const AttendInputs& in, std::int64_t sequences) {
  if (in.scheme.capabilities().transform || in.scheme.capabilities().scores != ContentScores::none)
    return;
  const auto rotation = in.scheme.rotation(in.context, in.query.size(-1));
  const std::int64_t count = std::min(sequences, in.query.size(0));
  // A text of one token has no distances.
  if (!rotation || count < 1 || in.query.size(2) < 2) return;
  at::Tensor raw = in.query.narrow(0, 0, count);
  if (in.attention.log_n != LogNScaling::none) {
    raw = raw * log_n_factors(in.attention, in.context, raw.scalar_type());
  }
  const at::Tensor query = rotated(raw, rotation->query).to(at::kDouble);
  const at::Tensor key = rotated(in.key.narrow(0, 0, count), rotation->key).to(at::kDouble);
  const std::int64_t pairs = rotation->query.width() / 2, length = query.size(2);
  const at::Tensor visible =
      in.context.mask.defined()
          ? in.context.mask.expand({1, 1, length, length})[0][0]
          : at::ones({length, length}, at::TensorOptions().dtype(at::kBool).device(query.device()));
  const at::Tensor keys = visible.sum(-1, true).clamp_min(1).to(at::kDouble);
  const double scale = in.scheme.score_scale(query.size(-1));
  const auto scores = [&](const at::Tensor& q, const at::Tensor& k) {
    const at::Tensor s = at::where(visible, at::matmul(q, k.transpose(-2, -1)) * scale, 0.0);
    return at::where(visible, s - s.sum(-1, true) / keys, 0.0);  // less the mean of each row
  };
  const at::Tensor all = scores(query, key);
  const auto covariance = [&](const at::Tensor& part) {
    return (part * all).sum(at::IntArrayRef({2, 3}));  // [B, H]
  };
  std::vector<at::Tensor> covariances, query_squares, key_squares;
  at::Tensor rest = covariance(all);
  for (std::int64_t p = 0; p < pairs; ++p) {
    const at::Tensor q = pair_of(query, rotation->query, p), k = pair_of(key, rotation->key, p);
    covariances.push_back(covariance(scores(q, k)));
    rest = rest - covariances.back();
    query_squares.push_back(q.square().sum(at::IntArrayRef({0, 2, 3})));
    key_squares.push_back(k.square().sum(at::IntArrayRef({0, 2, 3})));
  }
  covariances.push_back(rest);
  const at::Tensor of_texts = at::stack(covariances, 2);
  shares_.add(of_texts, of_texts.sum(2, true));
  query_squares_ = plus(query_squares_, at::stack(query_squares, 1));
  key_squares_ = plus(key_squares_, at::stack(key_squares, 1));
  tokens_ += static_cast<double>(count * length);
  if (wavelengths_.empty()) wavelengths_ = wavelengths_of(rotation->key, in.context.keys);
}

std::optional<FrequencyUse> FrequencyRecorder::result() const {
  if (tokens_ == 0) return std::nullopt;
  return FrequencyUse{.wavelengths = wavelengths_,
                      .query_norm = (query_squares_ / tokens_).sqrt(),
                      .key_norm = (key_squares_ / tokens_).sqrt(),
                      .variance_share = shares_.ratio(),
                      .share_error = shares_.standard_error()};
}

struct AttentionRecorder::Layer {
  explicit Layer(std::int64_t length)
      : query(length), key(length), counts(at::zeros({length, 1}, kDoubles)) {}

  const PositionScheme* scheme = nullptr;
  const AttentionSettings* attention = nullptr;
  std::optional<AttentionContext> context;
  std::int64_t tokens = 0;  // so far
  PositionMoments query, key;
  at::Tensor counts;  // [L, 1]: the texts that reach a position
  struct Drawn {
    std::vector<at::Tensor> vectors, token_inputs;
    std::vector<std::int64_t> positions;
    std::size_t next = 0;
  } queries, keys;
  at::Tensor by_distance, uniform;
  RatioSums ranges;
  std::array<RatioSums, kMassFigures.size()> figures;
  FrequencyRecorder frequencies;
  std::int64_t frequency_sequences = 0;

  void draw(Drawn& drawn, const std::vector<std::int64_t>& tokens_wanted, const at::Tensor& x,
            const at::Tensor& token_inputs) const {
    const std::int64_t length = x.size(2), end = tokens + x.size(0) * length;
    for (; drawn.next < tokens_wanted.size() && tokens_wanted[drawn.next] < end; ++drawn.next) {
      const std::int64_t index = tokens_wanted[drawn.next] - tokens;
      const auto of = [&](const at::Tensor& all) {
        return all.select(0, index / length).select(1, index % length).clone();
      };
      drawn.vectors.push_back(of(x));
      if (token_inputs.defined()) drawn.token_inputs.push_back(of(token_inputs));
      drawn.positions.push_back(index % length);
    }
  }

  void add_masses(const at::Tensor& probabilities, const at::Tensor& mask, std::int64_t longest) {
    const at::Tensor p = probabilities.to(at::kDouble).cpu();
    const std::int64_t length = p.size(2);
    const at::Tensor positions = at::arange(length);
    const at::Tensor rows =
        (positions.unsqueeze(1) - positions.unsqueeze(0) + (longest - 1)).flatten();
    const auto by_distance_of = [&](const at::Tensor& x) {  // [N, length, length]
      return at::zeros({x.size(0), 2 * longest - 1}, kDoubles).index_add_(1, rows, x.flatten(1));
    };
    const auto sequences = static_cast<double>(p.size(0));
    const at::Tensor visible = mask.defined()
                                   ? mask.expand({1, 1, length, length})[0][0].cpu().to(at::kDouble)
                                   : at::ones({length, length}, kDoubles);
    const at::Tensor even = visible / visible.sum(-1, true).clamp_min(1);
    // For each text, [B, H, 2L - 1].
    const at::Tensor of_texts =
        by_distance_of(p.flatten(0, 1)).view({p.size(0), p.size(1), 2 * longest - 1});
    add_to(by_distance, of_texts.sum(0));
    add_to(uniform, by_distance_of((even * sequences).unsqueeze(0))[0]);
    std::vector<at::Tensor> in_ranges;
    for (const auto& [near, far] : distance_ranges(longest)) {
      const std::int64_t begin = std::min(near, far) + longest - 1;
      in_ranges.push_back(of_texts.narrow(2, begin, std::abs(far - near) + 1).sum(2));
    }
    ranges.add(at::stack(in_ranges, 2), of_texts.sum(2, true));
    auto& [entropy, own, previous, next, first] = figures;
    entropy.add(-(p * p.clamp_min(1e-300).log()).sum(at::IntArrayRef({2, 3})),
                at::full({1}, static_cast<double>(length), kDoubles));
    const at::Tensor pairs = by_distance_of(visible.unsqueeze(0))[0];
    for (const auto& [sums, distance] :
         {std::pair(&own, 0), std::pair(&previous, 1), std::pair(&next, -1)}) {
      const std::int64_t i = distance + longest - 1;
      if (i >= 0 && i < pairs.size(0)) sums->add(of_texts.select(2, i), pairs.narrow(0, i, 1));
    }
    if (length > 1) {
      first.add(p.select(3, 0).narrow(2, 1, length - 1).sum(2),
                visible.select(1, 0).narrow(0, 1, length - 1).sum().unsqueeze(0));
    }
  }

  AttentionMasses masses(std::int64_t longest) const {
    const auto nothing = at::zeros({by_distance.size(0)}, kDoubles);
    // Weights that do not sum to 1 (stick-breaking's) are normalised.
    const at::Tensor total = by_distance.sum(1, true).clamp_min(1e-300);
    AttentionMasses result{.length = longest,
                           .by_distance = by_distance / total,
                           .uniform = uniform / uniform.sum(),
                           .range_error = ranges.standard_error()};
    for (std::size_t i = 0; i < figures.size(); ++i) {
      const bool empty = figures[i].empty();
      result.*kMassFigures[i].mean = empty ? nothing : figures[i].ratio();
      result.*kMassFigures[i].error = empty ? nothing / 0.0 : figures[i].standard_error();
    }
    return result;
  }
};

AttentionRecorder::AttentionRecorder(const RecordOptions& options) : options_(options) {
  Random random(random_key({options.seed, random_word("explain")}));
  for (auto* tokens : {&query_tokens_, &key_tokens_}) {
    for (std::int64_t i = 0; i < options.contents; ++i) {
      tokens->push_back(
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(options.tokens))));
    }
    std::ranges::sort(*tokens);
  }
  // Without shuffling, neighbouring contents would come from the same texts.
  for (std::size_t i = 0; i < query_tokens_.size(); ++i) {
    order_.push_back(i);
    std::swap(order_.back(), order_[random.below(i + 1)]);
  }
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers_.push_back(std::make_unique<Layer>(options.length));
  }
}

AttentionRecorder::~AttentionRecorder() = default;

at::Tensor AttentionRecorder::attend(const AttendInputs& in, const at::Tensor& token_inputs) {
  Layer& layer = *layers_.at(static_cast<std::size_t>(in.context.layer));
  const std::int64_t length = in.query.size(2), sequences = in.query.size(0);
  ROFORMER_ASSERT(length <= options_.length);
  if (!layer.context || layer.context->keys.count() < length) {
    layer.scheme = &in.scheme;
    layer.attention = &in.attention;
    layer.context = in.context;
    layer.context->token_inputs = at::Tensor();
    if (in.context.drawn_positions.defined()) {
      layer.context->drawn_positions = in.context.drawn_positions.narrow(0, 0, 1);
    }
  }
  layer.query.add(in.query);
  layer.key.add(in.key);
  layer.counts.narrow(0, 0, length).add_(sequences);
  layer.draw(layer.queries, query_tokens_, in.query, {});
  layer.draw(layer.keys, key_tokens_, in.key, token_inputs);
  layer.tokens += sequences * length;
  const std::int64_t more = options_.frequency_sequences - layer.frequency_sequences;
  if (more > 0) {
    layer.frequencies.add(in, more);
    layer.frequency_sequences += sequences;
  }
  Attended attended = roformer::attend(in, /*with_scores=*/true);
  layer.add_masses(attended.weights.weights.defined()
                       ? attended.weights.weights
                       : masked_softmax({.scores = attended.scores, .mask = in.context.mask}),
                   in.context.mask, options_.length);
  return attended.output;
}

LayerRecord AttentionRecorder::layer(std::int64_t number) const {
  const Layer& layer = *layers_.at(static_cast<std::size_t>(number));
  ROFORMER_ASSERT(layer.context.has_value());
  at::Tensor counts = layer.counts.clone();
  for (const std::int64_t position : options_.same_tokens) counts[position].zero_();
  LayerRecord result{
      .scheme = layer.scheme,
      .attention = layer.attention,
      .context = layer.context,
      .positions = {.query = layer.query.means(counts), .key = layer.key.means(counts)},
      .masses = layer.masses(options_.length),
      .frequencies = layer.frequencies.result()};
  const auto device = layer.context->device;
  result.positions.query = result.positions.query.to(device);
  result.positions.key = result.positions.key.to(device);
  const auto contents = [&](const Layer::Drawn& drawn, const at::Tensor& positions) {
    std::vector<at::Tensor> rows;
    for (const std::size_t i : order_) {
      rows.push_back(drawn.vectors[i] - positions.select(1, drawn.positions[i]));
    }
    return at::stack(rows);
  };
  result.query = contents(layer.queries, result.positions.query);
  result.key = contents(layer.keys, result.positions.key);
  if (!layer.keys.token_inputs.empty()) {
    std::vector<at::Tensor> rows;
    for (const std::size_t i : order_) rows.push_back(layer.keys.token_inputs[i]);
    result.key_token_inputs = at::stack(rows);
  }
  const std::int64_t longest = layer.context->keys.count();
  result.positions.query = result.positions.query.narrow(1, 0, longest);
  result.positions.key = result.positions.key.narrow(1, 0, longest);
  return result;
}

std::vector<std::pair<std::int64_t, std::int64_t>> distance_ranges(std::int64_t length) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  const auto side = [&](std::int64_t sign) {
    for (std::int64_t first = 1, width = 1; first < length; first += width) {
      width = first > 2 ? first - 1 : 1;
      ranges.emplace_back(sign * first, sign * std::min(first + width - 1, length - 1));
    }
  };
  side(-1);
  std::ranges::reverse(ranges);
  ranges.emplace_back(0, 0);
  side(1);
  return ranges;
}

std::vector<DistanceBin> distance_bins(const AttentionMasses& masses) {
  const std::int64_t heads = masses.by_distance.size(0), centre = masses.length - 1;
  const at::Tensor by_distance = masses.by_distance.contiguous();
  const double* const mass = by_distance.const_data_ptr<double>();
  const double* const uniform = masses.uniform.const_data_ptr<double>();
  std::vector<DistanceBin> bins;
  std::int64_t range = 0;
  for (const auto& [first, last] : distance_ranges(masses.length)) {
    const at::Tensor errors = masses.range_error.select(1, range++);
    DistanceBin bin{
        .first = first, .last = last, .mass = std::vector<double>(static_cast<std::size_t>(heads))};
    for (std::int64_t h = 0; h < heads; ++h) {
      bin.standard_error.push_back(errors[h].item<double>());
    }
    for (std::int64_t d = std::min(first, last); d <= std::max(first, last); ++d) {
      bin.uniform += uniform[d + centre];
      for (std::int64_t h = 0; h < heads; ++h) {
        bin.mass[static_cast<std::size_t>(h)] += mass[h * (2 * centre + 1) + d + centre];
      }
    }
    if (bin.uniform > 0) bins.push_back(std::move(bin));
  }
  return bins;
}

}  // namespace roformer
