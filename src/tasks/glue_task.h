// Fine-tuning on a task of the GLUE benchmark: data, classifier, loss and metrics for the trainer.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "config/settings.h"
#include "data/glue.h"
#include "data/text_pairs.h"
#include "tasks/classifier.h"
#include "tasks/glue_figures.h"
#include "text/tokenizer.h"
#include "training/task.h"

namespace roformer {

// A split with its texts as ids.
struct GlueSet {
  GlueExamples source;
  std::vector<EncodedText> texts;  // [examples]
};
// Reads data.directory and cuts to data.length, with a warning that says how many were cut. Throws
// as read_glue does.
GlueSet load_glue_set(const Settings& settings, const Tokenizer& tokenizer, GlueSplit split);

// Outputs of the classification head of a task: its classes, or one score.
std::int64_t glue_outputs(GlueTask task);

// The splits that a task is validated on: one, or MNLI's two.
std::vector<GlueSplit> validation_splits(GlueTask task);

// The figures of all validation sets as one: those of MNLI's second have names that end in
// "_mismatched". Warns of metrics that are not defined.
std::map<std::string, double> validate_glue(const Classifier& classifier, GlueTask task,
                                            const std::vector<GlueSet>& sets);

class GlueTraining : public TrainingTask {
 public:
  // Reads all files. The tokenizer must outlive the task.
  GlueTraining(const Settings& settings, const Tokenizer& tokenizer, const ComputePlan& plan);
  ~GlueTraining() override;

  // For run.json: folder, name, sizes and fingerprints.
  nlohmann::json data_record() const;

  ParameterStore& parameters() override;
  std::unique_ptr<TrainingBatch> next_batch() override;
  double epochs() const override;
  double batches_per_epoch() const override;
  double tokens_per_batch() const override;
  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override;
  ValidationResult validate() override;
  nlohmann::json cursor() const override;
  void restore_cursor(const nlohmann::json& cursor) override;
  void save_assets(const std::string& folder) const override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roformer
