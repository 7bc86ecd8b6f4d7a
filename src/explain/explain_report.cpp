#include "explain/explain_report.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/progress.h"
#include "explain/distance_bins.h"
#include "report/html.h"

namespace roformer {
namespace {

constexpr std::int64_t kBiasLength = 48;     // of maps: enough to see, few enough to draw
constexpr std::size_t kMostHeads = 24;       // in a chart of losses
constexpr std::size_t kMostParameters = 24;  // drawn of a run
constexpr double kNormal = 1.96;

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string title_of(const HeadExplanation& head) {
  return fmt::format("layer {}, head {}", head.layer, head.head);
}

template <typename Do>
void for_each_head(const ExplainedRun& run, Do what) {
  for (const LayerExplanation& layer : run.explanation.layers) {
    for (const HeadExplanation& head : layer.heads) what(layer, head);
  }
}

class Report {
 public:
  Report(const std::vector<ExplainedRun>& runs, const std::string& footer)
      : runs_(runs),
        report_({.title = "What attention uses", .subtitle = subtitle(), .footer = footer}) {}

  std::string html() {
    summary();
    shares();
    distances();
    positions();
    frequencies();
    ablations();
    numbers();
    return report_.html();
  }

 private:
  const std::vector<ExplainedRun>& runs_;
  HtmlReport report_;

  std::string subtitle() const {
    std::vector<std::string> names;
    for (const ExplainedRun& run : runs_) {
      names.push_back(fmt::format("{} ({}, {})", run.name, run.scheme, run.task));
    }
    return fmt::format("{}", fmt::join(names, " and "));
  }

  // "rope: " before the titles of charts, where there are two runs.
  std::string prefix(const ExplainedRun& run) const {
    return runs_.size() > 1 ? run.name + ": " : "";
  }

  void summary() {
    for (const ExplainedRun& run : runs_) {
      const Explanation& e = run.explanation;
      double positions = 0;
      double count = 0;
      for_each_head(run, [&](const LayerExplanation&, const HeadExplanation& head) {
        if (!std::isfinite(head.shares.content_content)) return;
        positions += head.shares.of_positions();
        count += 1;
      });
      std::vector<HtmlReport::KeyFigure> figures{
          {.value = fmt::format("{:.4f}", e.loss),
           .name = "loss, nats",
           .remark = fmt::format("± {:.4f}, {}", e.standard_error, run.name)},
          {.value = count > 0 ? percent(positions / count) : "–",
           .name = "of the scores' variance depends on positions",
           .remark = "mean of the heads, " + run.name}};
      if (e.ablated) {
        figures.push_back(
            {.value = fmt::format("{:+.4f}", e.without_positions.change),
             .name = "loss without positions, nats",
             .remark = fmt::format("± {:.4f}, all layers", e.without_positions.standard_error)});
      }
      report_.key_figures(figures);
      report_.paragraph(in_words(run));
    }
    const Explanation& e = runs_.front().explanation;
    report_.paragraph(fmt::format(
        "Measured on {} rows of {} tokens ({} targets) of the data that the model was not trained "
        "on. Layers and heads are counted from 0. What is said is of these weights: a head that "
        "could be spared here may be needed elsewhere, and a model that was trained without it "
        "might do as well.",
        format_count(e.sequences), format_count(e.length), format_count(e.targets)));
  }

  // Three sentences on what stands out.
  std::string in_words(const ExplainedRun& run) const {
    const HeadExplanation* positional = nullptr;
    const HeadExplanation* needed = nullptr;
    std::string looking;
    double most = -1;
    for_each_head(run, [&](const LayerExplanation& layer, const HeadExplanation& head) {
      if (std::isfinite(head.shares.content_content) &&
          (positional == nullptr ||
           head.shares.of_positions() > positional->shares.of_positions())) {
        positional = &head;
      }
      if (needed == nullptr || head.without_positions.change > needed->without_positions.change) {
        needed = &head;
      }
      const std::pair<const char*, const at::Tensor&> places[] = {
          {"the token before", layer.masses.previous},
          {"the next token", layer.masses.next},
          {"the first token", layer.masses.first},
          {"the query's own token", layer.masses.own}};
      for (const auto& [name, mass] : places) {
        const double value = mass[head.head].item<double>();
        if (value <= most) continue;
        most = value;
        looking = fmt::format("{} looks at one place the most: {} of its attention is on {}",
                              title_of(head), percent(value), name);
      }
    });
    std::string text = "**" + run.name + "**: ";
    text += positional == nullptr
                ? "No score varies. "
                : fmt::format(
                      "the scores of {} depend most on positions ({} of their variance, {} "
                      "of it whatever the contents are). ",
                      title_of(*positional), percent(positional->shares.of_positions()),
                      percent(positional->shares.position_position /
                              std::max(1e-12, positional->shares.of_positions())));
    text += "Of all heads, " + looking + ". ";
    if (run.explanation.ablated && needed != nullptr) {
      const LossChange& change = needed->without_positions;
      text += fmt::format(
          "The loss grows most where {} loses its positions: {:+.4f} ± {:.4f} nats, of {:+.4f} "
          "for all layers.",
          title_of(*needed), change.change, change.standard_error,
          run.explanation.without_positions.change);
    }
    return text;
  }

