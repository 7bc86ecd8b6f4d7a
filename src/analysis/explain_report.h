// Explanations of one or two trained models as one HTML page and as tables. Layers and heads are
// counted from 0, as in configurations and in the names of parameters.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/explain.h"
#include "analysis/position_pictures.h"
#include "report/html.h"
#include "report/table.h"

namespace roformer {

// The parts of a model's weights that are drawn.
struct TrainedPositions {
  struct Bias {
    std::string title;  // "layer 3", "encoder layer 3"; "the layers" (of the decoder) that share it
    at::Tensor pairs;   // as bias_of_pairs()
    std::optional<BiasByDistance> by_distance;
  };
  std::vector<Bias> biases;
  std::vector<std::pair<std::string, at::Tensor>> parameters;  // the scheme's, by name
};
TrainedPositions trained_positions(const LanguageModel& model);
TrainedPositions trained_positions(const Translator& translator);

struct ExplainedRun {
  std::string name;  // of the run; different from the other's
  std::string scheme;
  std::string task;
  std::string checkpoint;  // its folder
  std::string data;
  TrainedPositions positions;
  Explanation explanation;
};
ExplainedRun explain_run(const std::string& name, const TrainedModel& model, const Dataset& dataset,
                         const ExplainOptions& options);
ExplainedRun explain_run(const std::string& name, const TrainedTranslator& translator,
                         const ParallelDataset& dataset, const ExplainOptions& options);

// A row for each head: shares of its scores, targets of its attention, its loss without positions.
Table head_table(const std::vector<ExplainedRun>& runs);
// A row for each head and range of distances.
Table distance_table(const std::vector<ExplainedRun>& runs);
Table frequency_table(const std::vector<ExplainedRun>& runs);
Table ablation_table(const std::vector<ExplainedRun>& runs);
Table bias_table(const std::vector<ExplainedRun>& runs);

// True for a folder with only an explanation in it.
bool holds_only_explanation(const std::filesystem::path& folder);
// Writes report.html, heads.csv and distances.csv, and ablations.csv, frequencies.csv and
// biases.csv if they have rows. Returns the names.
std::vector<std::string> write_explanations(const std::filesystem::path& folder,
                                            const std::vector<ExplainedRun>& runs,
                                            const std::string& footer);
// The tables' rows, under the names of their files.
nlohmann::ordered_json to_json(const std::vector<ExplainedRun>& runs);

// Calls what(layer, head) for every head.
template <typename Do>
void for_each_head(const ExplainedRun& run, Do what) {
  for (const LayerExplanation& layer : run.explanation.layers) {
    for (const HeadExplanation& head : layer.heads) what(layer, head);
  }
}

// Calls what(run, layer) and what(run, layer, head), run by run.
template <typename Do>
void for_each_layer(const std::vector<ExplainedRun>& runs, Do what) {
  for (const ExplainedRun& run : runs) {
    for (const LayerExplanation& layer : run.explanation.layers) what(run, layer);
  }
}
template <typename Do>
void for_each_head(const std::vector<ExplainedRun>& runs, Do what) {
  for (const ExplainedRun& run : runs) {
    for_each_head(run, [&](const LayerExplanation& layer, const HeadExplanation& head) {
      what(run, layer, head);
    });
  }
}

// The sections of the page. Each shows all runs, and is empty if there is nothing to show.
void add_summary(HtmlReport& report, const std::vector<ExplainedRun>& runs);
// Shares of the scores' variance.
void add_shares(HtmlReport& report, const std::vector<ExplainedRun>& runs);
// Masses by distance and at known positions.
void add_distances(HtmlReport& report, const std::vector<ExplainedRun>& runs);
// Biases and parameters as trained.
void add_trained_positions(HtmlReport& report, const std::vector<ExplainedRun>& runs);
void add_frequencies(HtmlReport& report, const std::vector<ExplainedRun>& runs);
void add_ablations(HtmlReport& report, const std::vector<ExplainedRun>& runs);

// "rope: " before the titles of charts if there are two runs.
std::string prefix_of(const ExplainedRun& run, const std::vector<ExplainedRun>& runs);
std::string title_of(const HeadExplanation& head);
// "12.3 %", or "12.3 ± 0.4 %" if the error is known.
std::string shown_share(double share);
std::string shown_share(double share, double standard_error);

}  // namespace roformer
