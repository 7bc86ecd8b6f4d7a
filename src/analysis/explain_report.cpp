#include "analysis/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "config/task_facts.h"
#include "model/transformer_stack.h"

namespace roformer {
namespace {

constexpr const char* kTitle = "What attention uses";
constexpr const char* kReport = "report.html";
constexpr std::array kFiles = {kReport,         "heads.csv",       "distances.csv",
                               "ablations.csv", "frequencies.csv", "biases.csv"};

std::string subtitle_of(const std::vector<ExplainedRun>& runs) {
  std::vector<std::string> names;
  for (const ExplainedRun& run : runs) {
    names.push_back(fmt::format("{} ({}, {})", run.name, run.scheme, run.task));
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

void add_numbers(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  report.section("Numbers");
  for (const ExplainedRun& run : runs) {
    report.paragraph(fmt::format("**{}**: {}, on {}.", run.name, run.checkpoint, run.data));
  }
  report.paragraph(
      "The figures of all heads, distances, pairs and ablations, each share and difference with "
      "its "
      "standard error, are in the CSV files beside this page.");
}

std::string page_of(const std::vector<ExplainedRun>& runs, const std::string& footer) {
  HtmlReport report({.title = kTitle, .subtitle = subtitle_of(runs), .footer = footer});
  add_summary(report, runs);
  add_shares(report, runs);
  add_distances(report, runs);
  add_trained_positions(report, runs);
  add_frequencies(report, runs);
  add_ablations(report, runs);
  add_numbers(report, runs);
  return report.html();
}

// "± 0.0123" between two texts. Empty without an error, for example for a single text.
std::string shown_error(double error, const char* before, const char* after = "") {
  return std::isfinite(error) ? fmt::format("{}± {:.4f}{}", before, error, after) : "";
}

// Three sentences on the most striking heads.
std::string in_words(const ExplainedRun& run) {
  const HeadExplanation* positional = nullptr;
  const HeadExplanation* needed = nullptr;
  std::string looking;
  double most = -1;
  for_each_head(run, [&](const LayerExplanation& layer, const HeadExplanation& head) {
    if (std::isfinite(head.shares.content_content) &&
        (positional == nullptr || head.shares.of_positions() > positional->shares.of_positions())) {
      positional = &head;
    }
    if (needed == nullptr || head.without_positions.change > needed->without_positions.change) {
      needed = &head;
    }
    const std::pair<const char*, const at::Tensor&> masses[] = {
        {"the token before", layer.masses.previous},
        {"the next token", layer.masses.next},
        {"the first token", layer.masses.first},
        {"the query's own token", layer.masses.own}};
    for (const auto& [name, mass] : masses) {
      const double value = mass[head.head].item<double>();
      if (value <= most) continue;
      most = value;
      looking = fmt::format("{} looks at one position the most: {} of its attention is on {}",
                            title_of(head), shown_share(value), name);
    }
  });
  std::string text = "**" + run.name + "**: ";
  text += positional == nullptr
              ? "No score varies. "
              : fmt::format(
                    "the scores of {} depend most on positions ({} of their variance, {} "
                    "of it whatever the contents are). ",
                    title_of(*positional),
                    shown_share(positional->shares.of_positions(),
                                positional->shares.errors.of_positions),
                    shown_share(positional->shares.position_position /
                                std::max(1e-12, positional->shares.of_positions())));
  text += "Of all heads, " + looking + ". ";
  if (run.explanation.ablated && needed != nullptr) {
    const LossChange& change = needed->without_positions;
    text += fmt::format(
        "The loss grows most where {} loses its positions: {:+.4f}{} nats, of {:+.4f} for all "
        "layers.",
        title_of(*needed), change.change, shown_error(change.standard_error, " "),
        run.explanation.without_positions.change);
  }
  return text;
}

constexpr std::size_t kMostHeads = 24;  // in a chart of losses
const NumberFormat kNats{.style = NumberFormat::Style::fixed, .digits = 4};

Dot loss_dot(const std::string& name, const LossChange& change) {
  Dot dot{.name = name, .value = change.change};
  if (std::isfinite(change.reach)) {
    dot.low = change.change - change.reach;
    dot.high = change.change + change.reach;
  }
  return dot;
}

DotChart chart_of_heads(const ExplainedRun& run, const std::string& prefix) {
  std::vector<const HeadExplanation*> heads;
  for_each_head(
      run, [&](const LayerExplanation&, const HeadExplanation& head) { heads.push_back(&head); });
  DotChart chart{.title = prefix + "Loss without the positions of one head",
                 .value = {.title = "change of the loss", .unit = "nats"},
                 .format = kNats,
                 .references = {{.value = 0}}};
  if (heads.size() > kMostHeads) {
    chart.subtitle = fmt::format(
        "the {} of {} heads whose change is largest; all are in "
        "ablations.csv",
        kMostHeads, heads.size());
    std::ranges::stable_sort(heads, [](const auto* a, const auto* b) {
      return std::abs(a->without_positions.change) > std::abs(b->without_positions.change);
    });
    heads.resize(kMostHeads);
  }
  for (const HeadExplanation* head : heads) {
    chart.dots.push_back(loss_dot(title_of(*head), head->without_positions));
  }
  return chart;
}

constexpr std::int64_t kBiasReach = 128;  // of curves

// `name` is the name of an encoder-decoder's stack.
void add_biases(const std::string& name, const TransformerStack& stack, TrainedPositions& result) {
  const StackSettings& settings = stack.settings();
  const std::int64_t reach =
      std::max<std::int64_t>(2, std::min(kBiasReach, settings.training_length));
  const std::string all = name.empty() ? "the layers" : "the layers of the " + name;
  std::set<const PositionScheme*> drawn;  // schemes with one bias for all layers
  for (std::int64_t layer = 0; layer < settings.model.layers; ++layer) {
    const PositionScheme& scheme = stack.scheme().of_layer(layer);
    const auto form_of_bias = scheme.capabilities().bias;
    if (!form_of_bias || (!form_of_bias->on_layer && !drawn.insert(&scheme).second)) continue;
    TrainedPositions::Bias bias{
        .title =
            form_of_bias->on_layer ? ExplainedLayer{.stack = name, .number = layer}.title() : all,
        .pairs = bias_of_pairs(stack.scheme(), {.layer = layer,
                                                .length = reach,
                                                .causal = settings.causal,
                                                .device = stack.embedding().table().device()})};
    bias.by_distance = bias_by_distance(bias.pairs);
    result.biases.push_back(std::move(bias));
  }
}

void add_parameters(const ParameterStore& parameters, TrainedPositions& result) {
  for (const Parameter& parameter : parameters.all()) {
    const std::string& name = parameter.spec.name;
    if (name.starts_with("position.") || name.find(".position.") != std::string::npos) {
      result.parameters.emplace_back(name, parameter.value.detach());
    }
  }
}

template <typename Model, typename Data>
ExplainedRun explained(const std::string& name, const std::string& scheme, const Model& model,
                       const Data& dataset, const ExplainOptions& options,
                       TrainedPositions positions) {
  return {.name = name,
          .scheme = scheme,
          .task = std::string(task_facts(model.settings.task).title),
          .checkpoint = model.checkpoint.string(),
          .data = dataset.folder().string(),
          .positions = std::move(positions),
          .explanation = explain(model, dataset, options)};
}

}  // namespace

std::string prefix_of(const ExplainedRun& run, const std::vector<ExplainedRun>& runs) {
  return runs.size() > 1 ? run.name + ": " : "";
}

std::string title_of(const HeadExplanation& head) {
  return fmt::format("{}, head {}", head.layer.title(), head.head);
}

std::string shown_share(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string shown_share(double share, double standard_error) {
  if (!std::isfinite(standard_error)) return shown_share(share);
  return fmt::format("{:.1f} ± {:.1f} %", 100 * share, 100 * standard_error);
}

bool holds_only_explanation(const std::filesystem::path& folder) {
  const std::filesystem::path report = folder / kReport;
  std::error_code error;
  if (!std::filesystem::is_regular_file(report, error)) return false;
  if (read_file(report).find(kTitle) == std::string::npos) return false;
  return std::ranges::all_of(std::filesystem::directory_iterator(folder), [](const auto& entry) {
    return std::ranges::find(kFiles, entry.path().filename()) != kFiles.end();
  });
}

std::vector<std::string> write_explanations(const std::filesystem::path& folder,
                                            const std::vector<ExplainedRun>& runs,
                                            const std::string& footer) {
  std::vector<std::string> names;
  const auto write = [&](const char* name, const std::string& contents) {
    names.emplace_back(name);
    write_file_atomically(folder / name, contents);
  };
  write(kReport, page_of(runs, footer));
  const std::vector<std::pair<const char*, Table>> tables{
      {"heads.csv", head_table(runs)},
      {"distances.csv", distance_table(runs)},
      {"ablations.csv", ablation_table(runs)},
      {"frequencies.csv", frequency_table(runs)},
      {"biases.csv", bias_table(runs)}};
  for (const auto& [name, table] : tables) {
    if (!table.rows().empty()) write(name, to_csv(table));
  }
  return names;
}

void add_summary(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  for (const ExplainedRun& run : runs) {
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
         .remark = shown_error(e.standard_error, "", ", ") + run.name},
        {.value = count > 0 ? shown_share(positions / count) : "–",
         .name = "of the scores' variance depends on positions",
         .remark = "mean of the heads, " + run.name}};
    if (e.ablated) {
      figures.push_back(
          {.value = fmt::format("{:+.4f}", e.without_positions.change),
           .name = "loss without positions, nats",
           .remark = shown_error(e.without_positions.standard_error, "", ", ") + "all layers"});
    }
    report.key_figures(figures);
    report.paragraph(in_words(run));
  }
  std::string texts;
  for (const ExplainedRun& run : runs) {
    const Explanation& e = run.explanation;
    const std::string own = fmt::format("{} ({} targets)", e.texts, format_count(e.targets));
    if (texts.find(own) != std::string::npos) continue;
    texts += (texts.empty() ? "" : " and ") + own;
  }
  report.paragraph(
      fmt::format("Measured on {} of the data that the model was not trained on. Layers and heads "
                  "are counted from 0. The findings hold for these weights: a head that "
                  "is dispensable here may be needed elsewhere, and a model trained without it "
                  "might do as well.",
                  texts));
}

void add_ablations(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  const auto asked = [](const ExplainedRun& run) {
    return run.explanation.ablated || !run.explanation.ablation.empty();
  };
  if (std::ranges::none_of(runs, asked)) return;
  report.section("The loss without positions");
  report.paragraph(
      "Positions are switched off at evaluation, in one head, one layer or all of them, and "
      "the weights stay as they are. Losses are compared target by target; lines show the 95 % "
      "interval over the texts.");
  for (const ExplainedRun& run : runs) {
    report.paragraph(
        fmt::format("**{}**: {}.", run.name, fmt::join(run.explanation.ablation, "; ")));
    if (!run.explanation.ablated) continue;
    DotChart layers{.title = prefix_of(run, runs) + "Loss without positions, by layer",
                    .value = {.title = "change of the loss", .unit = "nats"},
                    .format = kNats,
                    .references = {{.value = 0}}};
    layers.dots.push_back(loss_dot("all layers", run.explanation.without_positions));
    for (const Explanation::StackChange& stack : run.explanation.stacks) {
      layers.dots.push_back(loss_dot("all layers of the " + stack.stack, stack.without_positions));
    }
    for (const LayerExplanation& layer : run.explanation.layers) {
      layers.dots.push_back(loss_dot(layer.layer.title(), layer.without_positions));
    }
    report.chart(layers);
    report.chart(chart_of_heads(run, prefix_of(run, runs)));
  }
}

TrainedPositions trained_positions(const LanguageModel& model) {
  TrainedPositions result;
  add_biases("", model.encoder(), result);
  add_parameters(model.parameters(), result);
  return result;
}

TrainedPositions trained_positions(const Translator& translator) {
  TrainedPositions result;
  add_biases("encoder", translator.model().encoder(), result);
  add_biases("decoder", translator.model().decoder(), result);
  add_parameters(translator.parameters(), result);
  return result;
}

ExplainedRun explain_run(const std::string& name, const TrainedModel& model, const Dataset& dataset,
                         const ExplainOptions& options) {
  return explained(name, model.settings.position.scheme, model, dataset, options,
                   trained_positions(*model.model));
}

ExplainedRun explain_run(const std::string& name, const TrainedTranslator& translator,
                         const ParallelDataset& dataset, const ExplainOptions& options) {
  const std::string encoder = translator.settings.position.scheme;
  const std::string decoder = translator.settings.position.of_decoder().scheme;
  return explained(name, encoder == decoder ? encoder : fmt::format("{} and {}", encoder, decoder),
                   translator, dataset, options, trained_positions(*translator.model));
}

}  // namespace roformer
