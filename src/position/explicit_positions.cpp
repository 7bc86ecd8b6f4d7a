// Positions drawn for each batch, for rotations, ALiBi, sinusoids or a learned table. Randomized
// positions (Ruoss 2023, arXiv:2305.16843) make late positions familiar; SHAPE (Kiyono 2021) draws
// an offset for each sequence; CAPE (Likhomanenko 2021, arXiv:2106.03143) shifts and scales.
// Section 24.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "position/replaced_scores.h"
#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "position/sinusoidal.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"
#include "tensor/rotation.h"

namespace roformer {
namespace {

constexpr double kPastShift = 0.5;  // noisy_alibi subtracts this from distances to the left

class ExplicitPositions : public PositionScheme {
 public:
  ExplicitPositions(const ExplicitPositionsSettings& settings, at::Tensor slopes)
      : settings_(settings), slopes_(std::move(slopes)) {}

  explicit ExplicitPositions(const SchemeInputs& in)
      : ExplicitPositions(in.settings.of<ExplicitPositionsSettings>(),
                          at::tensor(alibi_slopes(in.shape.heads), at::kDouble)) {
    width_ = in.shape.width_of_embedding();
    type_ = in.shape.type;
    causal_ = in.shape.causal;
    training_length_ = std::max<std::int64_t>(1, in.shape.training_length);
    if (settings_.form != ExplicitForm::learned) return;
    const bool offsets = settings_.draw == PositionDraw::shape;
    table_ = in.parameters.add(
        {.name = "position.table",
         .shape = {settings_.positions + (offsets ? training_length_ : 0), width_},
         .initial = truncated_normal(settings_.initialization)});
  }

  SchemeCapabilities capabilities() const override {
    return {.transform = settings_.form == ExplicitForm::rope,
            .bias_of_positions = has_biases(),
            .draws_positions = true};
  }
  at::Tensor draw_positions(const DrawInputs& in) const override {
    switch (settings_.draw) {
      case PositionDraw::randomized:
        return randomized(in);
      case PositionDraw::shape:
        return shifted(in);
      default:
        return augmented(in);
    }
  }

  at::Tensor embedding(const Positions& positions) const override {
    const at::Tensor table = embedding_at(positions.tensor().to(at::kDouble).unsqueeze(0));
    return table.defined() ? table.squeeze(0) : table;
  }
  at::Tensor embedding_at(const at::Tensor& drawn) const override {
    if (settings_.form == ExplicitForm::sinusoidal) {
      return sinusoids_at(drawn, width_, settings_.base, settings_.sinusoids).to(type_);
    }
    if (settings_.form != ExplicitForm::learned) return {};
    if (drawn.max().item<double>() >= static_cast<double>(table_.size(0))) {
      throw_usage("position.explicit_positions.positions",
                  fmt::format("the table has {} positions, the text reaches position {}",
                              table_.size(0), drawn.max().item<double>()),
                  "more positions, or a shorter data.length");
    }
    return at::index_select(table_, 0, on_device(drawn.flatten().to(at::kLong), table_.device()))
        .view({drawn.size(0), drawn.size(1), width_});
  }

  at::Tensor transformed(const AttentionContext& context, const at::Tensor& x,
                         TokenSide side) const override {
    const at::Tensor drawn =
        side == TokenSide::query ? query_positions(context) : key_positions(context);
    return rotated_by_tables(x, tables(context, drawn, x.size(-1)));
  }

  at::Tensor bias(const AttentionContext& context) const override {
    if (!has_biases()) return {};
    const at::Tensor distance =
        settings_.form == ExplicitForm::alibi ? past_distances(context) : drawn_distances(context);
    const auto options = at::TensorOptions().dtype(context.type).device(context.device);
    return on_device(distance, options).unsqueeze(1) *
           -on_device(slopes_, options).view({1, -1, 1, 1});
  }

 private:
  struct Tables {
    at::Tensor drawn_positions;  // [B or 1, L]
    std::int64_t width = 0;
    PairTables tables;
  };

  bool has_biases() const {
    return settings_.form == ExplicitForm::alibi || settings_.form == ExplicitForm::noisy_alibi;
  }