  void shares() {
    report_.section("What the scores depend on");
    report_.paragraph(
        "The score of a query and a key varies with what both are and with where they stand. Its "
        "variance over shuffled contents and all visible pairs is split without remainder: what "
        "contents alone explain (**content-content**), where the key stands for a query's content "
        "(**content-position**), where the query stands for a key's content "
        "(**position-content**), what both places explain whatever the contents "
        "(**position-position**), and how far the meeting of two contents depends on both places "
        "(**interaction**, which only schemes have whose score is no sum of such terms: rotations, "
        "for instance). What is the same for all keys of a query is left out, since the softmax "
        "does not see it.");
    for (const ExplainedRun& run : runs_) {
      ShareChart chart{.title = prefix(run) + "Shares of the scores' variance",
                       .subtitle = "At the right: the standard deviation of the scores",
                       .parts = {"content-content", "content-position", "position-content",
                                 "position-position", "interaction"},
                       .axis = "share of the variance"};
      for_each_head(run, [&](const LayerExplanation&, const HeadExplanation& head) {
        const ScoreShares& s = head.shares;
        chart.bars.push_back({.name = title_of(head),
                              .shares = {s.content_content, s.content_position, s.position_content,
                                         s.position_position, s.interaction},
                              .label = format_number(s.deviation, {.digits = 3}),
                              .group = std::to_string(head.layer)});
      });
      report_.chart(chart);
    }
  }

  LineChartGrid distance_grid(const ExplainedRun& run, bool past) const {
    LineChartGrid grid{
        .title = fmt::format("{}Attention to {} tokens, by distance", prefix(run),
                             past ? "earlier" : "later"),
        .subtitle = "times as much as equal weights for all visible keys would give"};
    std::int64_t number = 0;
    for (const LayerExplanation& layer : run.explanation.layers) {
      LineChart panel{
          .title = fmt::format("layer {}", number++),
          .x = {.title = "distance", .unit = "tokens", .scale = Axis::Scale::logarithmic},
          .y = {.title = "times equal weights", .scale = Axis::Scale::logarithmic},
          .references = {{.direction = ReferenceLine::Direction::horizontal,
                          .value = 1,
                          .label = "equal weights"}}};
      panel.series.resize(layer.heads.size());
      for (const DistanceBin& bin : distance_bins(layer.masses)) {
        if (bin.first == 0 || (bin.first > 0) != past) continue;
        for (std::size_t h = 0; h < bin.mass.size(); ++h) {
          panel.series[h].name = fmt::format("head {}", h);
          panel.series[h].x.push_back(
              std::sqrt(static_cast<double>(bin.first) * static_cast<double>(bin.last)));
          panel.series[h].y.push_back(bin.mass[h] / bin.uniform);
        }
      }
      if (!panel.series.front().x.empty()) grid.panels.push_back(std::move(panel));
    }
    return grid;
  }

  void distances() {
    report_.section("Where the attention goes");
    for (const ExplainedRun& run : runs_) {
      for (const bool past : {true, false}) {
        const LineChartGrid grid = distance_grid(run, past);
        if (!grid.panels.empty()) report_.chart(grid);
      }
    }
    for (const ExplainedRun& run : runs_) {
      report_.table(places(run), prefix(run) +
                                     "mean attention of the queries that see such a key. The "
                                     "entropy of n equal weights is ln n.");
    }
  }

  static Table places(const ExplainedRun& run) {
    const NumberFormat share{.style = NumberFormat::Style::percent, .digits = 1};
    const NumberFormat entropy{.style = NumberFormat::Style::fixed, .digits = 2};
    Table table({{.title = "layer, head", .alignment = Column::Alignment::left},
                 {.title = "entropy", .unit = "nats", .format = entropy},
                 {.title = "itself", .unit = "%", .format = share},
                 {.title = "token before", .unit = "%", .format = share},
                 {.title = "next token", .unit = "%", .format = share},
                 {.title = "first token", .unit = "%", .format = share}});
    for_each_head(run, [&](const LayerExplanation& layer, const HeadExplanation& head) {
      const auto of = [&](const at::Tensor& x) { return x[head.head].item<double>(); };
      const AttentionMasses& m = layer.masses;
      table.add_row({fmt::format("{}, {}", head.layer, head.head), of(m.entropy), of(m.own),
                     of(m.previous), of(m.next), of(m.first)});
    });
    return table;
  }

