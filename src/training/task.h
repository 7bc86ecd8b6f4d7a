// What a training step and the trainer ask of a task. They know steps, gradients and checkpoints;
// the task knows its data, model, loss and metrics. A batch is a function of its number, so that
// who trains decides which batches are made, where and when: ahead on other threads, by one
// process or by several, again after a resumption.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/inner_path.h"
#include "tensor/parameters.h"
#include "training/distributed/processes.h"
#include "training/validation.h"

namespace roformer {

// One micro-batch, in the memory of the host. The task derives its own.
struct TrainingBatch {
  virtual ~TrainingBatch() = default;
  std::int64_t target_count = 0;  // targets that the loss is summed over
  std::int64_t tokens = 0;        // that the model reads

  // For a pass that is recorded once and repeated with other batches (pass_graphs.h). Batches of
  // equal sizes differ in the numbers of their tensors alone; none: it cannot be recorded.
  virtual std::vector<std::int64_t> sizes() const { return {}; }
  virtual std::vector<at::Tensor> tensors() const { return {}; }
  // A copy with tensors of its own there, in which other batches' numbers can be put.
  virtual std::unique_ptr<TrainingBatch> copied_to(at::Device) const { return nullptr; }
};

// Randomness inside a forward pass (dropout) is a function of this key; not training: no dropout.
struct ForwardMode {
  bool training = false;
  std::uint64_t key = 0;  // of (seed, step, micro-batch)
  std::int64_t step = 0;  // for what stays the same over several steps
};

// What is minimised: batches by their number, and the loss of one.
class TrainingObjective {
 public:
  virtual ~TrainingObjective() = default;

  virtual ParameterStore& parameters() = 0;
  // Micro-batch `number` >= 0 of training without end. The same number gives the same batch,
  // whatever was made before; called from several threads at once, so nothing waits for a device.
  virtual std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const = 0;
  // Sum of the loss over the batch's targets, a scalar on the parameters' device with its graph.
  virtual at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) = 0;
  // Whether that does the same work for all batches of equal sizes, in any step.
  virtual bool repeats_its_work() const { return false; }
};

class TrainingTask : public TrainingObjective {
 public:
  // Micro-batches that make one epoch, for periods in epochs.
  virtual double batches_per_epoch() const = 0;
  // Of a training in stages: micro-batch `number` of a stage, as make_batch, and how many make one
  // epoch there. A task that knows no stages has one.
  virtual std::unique_ptr<TrainingBatch> make_batch_of([[maybe_unused]] std::int64_t stage,
                                                       std::int64_t number) const {
    return make_batch(number);
  }
  virtual double batches_per_epoch_of([[maybe_unused]] std::int64_t stage) const {
    return batches_per_epoch();
  }
  // Average real tokens of one micro-batch, for periods in tokens.
  virtual double tokens_per_batch() const = 0;
  // The batches of the validation split are shared out; the result is the same everywhere.
  virtual Figures validate(Processes& processes) = 0;
  // Writes what a run and each checkpoint must hold beside the weights (the tokenizer).
  virtual void save_assets(const InnerPath& folder) const = 0;
};

}  // namespace roformer