  ExplicitPositionsSettings settings_;
  at::Tensor slopes_;  // [H]
  at::Tensor table_;   // [positions, M], for the form learned
  std::int64_t width_ = 0, training_length_ = 1;
  at::ScalarType type_ = at::kFloat;
  bool causal_ = false;
  mutable std::list<Tables> recent_;  // shared by all layers

  // max(p_i - p_j, 0), [B or 1, Lq, Lk].
  static at::Tensor past_distances(const AttentionContext& context) {
    return (query_positions(context).unsqueeze(2) - key_positions(context).unsqueeze(1))
        .clamp_min(0);
  }

  // The drawn distance of each pair, [1, Lq, Lk]: tokens that are n apart have the distance r_n,
  // with r_0 = 0.
  static at::Tensor drawn_distances(const AttentionContext& context) {
    const at::Tensor past = past_of_pairs(context);
    const at::Tensor drawn =
        at::index_select(key_positions(context)[0], 0, past.abs().flatten()).view(past.sizes());
    return (drawn - (past > 0).to(at::kDouble) * kPastShift).unsqueeze(0);
  }

  PairTables tables(const AttentionContext& context, const at::Tensor& drawn,
                    std::int64_t width) const {
    const auto known = [&](const Tables& all) {
      return all.width == width && all.tables.cosine.scalar_type() == context.type &&
             all.tables.cosine.device() == context.device && at::equal(all.drawn_positions, drawn);
    };
    const auto found = std::ranges::find_if(recent_, known);
    if (found != recent_.end()) return found->tables;
    constexpr std::size_t kKept = 8;
    if (recent_.size() >= kKept) recent_.pop_back();
    const at::Tensor angles =
        (drawn.unsqueeze(-1) * at::tensor(rotary_frequencies(width, settings_.base), at::kDouble))
            .unsqueeze(1);  // [B or 1, 1, L, pairs]
    const auto options = at::TensorOptions().dtype(context.type).device(context.device);
    recent_.push_front({.drawn_positions = drawn,
                        .width = width,
                        .tables = {.cosine = on_device(angles.cos(), options),
                                   .sine = on_device(angles.sin(), options),
                                   .layout = settings_.layout}});
    return recent_.front().tables;
  }

  // noisy_alibi draws distances. The first is 0, a token's distance to itself.
  at::Tensor sample(std::int64_t count, std::uint64_t key) const {
    const bool distances = settings_.form == ExplicitForm::noisy_alibi;
    if (count > settings_.positions) {
      throw_usage("position.explicit_positions.positions",
                  fmt::format("got {}, but a text has {} tokens", settings_.positions, count),
                  "as many as the longest text, better several times as many");
    }
    if (!distances)
      return at::tensor(sorted_sample(count, 0, settings_.positions, key), at::kDouble);
    std::vector<double> values = sorted_sample(count - 1, 1, settings_.positions - 1, key);
    values.insert(values.begin(), 0);
    return at::tensor(values, at::kDouble);
  }

  // In training, all sequences share one draw. Otherwise the draw is fixed, with as many positions
  // as the training length or the expected text has, so that reading more tokens does not move
  // earlier ones. A longer text gets its own draw for its length, independent of its batch; with
  // cached tokens, it continues after them token by token.
  at::Tensor randomized(const DrawInputs& in) const {
    const std::int64_t count = *std::ranges::max_element(in.lengths);
    const std::int64_t before = in.earlier.defined() ? in.earlier.size(1) : 0;
    if (in.training) {
      return sample(std::max(count, in.longest), in.key).narrow(0, 0, count).unsqueeze(0);
    }
    const std::int64_t whole =
        std::max(training_length_, std::min(in.expected, settings_.positions));
    if (before + count <= whole) return sample(whole, 0).narrow(0, before, count).unsqueeze(0);
    if (before == 0) {
      std::vector<at::Tensor> own;
      for (const std::int64_t length : in.lengths) {
        const at::Tensor drawn = sample(std::max(length, training_length_), 0);
        // The positions after the end of a shorter text are unused.
        const at::Tensor index = at::clamp_max(at::arange(count, at::kLong), length - 1);
        own.push_back(at::index_select(drawn, 0, index));
      }
      return at::stack(own);
    }
    const double last = in.earlier.max().item<double>();
    const bool table = settings_.form == ExplicitForm::learned;
    if (table && last + static_cast<double>(count) >= static_cast<double>(settings_.positions)) {
      throw_usage("position.explicit_positions.positions",
                  fmt::format("the text has come to the last of {} positions", settings_.positions),
                  "a shorter text, or a model with more positions");
    }
    return (at::arange(1, count + 1, at::kDouble) + last).unsqueeze(0);
  }