  void positions() {
    const bool any = std::any_of(runs_.begin(), runs_.end(), [](const ExplainedRun& run) {
      return !run.positions.biases.empty() || !run.positions.parameters.empty();
    });
    if (!any) return;
    report_.section("Positions as trained");
    for (const ExplainedRun& run : runs_) {
      for (const TrainedPositions::Bias& bias : run.positions.biases) draw(run, bias);
      HeatMapGrid grid{.title = prefix(run) + "Parameters of " + run.scheme};
      for (const auto& [name, values] : run.positions.parameters) {
        if (grid.maps.size() == kMostParameters) {
          grid.subtitle =
              fmt::format("the first {} of {}", kMostParameters, run.positions.parameters.size());
          break;
        }
        if (auto map = parameter_map(name, values)) grid.maps.push_back(std::move(*map));
      }
      if (!grid.maps.empty()) report_.chart(grid);
    }
  }

  void draw(const ExplainedRun& run, const TrainedPositions::Bias& bias) {
    const std::string title = fmt::format("{}Bias of {}", prefix(run), bias.title);
    if (!bias.by_distance) {
      return report_.chart(
          bias_maps({.title = title,
                     .bias = bias.pairs.narrow(1, 0, std::min(kBiasLength, bias.pairs.size(1)))
                                 .narrow(2, 0, std::min(kBiasLength, bias.pairs.size(2)))}));
    }
    LineChart chart{.title = title,
                    .x = {.title = "distance query - key", .unit = "tokens"},
                    .y = {.title = "bias"},
                    .markers = LineChart::Markers::never};
    for (std::size_t h = 0; h < bias.by_distance->values.size(); ++h) {
      chart.series.push_back({.name = fmt::format("head {}", h),
                              .x = bias.by_distance->distances,
                              .y = bias.by_distance->values[h]});
    }
    report_.chart(chart);
  }

  void frequencies() {
    const bool any = std::any_of(runs_.begin(), runs_.end(), [](const ExplainedRun& run) {
      return std::any_of(run.explanation.layers.begin(), run.explanation.layers.end(),
                         [](const LayerExplanation& layer) { return layer.frequencies; });
    });
    if (!any) return;
    report_.section("Use of rotary frequencies");
    report_.paragraph(
        "Each pair of features is turned by an angle of its own: the first pairs fast, the last "
        "ones slowly. A pair's part of the score is the product of query and key in it; its share "
        "of the score's variance over the visible keys is the covariance of both, so that the "
        "shares of a head sum to 1 and a pair that works against the others has a negative one.");
    for (const ExplainedRun& run : runs_) {
      HeatMapGrid shares{.title = prefix(run) + "Share of the score's variance",
                         .subtitle = "rows are heads, columns pairs of features"};
      HeatMapGrid norms{.title = prefix(run) + "Norm of the query times norm of the key"};
      std::int64_t number = -1;
      for (const LayerExplanation& layer : run.explanation.layers) {
        ++number;
        if (!layer.frequencies) continue;
        const FrequencyUse& use = *layer.frequencies;
        const auto pairs = static_cast<std::int64_t>(use.wavelengths.size());
        const auto map = [&](const at::Tensor& values, HeatMap::Colours colours) {
          HeatMap result{.title = fmt::format("layer {}", number),
                         .rows = {.title = "head"},
                         .columns = {.title = "pair"},
                         .colours = colours,
                         .size = 250};
          for (std::int64_t h = 0; h < values.size(0); ++h) {
            const at::Tensor row = values[h].contiguous();
            result.values.emplace_back(row.const_data_ptr<double>(),
                                       row.const_data_ptr<double>() + pairs);
          }
          return result;
        };
        shares.maps.push_back(
            map(use.variance_share.narrow(1, 0, pairs), HeatMap::Colours::diverging));
        norms.maps.push_back(map(use.query_norm * use.key_norm, HeatMap::Colours::sequential));
      }
      if (shares.maps.empty()) continue;
      report_.chart(shares);
      report_.chart(norms);
      report_.chart(by_wavelength(run));
    }
  }

