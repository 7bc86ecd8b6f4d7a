#include "cli/position_plots.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>
#include <utility>

#include "attention/attend.h"
#include "attention/position_session.h"
#include "base/file.h"
#include "base/random.h"
#include "config/position_facts.h"
#include "config/schemes/rope.h"
#include "position/decay_bound.h"
#include "position/rope_scaling.h"
#include "position/rotary_table.h"
#include "report/chart.h"
#include "report/html.h"

namespace roformer {
namespace {

constexpr std::int64_t kDistances = 256;  // drawn in figure 2 of the paper
constexpr std::int64_t kBiasLength = 48;
constexpr std::int64_t kScoreLength = 128;
constexpr std::int64_t kSamples = 32;  // random queries and keys

struct ScaledRope {
  std::string name;
  std::vector<double> frequencies;
};

// True where all values lie on one side of zero, clear of it: colours around zero would hide how
// they differ.
bool keeps_off_zero(const std::vector<std::vector<double>>& rows) {
  double least = INFINITY, greatest = -INFINITY;
  for (const std::vector<double>& row : rows) {
    for (const double value : row) {
      if (std::isnan(value)) continue;
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
  }
  return least > 0 || greatest < 0;
}

class Plots {
 public:
  explicit Plots(const PositionPlotInputs& in)
      : in_(in),
        report_({.title = "Positional schemes",
                 .subtitle = fmt::format("{}", fmt::join(in.names, ", "))}) {}

  void rope() {
    report_.section("Rotary positions");
    report_.paragraph(
        "How fast scores can decay with the distance: the mean of |S_j| over j of the RoFormer "
        "paper, section 3.4.3 and figure 2, for heads of " +
        std::to_string(head_width()) + " features.");
    const std::vector<ScaledRope> all = scalings();
    std::vector<double> distances;
    for (std::int64_t m = 0; m <= kDistances; ++m) distances.push_back(static_cast<double>(m));
    LineChart decay{.title = "Relative upper bound of the score",
                    .x = {.title = "distance", .unit = "tokens"},
                    .y = {.title = "bound"},
                    .markers = LineChart::Markers::never};
    LineChart wavelengths{
        .title = "Wavelength of each pair",
        .subtitle = "A pair whose wave is longer than the training never completes a turn in it",
        .x = {.title = "pair"},
        .y = {.title = "wavelength", .unit = "tokens", .scale = Axis::Scale::logarithmic},
        .markers = LineChart::Markers::never};
    const std::size_t middle = all.front().frequencies.size() / 2;
    LineChart cosine{.title = fmt::format("Cosine of pair {} against the position", middle),
                     .x = {.title = "position", .unit = "tokens"},
                     .y = {.title = "cosine"},
                     .markers = LineChart::Markers::never};
    for (const ScaledRope& scaled : all) {
      decay.series.push_back(
          {.name = scaled.name, .x = distances, .y = decay_bound(scaled.frequencies, distances)});
      Series waves{.name = scaled.name}, turns{.name = scaled.name};
      for (std::size_t i = 0; i < scaled.frequencies.size(); ++i) {
        if (scaled.frequencies[i] == 0) continue;  // a pair that never turns
        waves.x.push_back(static_cast<double>(i));
        waves.y.push_back(2 * std::numbers::pi / scaled.frequencies[i]);
      }
      for (std::int64_t m = 0; m <= 4 * original_length();
           m += std::max<std::int64_t>(1, original_length() / 128)) {
        turns.x.push_back(static_cast<double>(m));
        turns.y.push_back(std::cos(static_cast<double>(m) * scaled.frequencies[middle]));
      }
      wavelengths.series.push_back(std::move(waves));
      cosine.series.push_back(std::move(turns));
    }
    const auto horizontal = [&](double value, const char* label) {
      wavelengths.references.push_back(
          {.direction = ReferenceLine::Direction::horizontal, .value = value, .label = label});
    };
    const RopeSettings& rope = in_.settings.position.of<RopeSettings>();
    const auto trained = static_cast<double>(original_length());
    // llama3 keeps the waves below its lower line, stretches those above the upper one and blends
    // between them.
    const bool apart = rope.low_frequency_factor != 1;
    horizontal(trained, apart ? "training length" : "training length, llama3's upper edge");
    horizontal(trained / rope.high_frequency_factor, "llama3's lower edge");
    if (apart) horizontal(trained / rope.low_frequency_factor, "llama3's upper edge");
    cosine.references.push_back({.value = trained, .label = "training length"});
    add(decay);
    add(wavelengths);
    add(cosine);
  }

  void biases() {
    bool any = false;
    for (const std::string& name : in_.names) {
      ParameterStore parameters(in_.settings.seed);
      const auto scheme = make(name, parameters);
      if (!scheme->of_layer(0).has_bias()) continue;
      if (!std::exchange(any, true)) {
        report_.section("Biases");
        report_.paragraph(
            "What is added to the scores of each head before training, rows are "
            "queries, columns keys.");
      }
      const at::Tensor bias = scheme->of_layer(0)
                                  .bias(context(kBiasLength))
                                  .detach()
                                  .to(at::kDouble)
                                  .expand({1, heads(), kBiasLength, kBiasLength})
                                  .contiguous();
      HeatMapGrid grid{.title = name, .columns = 4};
      for (std::int64_t h = 0; h < std::min<std::int64_t>(heads(), 8); ++h) {
        HeatMap map{.title = fmt::format("head {}", h + 1),
                    .rows = {.title = "query"},
                    .columns = {.title = "key"},
                    .colours = HeatMap::Colours::diverging,
                    .size = 170};
        for (std::int64_t i = 0; i < kBiasLength; ++i) {
          const double* const row =
              bias.const_data_ptr<double>() + (h * kBiasLength + i) * kBiasLength;
          map.values.emplace_back(row, row + kBiasLength);
          for (std::int64_t j = i + 1; causal(name) && j < kBiasLength; ++j) {
            map.values.back()[static_cast<std::size_t>(j)] = std::nan("");
          }
        }
        if (keeps_off_zero(map.values)) map.colours = HeatMap::Colours::sequential;
        for (std::size_t i = 0; i < map.values.size(); ++i) {
          for (std::size_t j = 0; j < map.values[i].size(); ++j) {
            csv_ += fmt::format("bias {},head {} query {},{},{}\n", name, h + 1, i, j,
                                map.values[i][j]);
          }
        }
        grid.maps.push_back(std::move(map));
      }
      report_.chart(grid);
    }
  }

  // Query and key are the same random vector with a random part of its own, so that they resemble
  // each other; absolute schemes act on the embedding before them.
  void scores() {
    report_.section("Scores against the distance");
    report_.paragraph(
        "The mean score of random queries and keys that resemble each other, over all heads, "
        "before training, as a difference to distance 0. Schemes whose parameters start at "
        "nothing start flat.");
    LineChart chart{.title = "Expected score against distance",
                    .x = {.title = "distance of the key in the past", .unit = "tokens"},
                    .y = {.title = "score minus that at distance 0"},
                    .markers = LineChart::Markers::never};
    for (const std::string& name : in_.names) {
      Series series{.name = name};
      const std::vector<double> means = mean_scores(name);
      for (std::size_t d = 0; d < means.size(); ++d) {
        series.x.push_back(static_cast<double>(d));
        series.y.push_back(means[d] - means[0]);
      }
      chart.series.push_back(std::move(series));
    }
    add(chart);
  }

  void write() {
    write_file_atomically(in_.output, report_.html());
    std::cout << in_.output.string() << '\n';
    if (in_.csv.empty()) return;
    write_file_atomically(in_.csv, "figure,series,x,y\n" + csv_);
    std::cout << in_.csv.string() << '\n';
  }

 private:
  const PositionPlotInputs& in_;
  HtmlReport report_;
  std::string csv_;

  std::int64_t heads() const { return in_.settings.model.heads; }
  std::int64_t head_width() const { return in_.settings.model.features_of_head(); }
  std::int64_t original_length() const {
    const std::int64_t given = in_.settings.position.of<RopeSettings>().original_length;
    return given > 0 ? given : in_.settings.data.length;
  }
  bool causal(const std::string& name) const {
    return in_.causal || find_position_facts(name)->causal_only;
  }

  void add(const LineChart& chart) {
    for (const Series& series : chart.series) {
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        csv_ += fmt::format("{},{},{},{}\n", chart.title, series.name, series.x[i], series.y[i]);
      }
    }
    report_.chart(chart);
  }

  // The chosen scaling beside plain RoPE; where none is chosen, all of them at eight times the
  // length.
  std::vector<ScaledRope> scalings() const {
    const RopeSettings& chosen = in_.settings.position.of<RopeSettings>();
    std::vector<std::pair<std::string, RopeScaling>> wanted{{"rope", RopeScaling::none}};
    const std::vector<std::pair<std::string, RopeScaling>> all{
        {"linear", RopeScaling::linear},           {"ntk", RopeScaling::ntk},
        {"dynamic_ntk", RopeScaling::dynamic_ntk}, {"yarn", RopeScaling::yarn},
        {"yarn_paper", RopeScaling::yarn_paper},   {"llama3", RopeScaling::llama3},
        {"ntk_mixed", RopeScaling::ntk_mixed},     {"p_rope", RopeScaling::p_rope},
        {"longrope", RopeScaling::longrope}};
    for (const auto& entry : all) {
      // Only a model brings LongRoPE's lists.
      const bool drawn_unasked =
          chosen.scaling == RopeScaling::none && entry.second != RopeScaling::longrope;
      if (drawn_unasked || chosen.scaling == entry.second) wanted.push_back(entry);
    }
    std::vector<ScaledRope> result;
    for (const auto& [name, scaling] : wanted) {
      RopeSettings rope = chosen;
      rope.scaling = scaling;
      if (chosen.scaling == RopeScaling::none) {
        rope.factor = scaling == RopeScaling::p_rope ? 1 : 8;
        rope.proportion = 0.75;
      }
      const auto longest =
          static_cast<std::int64_t>(rope.factor * static_cast<double>(original_length()));
      result.push_back(
          {.name = name,
           .frequencies = scaled_frequencies(rope, rotary_width(rope.fraction, head_width()),
                                             original_length(), longest)
                              .frequencies});
    }
    return result;
  }

  AttentionContext context(std::int64_t length) const {
    return {.queries = Positions::range(0, length), .keys = Positions::range(0, length)};
  }

  std::unique_ptr<PositionScheme> make(const std::string& name, ParameterStore& parameters) const {
    PositionSettings position = in_.settings.position;
    position.scheme = name;
    return make_scheme({.settings = position,
                        .shape = {.layers = in_.settings.model.layers,
                                  .width = in_.settings.model.width,
                                  .heads = heads(),
                                  .head_width = head_width(),
                                  .causal = causal(name),
                                  .training_length = in_.settings.data.length},
                        .parameters = parameters});
  }

  std::vector<double> mean_scores(const std::string& name) const {
    const c10::AutoGradMode no_gradients(false);
    ParameterStore parameters(in_.settings.seed);
    const auto scheme = make(name, parameters);
    Random random(random_key({in_.settings.seed, random_word("positions plot")}));
    const std::int64_t h = heads(), d = head_width();
    at::Tensor query = at::empty({kSamples, h, 1, d}), key = at::empty({kSamples, h, 1, d});
    for (std::int64_t i = 0; i < query.numel(); ++i) {
      const double shared = random.normal();
      query.mutable_data_ptr<float>()[i] = static_cast<float>(shared + 0.5 * random.normal());
      key.mutable_data_ptr<float>()[i] = static_cast<float>(shared + 0.5 * random.normal());
    }
    AttentionContext where = context(kScoreLength);
    if (scheme->draws_places()) where.places = scheme->draw_places({.lengths = {&kScoreLength, 1}});
    const auto along = [&](const at::Tensor& x) {
      const at::Tensor all = x.expand({kSamples, h, kScoreLength, d}).clone();
      const at::Tensor table = where.places.defined()
                                   ? scheme->embedding_at(where.places)
                                   : scheme->embedding(Positions::range(0, kScoreLength));
      if (!table.defined()) return all;
      return all + table.view({kScoreLength, h, d}).transpose(0, 1);
    };
    where.causal = causal(name);
    if (where.causal) where.mask = causal_mask(where.queries, where.keys);
    const at::Tensor identity = at::eye(in_.settings.model.width);
    where.projections = {.query_weight = identity, .key_weight = identity};
    const at::Tensor q = along(query), k = along(key);
    if (scheme->has_features()) {
      const at::Tensor input =
          q.transpose(1, 2).reshape({kSamples * kScoreLength, in_.settings.model.width});
      const at::Tensor features =
          scheme->features(0, input).view({kSamples, kScoreLength, h, -1}).transpose(1, 2);
      where.features = scheme->remembered(features, {});
    }
    const at::Tensor scores = attend({.query = q,
                                      .key = k,
                                      .value = k,
                                      .scheme = scheme->of_layer(0),
                                      .attention = {},
                                      .context = where,
                                      .bias = scheme->of_layer(0).bias(where)},
                                     /*with_scores=*/true)
                                  .scores;
    // The last query sees every distance.
    const at::Tensor last = scores.select(2, kScoreLength - 1)
                                .mean(at::IntArrayRef({0, 1}))
                                .to(at::kDouble)
                                .flip(0)
                                .contiguous();
    return {last.const_data_ptr<double>(), last.const_data_ptr<double>() + kScoreLength};
  }
};

}  // namespace

void write_position_plots(const PositionPlotInputs& inputs) {
  Plots plots(inputs);
  if (std::find(inputs.names.begin(), inputs.names.end(), "rope") != inputs.names.end()) {
    plots.rope();
  }
  plots.biases();
  plots.scores();
  plots.write();
}

}  // namespace roformer
