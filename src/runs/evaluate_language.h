// What a trained language model comes to on prepared text: at the lengths and in the arrangement
// that are asked for, beside another model on the same targets where there is one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "data/split.h"
#include "runs/evaluation_report.h"
#include "runs/trained_model.h"

namespace roformer {

struct LanguageEvaluationRequest {
  std::filesystem::path model;  // a run or a checkpoint
  TrainedModelOptions opening;
  std::filesystem::path against = {};  // another one; empty: none
  std::filesystem::path data = {};     // a prepared set; empty: that of the run
  Split split = Split::validation;
  std::vector<std::int64_t> lengths = {};  // of the rows; none: as trained
  std::int64_t tokens = 0;                 // read at most; 0: data.validation_tokens
  ArrangementSettings arrangement = {};    // of the rows, beside the text as it stands
  std::int64_t masked_sequences = 0;       // rows for the pseudo-perplexity; 0: it is not wanted
  // Called with the report so far whenever it has got another row, and nothing of the other model
  // yet. `expected`: the same with as many rows as there will be, like the first.
  std::function<void(const EvaluationReport& so_far, const EvaluationReport& expected)> on_row = {};
};

// Shows its progress on standard error. A signal (training/signals.h) ends it with what it has: the
// report then says which. Everything is opened and checked before anything is
// computed; throws Error as open_trained_model does, and (usage) for lengths, splits and options
// that this model or these data cannot have, which are named as `roformer evaluate` calls them.
EvaluationReport evaluate_language_run(const LanguageEvaluationRequest& request);

}  // namespace roformer
