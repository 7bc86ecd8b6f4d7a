#include "analysis/position_plots.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>
#include <utility>

#include "analysis/explain_report.h"
#include "attention/attend.h"
#include "attention/position_session.h"
#include "base/file.h"
#include "base/random.h"
#include "config/position_facts.h"
#include "position/rotary_table.h"
#include "report/chart.h"
#include "report/html.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

constexpr std::int64_t kDistances = 256;  // drawn in figure 2 of the paper
constexpr std::int64_t kDrawnBiasLength = 48;
constexpr std::int64_t kScoreLength = 128;
constexpr std::int64_t kSamples = 32;  // random queries and keys

// A scheme to draw, as it is initialised or as a run trained it.
struct DrawnScheme {
  std::string name;
  const PositionScheme* scheme = nullptr;
  bool causal = false;
  std::int64_t width = 0, heads = 0, head_width = 0;
  std::int64_t score_length = kScoreLength;  // fewer where a run's table is shorter
  const LanguageModel* trained = nullptr;
  std::unique_ptr<ParameterStore> parameters = nullptr;  // of a scheme made for the picture
  std::unique_ptr<PositionScheme> own = nullptr;
};

class Plots {
 public:
  explicit Plots(const PositionPlotInputs& in)
      : in_(in),
        report_({.title = "Positional schemes",
                 .subtitle = fmt::format("{}", fmt::join(titles(in), ", "))}) {
    for (const std::string& name : in.names) drawn_.push_back(make(name));
    for (const PlottedRun& run : in.runs) {
      const StackSettings& settings = run.model.encoder().settings();
      const std::int64_t most = maximal_length(settings.position);
      drawn_.push_back({.name = run.name,
                        .scheme = &run.model.encoder().scheme(),
                        .causal = settings.causal,
                        .width = settings.model.width,
                        .heads = settings.model.heads,
                        .head_width = settings.model.features_of_head(),
                        .score_length = most > 0 ? std::min(most, kScoreLength) : kScoreLength,
                        .trained = &run.model});
    }
  }

  void frequencies() {
    for (const DrawnScheme& drawn : drawn_) {
      if (drawn.trained != nullptr) continue;
      if (const auto picture = drawn.scheme->frequency_picture(drawn.head_width)) {
        add_frequencies(*picture, drawn.head_width);
      }
    }
  }

  void biases() {
    bool any = false;
    for (const DrawnScheme& drawn : drawn_) {
      if (drawn.trained != nullptr) {
        for (const TrainedPositions::Bias& bias : trained_positions(*drawn.trained).biases) {
          const std::int64_t length = std::min(kDrawnBiasLength, bias.pairs.size(1));
          add_bias(fmt::format("{} ({})", drawn.name, bias.title),
                   bias.pairs.narrow(1, 0, length).narrow(2, 0, length), any);
        }
        continue;
      }
      const at::Tensor bias =
          bias_of_pairs(*drawn.scheme, {.length = kDrawnBiasLength, .causal = drawn.causal});
      if (bias.defined()) add_bias(drawn.name, bias.expand({drawn.heads, -1, -1}), any);
    }
  }

  // All that the schemes of runs have learned.
  void parameters() {
    for (const DrawnScheme& drawn : drawn_) {
      if (drawn.trained == nullptr) continue;
      HeatMapGrid grid{.title = drawn.name};
      for (const auto& [name, values] : trained_positions(*drawn.trained).parameters) {
        if (auto map = parameter_map(name, values)) grid.maps.push_back(std::move(*map));
      }
      if (grid.maps.empty()) continue;
      report_.section("Parameters of " + drawn.name);
      report_.chart(grid);
    }
  }

  // Query and key are the sum of a shared random vector and one vector each, so that they resemble
  // each other. Absolute schemes act on the embedding before them.
  void scores() {
    report_.section("Scores against the distance");
    report_.paragraph(
        "The mean score of random queries and keys that resemble each other, over all heads, "
        "minus the score at distance 0. Schemes are shown before training (flat if their "
        "parameters start at zero), runs as trained (first layer).");
    LineChart chart{.title = "Expected score against distance",
                    .x = {.title = "distance of the key in the past", .unit = "tokens"},
                    .y = {.title = "score minus that at distance 0"},
                    .markers = LineChart::Markers::never};
    for (const DrawnScheme& drawn : drawn_) {
      if (drawn.heads * drawn.head_width != drawn.width) continue;  // no vectors for both
      Series series{.name = drawn.name};
      const std::vector<double> means = mean_scores(drawn);
      for (std::size_t d = 0; d < means.size(); ++d) {
        series.x.push_back(static_cast<double>(d));
        series.y.push_back(means[d] - means[0]);
      }
      chart.series.push_back(std::move(series));
    }
    add(chart);
  }