  // SHAPE: in training, p_i = i + an offset of the sequence.
  at::Tensor shifted(const DrawInputs& in) const {
    const at::Tensor counted = counted_positions(in);
    if (!in.training) return counted;
    std::vector<double> offsets;
    for (std::size_t s = 0; s < in.lengths.size(); ++s) {
      offsets.push_back(
          static_cast<double>(Random(random_key({in.key, static_cast<std::uint64_t>(in.first) + s}))
                                  .below(static_cast<std::uint64_t>(settings_.positions))));
    }
    return counted + at::tensor(offsets, at::kDouble).unsqueeze(1);
  }

  // CAPE: p_i = (i - middle + g + e_i) e^s. Each sequence draws g and s, each token draws e_i;
  // outside training all are 0. The middle is the sequence's. A causal model does not know a text's
  // final length, so it uses the middle of the training length.
  at::Tensor augmented(const DrawInputs& in) const {
    const at::Tensor counted = counted_positions(in);
    if (causal_ && !in.training) return counted - middle_of(training_length_);
    const auto sequences = static_cast<std::int64_t>(in.lengths.size());
    const at::Tensor drawn = at::empty({sequences, counted.size(1)}, at::kDouble);
    double* value = drawn.mutable_data_ptr<double>();
    const auto around_zero = [](Random& random, double bound) {
      return bound * (2 * random.uniform() - 1);
    };
    for (std::size_t s = 0; s < in.lengths.size(); ++s) {
      Random random(random_key({in.key, static_cast<std::uint64_t>(in.first) + s}));
      const double middle = middle_of(causal_ ? training_length_ : in.lengths[s]);
      const double shift = around_zero(random, settings_.global_shift);
      const double scale = std::exp(around_zero(random, std::log(settings_.largest_scale)));
      for (std::int64_t i = 0; i < counted.size(1); ++i) {
        const double own = around_zero(random, settings_.local_shift);
        const double centred = static_cast<double>(i) - middle;
        *value++ = in.training ? (centred + shift + own) * scale : centred;
      }
    }
    return drawn;
  }

  static double middle_of(std::int64_t length) { return static_cast<double>(length - 1) / 2; }

  // The positions 0, 1, 2, .. or those that follow the cached tokens, [1, L].
  static at::Tensor counted_positions(const DrawInputs& in) {
    const std::int64_t count = *std::ranges::max_element(in.lengths);
    const std::int64_t before = in.earlier.defined() ? in.earlier.size(1) : 0;
    return at::arange(before, before + count, at::kDouble).unsqueeze(0);
  }
};

}  // namespace

std::vector<double> sorted_sample(std::int64_t count, std::int64_t first, std::int64_t size,
                                  std::uint64_t key) {
  ROFORMER_ASSERT(count >= 0 && count <= size);
  Random random(random_key({key, random_word("sorted sample")}));
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t wanted = count - static_cast<std::int64_t>(values.size());
    if (random.below(static_cast<std::uint64_t>(size - i)) < static_cast<std::uint64_t>(wanted)) {
      values.push_back(static_cast<double>(first + i));
    }
  }
  return values;
}

std::unique_ptr<PositionScheme> make_explicit_positions_of_slopes(
    const ExplicitPositionsSettings& settings, const at::Tensor& slopes) {
  return std::make_unique<ExplicitPositions>(settings, slopes);
}

std::unique_ptr<PositionScheme> make_explicit_positions(const SchemeInputs& inputs) {
  return std::make_unique<ExplicitPositions>(inputs);
}

}  // namespace roformer