  LineChart by_wavelength(const ExplainedRun& run) const {
    LineChart chart{
        .title = prefix(run) + "Share of the score's variance by wavelength",
        .subtitle = "mean of each layer's heads",
        .x = {.title = "wavelength", .unit = "tokens", .scale = Axis::Scale::logarithmic},
        .y = {.title = "share"},
        .references = {
            {.value = static_cast<double>(run.explanation.length), .label = "length of the rows"}}};
    std::int64_t number = -1;
    for (const LayerExplanation& layer : run.explanation.layers) {
      ++number;
      if (!layer.frequencies) continue;
      const at::Tensor mean = layer.frequencies->variance_share.mean(0).contiguous();
      Series series{.name = fmt::format("layer {}", number)};
      for (std::size_t p = 0; p < layer.frequencies->wavelengths.size(); ++p) {
        const double wavelength = layer.frequencies->wavelengths[p];
        if (!std::isfinite(wavelength)) continue;
        series.x.push_back(wavelength);
        series.y.push_back(mean.const_data_ptr<double>()[p]);
      }
      chart.series.push_back(std::move(series));
    }
    return chart;
  }

  void ablations() {
    if (!runs_.front().explanation.ablated) return;
    report_.section("The loss without positions");
    report_.paragraph(
        "Positions are switched off at evaluation, in one head, one layer or all of them; nothing "
        "is trained anew. The difference of the losses is paired target by target; lines reach as "
        "far as 95 % of it does, by the rows of text.");
    for (const ExplainedRun& run : runs_) {
      report_.paragraph(
          fmt::format("**{}**: {}.", run.name, fmt::join(run.explanation.ablation, "; ")));
      const auto dot = [](const std::string& name, const std::string& group,
                          const LossChange& change) {
        Dot result{.name = name, .value = change.change, .group = group};
        if (std::isfinite(change.standard_error)) {
          result.low = change.change - kNormal * change.standard_error;
          result.high = change.change + kNormal * change.standard_error;
        }
        return result;
      };
      const NumberFormat format{.style = NumberFormat::Style::fixed, .digits = 4};
      const ReferenceLine nothing{.value = 0};
      DotChart layers{.title = prefix(run) + "Loss without positions, by layer",
                      .value = {.title = "change of the loss", .unit = "nats"},
                      .format = format,
                      .references = {nothing}};
      layers.dots.push_back(dot("all layers", "", run.explanation.without_positions));
      for (const LayerExplanation& layer : run.explanation.layers) {
        layers.dots.push_back(
            dot(fmt::format("layer {}", layer.heads.front().layer), "", layer.without_positions));
      }
      report_.chart(layers);
      report_.chart(chart_of_heads(run, dot, format));
    }
  }

  template <typename MakeDot>
  DotChart chart_of_heads(const ExplainedRun& run, MakeDot dot, const NumberFormat& format) const {
    std::vector<const HeadExplanation*> heads;
    for_each_head(
        run, [&](const LayerExplanation&, const HeadExplanation& head) { heads.push_back(&head); });
    DotChart chart{.title = prefix(run) + "Loss without the positions of one head",
                   .value = {.title = "change of the loss", .unit = "nats"},
                   .format = format,
                   .references = {{.value = 0}}};
    if (heads.size() > kMostHeads) {
      chart.subtitle = fmt::format(
          "the {} of {} heads whose change is largest; all are in "
          "ablations.csv",
          kMostHeads, heads.size());
      std::stable_sort(heads.begin(), heads.end(), [](const auto* a, const auto* b) {
        return std::abs(a->without_positions.change) > std::abs(b->without_positions.change);
      });
      heads.resize(kMostHeads);
    }
    for (const HeadExplanation* head : heads) {
      chart.dots.push_back(dot(title_of(*head), "", head->without_positions));
    }
    return chart;
  }

  void numbers() {
    report_.section("Numbers");
    for (const ExplainedRun& run : runs_) {
      report_.paragraph(fmt::format("**{}**: {}, on {}.", run.name, run.checkpoint, run.data));
    }
    report_.paragraph(
        "The figures of all heads, distances, pairs and ablations are in the CSV files beside this "
        "page.");
  }
};

}  // namespace

std::vector<std::filesystem::path> write_explanations(const std::filesystem::path& folder,
                                                      const std::vector<ExplainedRun>& runs,
                                                      const std::string& footer) {
  std::filesystem::create_directories(folder);
  std::vector<std::filesystem::path> files;
  const auto write = [&](const char* name, const std::string& contents) {
    files.push_back(folder / name);
    write_file_atomically(files.back(), contents);
  };
  write("report.html", Report(runs, footer).html());
  const std::vector<std::pair<const char*, Table>> tables{
      {"heads.csv", head_table(runs)},
      {"distances.csv", distance_table(runs)},
      {"ablations.csv", ablation_table(runs)},
      {"frequencies.csv", frequency_table(runs)},
      {"biases.csv", bias_table(runs)}};
  for (const auto& [name, table] : tables) {
    if (!table.rows().empty()) write(name, to_csv(table));
  }
  return files;
}

}  // namespace roformer