  void write() {
    write_file_atomically(InnerPath::named(in_.output), report_.html());
    std::cout << in_.output.string() << '\n';
    if (in_.csv.empty()) return;
    write_file_atomically(InnerPath::named(in_.csv), "figure,series,x,y\n" + csv_);
    std::cout << in_.csv.string() << '\n';
  }

 private:
  const PositionPlotInputs& in_;
  HtmlReport report_;
  std::string csv_;
  std::vector<DrawnScheme> drawn_;

  static std::vector<std::string> titles(const PositionPlotInputs& in) {
    std::vector<std::string> all = in.names;
    for (const PlottedRun& run : in.runs) all.push_back(run.name);
    return all;
  }

  bool causal(const std::string& name) const {
    return in_.causal || find_position_facts(name)->causal_only;
  }

  void add_frequencies(const FrequencyPicture& picture, std::int64_t head_width) {
    report_.section("Rotary positions");
    report_.paragraph(
        "How fast scores can decay with the distance: the mean of |S_j| over j of the RoFormer "
        "paper, section 3.4.3 and figure 2, for heads of " +
        std::to_string(head_width) + " features.");
    std::vector<double> distances;
    for (std::int64_t m = 0; m <= kDistances; ++m) distances.push_back(static_cast<double>(m));
    LineChart decay{.title = "Relative upper bound of the score",
                    .x = {.title = "distance", .unit = "tokens"},
                    .y = {.title = "bound"},
                    .markers = LineChart::Markers::never};
    LineChart wavelengths{
        .title = "Wavelength of each pair",
        .subtitle =
            "A pair whose wave is longer than the training never completes a rotation in it",
        .x = {.title = "pair"},
        .y = {.title = "wavelength", .unit = "tokens", .scale = Axis::Scale::logarithmic},
        .markers = LineChart::Markers::never};
    const std::size_t middle = picture.variants.front().frequencies.size() / 2;
    LineChart cosine{.title = fmt::format("Cosine of pair {} against the position", middle),
                     .x = {.title = "position", .unit = "tokens"},
                     .y = {.title = "cosine"},
                     .references = {{.value = static_cast<double>(picture.training_length),
                                     .label = "training length"}},
                     .markers = LineChart::Markers::never};
    const std::int64_t step = std::max<std::int64_t>(1, picture.training_length / 128);
    for (const auto& [name, frequencies] : picture.variants) {
      decay.series.push_back(
          {.name = name, .x = distances, .y = decay_bound(frequencies, distances)});
      Series &waves = wavelengths.series.emplace_back(Series{.name = name}),
             &rotations = cosine.series.emplace_back(Series{.name = name});
      for (std::size_t i = 0; i < frequencies.size(); ++i) {
        if (frequencies[i] == 0) continue;  // a pair that never rotates
        waves.x.push_back(static_cast<double>(i));
        waves.y.push_back(2 * std::numbers::pi / frequencies[i]);
      }
      for (std::int64_t m = 0; m <= 4 * picture.training_length; m += step) {
        rotations.x.push_back(static_cast<double>(m));
        rotations.y.push_back(std::cos(static_cast<double>(m) * frequencies[middle]));
      }
    }
    for (const auto& [wavelength, label] : picture.marks) {
      wavelengths.references.push_back(
          {.direction = ReferenceLine::Direction::horizontal, .value = wavelength, .label = label});
    }
    for (const LineChart* const chart : {&decay, &wavelengths, &cosine}) add(*chart);
  }

