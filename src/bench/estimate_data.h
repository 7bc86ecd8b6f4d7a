// The training that an estimate is about: its parameters, counted without their numbers, and its
// data, or the assumptions in their place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/estimate.h"
#include "tasks/task_definition.h"

namespace roformer {

struct ListedParameters {
  std::int64_t count = 0;    // numbers
  std::int64_t of_muon = 0;  // numbers that Muon trains
  std::vector<ParameterPart> parts;

  void add(const ParameterSpec& spec, OptimizerKind optimizer);
};

// The training, with its data if they are there, and without its model's numbers.
struct OpenedEstimate {
  Settings settings;  // completed by the data
  ListedParameters parameters;
  std::unique_ptr<TrainingTask> task;  // null: no data
  std::vector<std::string> assumptions;
};

// Throws Error (usage) if the settings and the request leave the vocabulary or the classes open, or
// if the request describes data that are there.
OpenedEstimate open_for_estimate(const Settings& given, const EstimateRequest& request);

// Opens the data of a labelled task too, with the tokenizer of the model that it starts from.
OpenedTask open_with_tokenizer(const Settings& settings, const ComputePlan& plan);

// Whether the examples are texts, or groups of texts, with a label.
bool is_labelled(const Settings& settings);
// Whether the last layer computes the rows of every token.
bool needs_all_rows(const Settings& settings);

// The assumed length of a sentence of WMT in tokens, where the sentences are not counted.
inline constexpr double kTokensOfSentence = 28;

struct AssumedData {
  double examples = 0;  // 0: unknown
  double tokens = 0;    // of an example
};
// The size of data that are not there. Adds to the assumptions what the request does not say.
AssumedData assumed_size(OpenedEstimate& opened, const EstimateRequest& request);

}  // namespace roformer
