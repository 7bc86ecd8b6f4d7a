// What `evaluate` and `predict` do with the run of a matcher.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/split.h"
#include "runs/trained_model.h"

namespace roformer {

struct MatcherEvaluation {
  std::string data;  // another folder; empty: the run's
  Split split = Split::validation;
  std::optional<std::int64_t> length;  // in tokens; none: as trained
  std::string against;                 // the run of another matcher
  TrainedModelOptions opening;         // as the first was opened
  std::int64_t errors = 0;
  bool json = false;
};
void evaluate_matcher(const TrainedClassifier& trained, const MatcherEvaluation& options);

struct MatchPredictions {
  std::string file;
  std::string format = "auto";  // or tsv or jsonl; auto: by the file's ending
  bool skip_broken = false;     // leaves out lines of JSON Lines that are no objects
  bool json = false;
};
// Triplets or pairs, with or without labels: one line of output a line of the file.
void predict_matches(const TrainedClassifier& trained, const MatchPredictions& options);

}  // namespace roformer
