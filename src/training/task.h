// What the trainer asks of a task. The trainer knows steps, gradients and checkpoints; the task
// knows its data, model, loss and metrics.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tensor/parameters.h"

namespace roformer {

// One micro-batch, ready on the device. The task derives its own.
struct TrainingBatch {
  virtual ~TrainingBatch() = default;
  std::int64_t loss_places = 0;  // places that the loss is summed over
  std::int64_t tokens = 0;       // real tokens, padding not counted
  std::int64_t padding = 0;      // padded places
};

// Randomness inside a forward pass (dropout) is a function of this key; not training: no dropout.
struct ForwardMode {
  bool training = false;
  std::uint64_t key = 0;  // of (seed, step, micro-batch)
  std::int64_t step = 0;  // for what stays the same over several steps
};

// A validation: named figures, and the one by which checkpoints are ranked.
struct ValidationResult {
  std::map<std::string, double> figures;  // "loss", "accuracy", ...
  std::string ranked_by = "loss";
  bool higher_is_better = false;
  std::int64_t tokens = 0;
};

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  virtual ParameterStore& parameters() = 0;
  // The next micro-batch of the training set; advances the cursor. Blocks on the loader.
  virtual std::unique_ptr<TrainingBatch> next_batch() = 0;
  // Share of the training set consumed so far, in epochs (1.5: one and a half passes).
  virtual double epochs() const = 0;
  // Micro-batches that make one epoch, for periods in epochs.
  virtual double batches_per_epoch() const = 0;
  // Average real tokens of one micro-batch, for periods in tokens.
  virtual double tokens_per_batch() const = 0;
  // Sum of the loss over the batch's places, a scalar with its graph.
  virtual at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) = 0;
  virtual ValidationResult validate() = 0;
  // Where in the training data the next batch begins; restoring makes the same batches follow.
  virtual nlohmann::json cursor() const = 0;
  virtual void restore_cursor(const nlohmann::json& cursor) = 0;
  // Writes what a run and each checkpoint must hold beside the weights (the tokenizer).
  virtual void save_assets(const std::string& folder) const = 0;
};

}  // namespace roformer
