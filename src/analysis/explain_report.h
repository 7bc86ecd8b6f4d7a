// Explanations of one or two trained models as one HTML file and as tables: the showing of what
// explain.h computes. Layers and heads are counted from 0, as in configurations and in the names of
// parameters.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/explain.h"
#include "analysis/position_pictures.h"
#include "report/table.h"

namespace roformer {

// What is drawn of a model's weights.
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

// One row a head: shares of its scores, where it looks, what its positions are worth.
Table head_table(const std::vector<ExplainedRun>& runs);
// One row a head and distance or range of distances.
Table distance_table(const std::vector<ExplainedRun>& runs);
Table frequency_table(const std::vector<ExplainedRun>& runs);
Table ablation_table(const std::vector<ExplainedRun>& runs);
Table bias_table(const std::vector<ExplainedRun>& runs);

// True for a folder with an explanation in it and nothing else.
bool holds_only_explanation(const std::filesystem::path& folder);
// heads.csv, distances.csv, ablations.csv, and where there is something to write frequencies.csv
// and biases.csv; report.html. Returns the names.
std::vector<std::string> write_explanations(const std::filesystem::path& folder,
                                            const std::vector<ExplainedRun>& runs,
                                            const std::string& footer);
// The tables' rows, under the names of their files.
nlohmann::ordered_json to_json(const std::vector<ExplainedRun>& runs);

}  // namespace roformer