  // bias [H, L, L]
  void add_bias(const std::string& title, const at::Tensor& bias, bool& any) {
    if (!std::exchange(any, true)) {
      report_.section("Biases");
      report_.paragraph(
          "The bias added to the scores of each head (rows are queries, columns keys), for schemes "
          "before training and for runs as trained.");
    }
    const HeatMapGrid grid = bias_maps({.title = title, .bias = bias});
    for (std::size_t h = 0; h < grid.maps.size(); ++h) {
      const auto& values = grid.maps[h].values;
      for (std::size_t i = 0; i < values.size(); ++i) {
        for (std::size_t j = 0; j < values[i].size(); ++j) {
          csv_ += fmt::format("bias {},head {} query {},{},{}\n", title, h, i, j, values[i][j]);
        }
      }
    }
    report_.chart(grid);
  }

  void add(const LineChart& chart) {
    for (const Series& series : chart.series) {
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        csv_ += fmt::format("{},{},{},{}\n", chart.title, series.name, series.x[i], series.y[i]);
      }
    }
    report_.chart(chart);
  }

  DrawnScheme make(const std::string& name) const {
    PositionSettings position = in_.settings.position;
    position.scheme = name;
    DrawnScheme drawn{.name = name,
                      .causal = causal(name),
                      .width = in_.settings.model.width,
                      .heads = in_.settings.model.heads,
                      .head_width = in_.settings.model.features_of_head(),
                      .parameters = std::make_unique<ParameterStore>(in_.settings.seed)};
    drawn.own = make_scheme({.settings = position,
                             .shape = {.layers = in_.settings.model.layers,
                                       .width = drawn.width,
                                       .heads = drawn.heads,
                                       .head_width = drawn.head_width,
                                       .causal = drawn.causal,
                                       .training_length = in_.settings.data.length},
                             .parameters = *drawn.parameters});
    drawn.scheme = drawn.own.get();
    return drawn;
  }

  std::vector<double> mean_scores(const DrawnScheme& drawn) const {
    const c10::AutoGradMode no_gradients(false);
    const PositionScheme* const scheme = drawn.scheme;
    const std::int64_t length = drawn.score_length;
    Random random(random_key({in_.settings.seed, random_word("positions plot")}));
    const std::int64_t h = drawn.heads, d = drawn.head_width;
    at::Tensor query = at::empty({kSamples, h, 1, d}), key = at::empty({kSamples, h, 1, d});
    for (std::int64_t i = 0; i < query.numel(); ++i) {
      const double shared = random.normal();
      query.mutable_data_ptr<float>()[i] = static_cast<float>(shared + 0.5 * random.normal());
      key.mutable_data_ptr<float>()[i] = static_cast<float>(shared + 0.5 * random.normal());
    }
    AttentionContext where{.queries = Positions::range(0, length),
                           .keys = Positions::range(0, length)};
    if (scheme->capabilities().draws_positions)
      where.drawn_positions = scheme->draw_positions({.lengths = {&length, 1}});
    const auto along = [&](const at::Tensor& x) {
      const at::Tensor all = x.expand({kSamples, h, length, d}).clone();
      const at::Tensor table = where.drawn_positions.defined()
                                   ? scheme->embedding_at(where.drawn_positions)
                                   : scheme->embedding(Positions::range(0, length));
      if (!table.defined()) return all;
      return all + table.view({length, h, d}).transpose(0, 1);
    };
    where.causal = drawn.causal;
    if (where.causal) where.mask = causal_mask(where.queries, where.keys);
    const at::Tensor identity = at::eye(drawn.width);
    where.projections = {.query_weight = identity, .key_weight = identity};
    const at::Tensor q = along(query), k = along(key);
    if (scheme->capabilities().token_inputs) {
      const at::Tensor input = q.transpose(1, 2).reshape({kSamples * length, drawn.width});
      const at::Tensor token_inputs =
          scheme->token_inputs(0, input).view({kSamples, length, h, -1}).transpose(1, 2);
      where.token_inputs = scheme->cached_token_inputs(token_inputs, {});
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
    const at::Tensor last = scores.select(2, length - 1)
                                .mean(at::IntArrayRef({0, 1}))
                                .to(at::kDouble)
                                .flip(0)
                                .contiguous();
    return {last.const_data_ptr<double>(), last.const_data_ptr<double>() + length};
  }
};

}  // namespace

void write_position_plots(const PositionPlotInputs& inputs) {
  Plots plots(inputs);
  plots.frequencies();
  plots.biases();
  plots.parameters();
  plots.scores();
  plots.write();
}

}  // namespace roformer
